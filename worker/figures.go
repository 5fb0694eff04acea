package worker

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"satchel/pipeline/meter"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// figures are the metrics of the worker. Safe for concurrent use.
type figures struct {
	logged, duplicate, dead prometheus.Counter
	letters                 func(reason string) prometheus.Counter
	appended, indexed       prometheus.Observer
	erased, refused         prometheus.Counter
	verified, signed        prometheus.Gauge
	damaged, stopped        prometheus.Gauge

	indexes  map[string]*lag // by the target's name
	ledger   lag
	erasures lag
	arrivals arrivals
	sizes    sizes
}

// stores are the targets by the label that the metrics give them.
var stores = [...]struct{ label, target string }{{"items", "items"}, {"vector", "vector index"}, {"keyword", "keyword index"}, {"graph", "graph"}, {"private", "private keyword index"}}

func newFigures(m *meter.Set) *figures {
	f := &figures{
		logged: m.Counter(schemas.MetricEvents, "logged"), duplicate: m.Counter(schemas.MetricEvents, "duplicate"), dead: m.Counter(schemas.MetricEvents, "dead"),
		letters: m.Counters(schemas.MetricDeadLettersTotal), appended: m.Histogram(schemas.MetricAppendDuration), indexed: m.Histogram(schemas.MetricPublishToIndexed),
		erased: m.Counter(schemas.MetricErasures, "done"), refused: m.Counter(schemas.MetricErasures, "refused"),
		verified: m.Gauge(schemas.MetricVerified), signed: m.Gauge(schemas.MetricHeadSigned), damaged: m.Gauge(schemas.MetricLogDamaged), stopped: m.Gauge(schemas.MetricPartitionsStopped), indexes: map[string]*lag{},
	}
	var lags [len(stores)]*lag
	var positions, ages [len(stores)]prometheus.Gauge
	for i, store := range stores {
		lags[i] = &lag{}
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
		f.ledger.show(ledger, ledgerAge, now)
		f.erasures.show(nil, erasuresAge, now)
		erasures.Set(float64(f.erasures.sum()))
		size.Set(float64(f.sizes.sum()))
	})
	return f
}

// took counts a transaction that appended drafts.
func (f *figures) took(began time.Time, drafts []eventlog.Draft, outcomes []eventlog.Outcome) {
	f.appended.Observe(time.Since(began).Seconds())
	for i, o := range outcomes {
		if drafts[i].Source == ArtifactSource { // it goes with an event
			continue
		}
		switch o.Status {
		case eventlog.Appended:
			f.logged.Inc()
		case eventlog.Duplicate:
			f.duplicate.Inc()
		}
	}
}

// rejected counts dead letters.
func (f *figures) rejected(list []Rejected) {
	f.dead.Add(float64(len(list)))
	for i := range list {
		f.letters(list[i].Reason).Inc()
	}
}

// projected notes how far the indexes of a tenant have come, when the log ends at head.
func (f *figures) projected(tenant string, run steps, head int64) {
	now := time.Now()
	for i := range run {
		if l := f.indexes[run[i].name]; l != nil {
			l.note(tenant, head-min(run[i].at, head), now)
		}
	}
	for _, at := range f.arrivals.take(tenant, min(run.min(), head)) {
		f.indexed.Observe(now.Sub(at).Seconds())
	}
}

// lag is how far a reader is behind, by tenant. It keeps those alone that are behind.
type lag struct {
	mu sync.Mutex
	by map[string]backlog
}

type backlog struct {
	n     int64
	since time.Time
}

// note says that n things of a tenant are to be done at the time now.
func (l *lag) note(tenant string, n int64, now time.Time) {
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
func (l *lag) show(count, age prometheus.Gauge, now time.Time) {
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

func (l *lag) sum() (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.by {
		n += b.n
	}
	return n
}

// stored notes that an event which came at a time is in the log at a position.
func (f *figures) stored(tenant string, position int64, came time.Time) {
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

// sizes are how many entries the logs have, by tenant.
type sizes struct {
	mu sync.Mutex
	by map[string]int64
}

func (s *sizes) note(tenant string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]int64{}
	}
	s.by[tenant] = size
}

func (s *sizes) sum() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, size := range s.by {
		n += size
	}
	return n
}
