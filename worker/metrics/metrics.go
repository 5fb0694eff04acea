// Package metrics has the metrics of the worker: what is appended and rejected, how far behind the
// indexes, the ledger and erasures are, and how long an event takes from publishing to search.
package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"satchel/pipeline/meter"
	"satchel/schemas"
	"satchel/worker/transport"
)

// Metrics are those of the worker. Safe for concurrent use.
type Metrics struct {
	Logged                prometheus.Counter // events that are in the log
	duplicate, dead       prometheus.Counter
	letters               func(reason string) prometheus.Counter
	append, indexed       prometheus.Observer
	Erased, Refused, Held prometheus.Counter // erasures
	Verified, Signed      prometheus.Gauge   // when
	Damaged, Stopped      prometheus.Gauge
	RetentionHeld         prometheus.Gauge

	Ledger   Lag
	Erasures Lag
	Sizes    Sizes
	indexes  map[string]*Lag // by the name of the index
	arrivals arrivals
}

// stores are the targets by the label that the metrics give them.
var stores = [...]struct{ label, target string }{{"items", "items"}, {"vector", "vector index"}, {"keyword", "keyword index"}, {"graph", "graph"}, {"private", "private keyword index"}}

// New returns the metrics of a worker, in m.
func New(m *meter.Set) *Metrics {
	f := &Metrics{
		Logged: m.Counter(schemas.MetricEvents, "logged"), duplicate: m.Counter(schemas.MetricEvents, "duplicate"), dead: m.Counter(schemas.MetricEvents, "dead"),
		letters: m.Counters(schemas.MetricDeadLettersTotal), append: m.Histogram(schemas.MetricAppendDuration), indexed: m.Histogram(schemas.MetricPublishToIndexed),
		Erased: m.Counter(schemas.MetricErasures, "done"), Refused: m.Counter(schemas.MetricErasures, "refused"), Held: m.Counter(schemas.MetricErasures, "held"),
		RetentionHeld: m.Gauge(schemas.MetricRetentionHeld),
		Verified:      m.Gauge(schemas.MetricVerified), Signed: m.Gauge(schemas.MetricHeadSigned), Damaged: m.Gauge(schemas.MetricLogDamaged), Stopped: m.Gauge(schemas.MetricPartitionsStopped), indexes: map[string]*Lag{},
	}
	var lags [len(stores)]*Lag
	var positions, ages [len(stores)]prometheus.Gauge
	for i, store := range stores {
		lags[i] = &Lag{}
		f.indexes[store.target] = lags[i]
		positions[i], ages[i] = m.Gauge(schemas.MetricIndexLag, store.label), m.Gauge(schemas.MetricIndexLagSeconds, store.label)
	}
	size := m.Gauge(schemas.MetricLogSize)
	ledger, ledgerAge := m.Gauge(schemas.MetricLedgerLag), m.Gauge(schemas.MetricLedgerLagSeconds)
	erasures, erasuresAge := m.Gauge(schemas.MetricErasuresPending), m.Gauge(schemas.MetricErasuresOldest)
	m.BeforeReading(func() {
		now := time.Now()
		for i := range lags {
			lags[i].show(positions[i], ages[i], now)
		}
		f.Ledger.show(ledger, ledgerAge, now)
		f.Erasures.show(nil, erasuresAge, now)
		erasures.Set(float64(f.Erasures.sum()))
		size.Set(float64(f.Sizes.sum()))
	})
	return f
}

// Appended counts the events of a transaction, which were new or in the log before.
func (f *Metrics) Appended(began time.Time, logged, duplicate int) {
	f.append.Observe(time.Since(began).Seconds())
	f.Logged.Add(float64(logged))
	f.duplicate.Add(float64(duplicate))
}

// Rejected counts dead letters.
func (f *Metrics) Rejected(list []transport.Rejected) {
	f.dead.Add(float64(len(list)))
	for i := range list {
		f.letters(list[i].Reason).Inc()
	}
}

// Position is how far an index is.
type Position struct {
	Index string
	At    int64
}

// Projected notes how far the indexes of a tenant have come, when the log ends at head.
func (f *Metrics) Projected(tenant string, positions []Position, head int64) {
	now, least := time.Now(), head
	for _, p := range positions {
		least = min(least, p.At)
		if l := f.indexes[p.Index]; l != nil {
			l.Note(tenant, head-min(p.At, head), now)
		}
	}
	for _, at := range f.arrivals.take(tenant, least) {
		f.indexed.Observe(now.Sub(at).Seconds())
	}
}

// Lag is how far a reader is behind, by tenant. It keeps those alone that are behind.
type Lag struct {
	mu sync.Mutex
	by map[string]backlog
}

type backlog struct {
	n     int64
	since time.Time
}

// Note says that n things of a tenant are to be done at the time now.
func (l *Lag) Note(tenant string, n int64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n <= 0 {
		delete(l.by, tenant)
		return
	}
	if l.by == nil {
		l.by = map[string]backlog{}
	}
	since := now
	if b, ok := l.by[tenant]; ok && b.since.Before(since) {
		since = b.since
	}
	l.by[tenant] = backlog{n, since}
}

// show sets the gauges to what is worst. count may be nil.
func (l *Lag) show(count, age prometheus.Gauge, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most, oldest := int64(0), time.Duration(0)
	for _, b := range l.by {
		most, oldest = max(most, b.n), max(oldest, now.Sub(b.since))
	}
	if count != nil {
		count.Set(float64(most))
	}
	age.Set(oldest.Seconds())
}

func (l *Lag) sum() (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.by {
		n += b.n
	}
	return n
}

// Stored notes that an event which came at a time is in the log at a position.
func (f *Metrics) Stored(tenant string, position int64, came time.Time) {
	if !came.IsZero() && f.arrivals.add(tenant, position, came) {
		f.indexed.Observe(time.Since(came).Seconds())
	}
}

// maxArrivals is how many events of a tenant are timed at once. Of more, the others are not.
const maxArrivals = 1024

// arrivals are the times at which events came that not every index has, by tenant.
type arrivals struct {
	mu      sync.Mutex
	waiting map[string][]arrival // in the order of the positions
	reached map[string]int64     // what every index has
}

type arrival struct {
	position int64
	at       time.Time
}

// add reports whether every index has the event already. If not, take returns its time later.
func (a *arrivals) add(tenant string, position int64, at time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if position <= a.reached[tenant] {
		return true
	}
	if a.waiting == nil {
		a.waiting = map[string][]arrival{}
	}
	if len(a.waiting[tenant]) < maxArrivals {
		a.waiting[tenant] = append(a.waiting[tenant], arrival{position, at})
	}
	return false
}

// take returns when the events up to a position came, and forgets them.
func (a *arrivals) take(tenant string, upTo int64) []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reached == nil {
		a.reached = map[string]int64{}
	}
	a.reached[tenant] = max(a.reached[tenant], upTo)
	var out []time.Time
	list := a.waiting[tenant]
	for len(list) > 0 && list[0].position <= upTo {
		out, list = append(out, list[0].at), list[1:]
	}
	if len(list) == 0 {
		delete(a.waiting, tenant)
	} else {
		a.waiting[tenant] = list
	}
	return out
}

// Sizes are how many entries the logs have, by tenant.
type Sizes struct {
	mu sync.Mutex
	by map[string]int64
}

// Note says how many entries a tenant's log has.
func (s *Sizes) Note(tenant string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]int64{}
	}
	s.by[tenant] = size
}

func (s *Sizes) sum() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, size := range s.by {
		n += size
	}
	return n
}
