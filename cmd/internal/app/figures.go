package app

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"satchel/emitters/gateway"
	"satchel/jetstream"
	"satchel/pipeline/meter"
	"satchel/pipeline/meter/alert"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// readLimit is how long NATS is waited for when the metrics are read. Figures that it did not give
// stay as they were.
const readLimit = time.Second

// measure reports what a node knows beside engine and worker: its build, its readiness, the
// requests that wait, the streams and the disk.
func (a *App) measure(n *Node, m *meter.Set) {
	m.Gauge(schemas.MetricBuild, Version(), Revision()).Set(1)
	ready := m.Gauge(schemas.MetricReady)
	free := m.Gauge(schemas.MetricDiskFree)
	pending := m.Gauge(schemas.MetricInboxPending)
	oldest := m.Gauge(schemas.MetricInboxOldest)
	letters := m.Gauge(schemas.MetricDeadLetters)
	backup := m.Gauge(schemas.MetricBackup)
	backedUp := m.Gauge(schemas.MetricBackupPosition)
	m.BeforeReading(func() {
		if last, err := a.lastBackup(); err == nil {
			backup.Set(float64(last.Made.Unix()))
			backedUp.Set(float64(last.Entries))
		}
		for limit, count := range n.countLimited() {
			m.Gauge(schemas.MetricPrincipalsLimited, limit).Set(float64(count))
		}
		for name, s := range n.services.Stats() {
			m.Gauge(schemas.MetricRequestsWaiting, name).Set(float64(s.Waiting))
		}
		ready.Set(0)
		if n.ready() == nil {
			ready.Set(1)
		}
		if room, err := freeBytes(a.Dir); err == nil {
			free.Set(room)
		}
		ctx, cancel := context.WithTimeout(context.Background(), readLimit)
		defer cancel()
		if streams, err := jetstream.ReadStreams(ctx, n.JetStream); err == nil {
			for _, s := range streams {
				m.Gauge(schemas.MetricStreamBytes, s.Name).Set(float64(s.Bytes))
				m.Gauge(schemas.MetricStreamLimit, s.Name).Set(float64(s.Limit))
				if s.Name == jetstream.DLQStream {
					letters.Set(float64(s.Messages))
				}
			}
		}
		if b, err := jetstream.ReadBacklog(ctx, n.JetStream); err == nil {
			pending.Set(float64(b.Pending))
			oldest.Set(0)
			if !b.Oldest.IsZero() {
				oldest.Set(max(0, time.Since(b.Oldest).Seconds()))
			}
		}
	})
}

// watch has the monitor look at the metrics until ctx is done.
func (n *Node) watch(ctx context.Context) {
	tick := time.NewTicker(alert.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.look()
		}
	}
}

// look reads the metrics for alerts and objectives. Where that fails they stay as they were.
func (n *Node) look() {
	if err := n.monitor.Look(time.Now()); err != nil {
		n.logger.Warn("read metrics", "error", err)
	}
}

// requestCounts are the counts of the requests of a tenant, or of all tenants that are not listed.
type requestCounts struct {
	requests  func(values ...string) prometheus.Counter
	took      func(endpoint string) prometheus.Observer
	undecided prometheus.Counter
}

// countRequests returns what counts every reply and refusal, and notes who is at a limit.
func countRequests(m *meter.Set, limited *limited) func(endpoint, tenant, payer string, took time.Duration, refusal *schemas.Error) {
	counts := meter.ByTenant(m, func(m *meter.Set) requestCounts {
		requests := func(values ...string) prometheus.Counter { return m.Counter(schemas.MetricRequests, values...) }
		return requestCounts{requests, m.Histograms(schemas.MetricRequestDuration), m.Counter(schemas.MetricPolicyErrors)}
	})
	return func(endpoint, tenant, payer string, d time.Duration, refusal *schemas.Error) {
		c := counts(tenant)
		outcome := "answered"
		switch {
		case refusal == nil:
		case refusal.IsCallersMistake():
			outcome = "invalid"
		case refusal.Code == schemas.CodeOverloaded:
			outcome = "refused"
			limited.note(tenant, payer, endpoint, time.Now())
		default:
			outcome = "failed"
			if refusal.Undecided {
				c.undecided.Inc()
			}
		}
		c.requests(endpoint, outcome).Inc()
		if outcome == "answered" || outcome == "failed" {
			c.took(endpoint).Observe(d.Seconds())
		}
	}
}

// CountGateway returns what counts the requests to a gateway, and names its build.
func CountGateway(m *meter.Set) func(gateway.Answered) {
	m.Gauge(schemas.MetricBuild, Version(), Revision()).Set(1)
	took := m.Histograms(schemas.MetricGatewayDuration)
	failures := m.Counters(schemas.MetricGatewayAuthFailures)
	return func(a gateway.Answered) {
		m.Counter(schemas.MetricGatewayRequests, a.Operation, strconv.Itoa(a.Status)).Inc()
		if a.Operation != "stream" {
			took(a.Operation).Observe(a.Took.Seconds())
		}
		switch {
		case a.Status == http.StatusUnauthorized && a.NoToken:
			failures("missing").Inc()
		case a.Status == http.StatusUnauthorized:
			failures("unknown").Inc()
		case a.NoScope:
			failures("scope").Inc()
		}
	}
}

// countedLog counts what roles and governed exceptions append to the log.
type countedLog struct {
	*eventlog.Log
	appender eventlog.Appender // of Log
	meters   *meter.Set
}

// Append appends the batch, and counts what the log took.
func (l countedLog) Append(ctx context.Context, b eventlog.Batch) ([]eventlog.Outcome, error) {
	outcomes, err := l.appender.Append(ctx, b)
	for i := range outcomes {
		if outcomes[i].Status != eventlog.Appended && outcomes[i].Status != eventlog.Absent {
			continue
		}
		switch d := &b.Drafts[i]; d.Type {
		case schemas.TypeExceptionUsed:
			l.meters.Of(d.Tenant).Counter(schemas.MetricExceptionUses).Inc()
		case schemas.TypeRoleHandedOver:
			var h schemas.Handover
			if json.Unmarshal(d.Data, &h) == nil {
				countHandover(l.meters.Of(d.Tenant), &h)
			}
		}
	}
	return outcomes, err
}

// countHandover counts what a role handed over: checks, citations, anomalies, and the tokens of a
// model.
func countHandover(m *meter.Set, h *schemas.Handover) {
	for i := range h.Checks {
		c := &h.Checks[i]
		outcome := "holds"
		if !c.OK {
			outcome = "fails"
		}
		m.Counter(schemas.MetricVerifierChecks, c.Name, outcome).Inc()
		if c.Name == "citations" {
			m.Counter(schemas.MetricCitations, "fails").Add(float64(c.Failed))
			m.Counter(schemas.MetricCitations, "holds").Add(float64(max(0, c.Checked-c.Failed)))
		}
	}
	for i := range h.Findings {
		m.Counter(schemas.MetricAnomalies, h.Findings[i].Anomaly).Inc()
	}
	if h.Invocation != nil {
		m.Counter(schemas.MetricTokens, "prompt").Add(float64(max(0, h.Invocation.PromptTokens)))
		m.Counter(schemas.MetricTokens, "answer").Add(float64(max(0, h.Invocation.AnswerTokens)))
	}
}
