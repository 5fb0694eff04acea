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
	counted          func(tenant string) *counted
	append           prometheus.Observer
	Verified, Signed prometheus.Gauge // when
	Damaged, Stopped prometheus.Gauge

	Ledger   Lag
	Erasures Lag
	Sizes    Sizes           // of the logs
	Held     Sizes           // how many items legal holds keep from retention
	indexes  map[string]*Lag // by the name of the index
	arrivals arrivals
}

// counted are the figures of a tenant, or of all tenants that are not listed.
type counted struct {
	logged, duplicate, dead prometheus.Counter // events
	letters                 func(reason string) prometheus.Counter
	indexed                 prometheus.Observer
	erased, refused, held   prometheus.Counter // erasures
	unanalysed              prometheus.Counter // items
}

func newCounted(m *meter.Set) *counted {
	return &counted{
		logged: m.Counter(schemas.MetricEvents, "logged"), duplicate: m.Counter(schemas.MetricEvents, "duplicate"),
		dead: m.Counter(schemas.MetricEvents, "dead"), letters: m.Counters(schemas.MetricDeadLettersTotal),
		indexed: m.Histogram(schemas.MetricPublishToIndexed), erased: m.Counter(schemas.MetricErasures, "done"),
		refused: m.Counter(schemas.MetricErasures, "refused"), held: m.Counter(schemas.MetricErasures, "held"),
		unanalysed: m.Counter(schemas.MetricUnanalysed),
	}
}

// stores are the targets by the label that the metrics give them.
var stores = [...]struct{ label, target string }{{"items", "items"}, {"vector", "vector index"}, {"keyword", "keyword index"}, {"graph", "graph"}, {"private", "private keyword index"}}

// New returns the metrics of a worker, in m.
func New(m *meter.Set) *Metrics {
	f := &Metrics{
		counted: meter.ByTenant(m, newCounted), append: m.Histogram(schemas.MetricAppendDuration),
		Verified: m.Gauge(schemas.MetricVerified), Signed: m.Gauge(schemas.MetricHeadSigned), Damaged: m.Gauge(schemas.MetricLogDamaged),
		Stopped: m.Gauge(schemas.MetricPartitionsStopped), indexes: map[string]*Lag{},
	}
	for _, store := range stores {
		f.indexes[store.target] = &Lag{}
	}
	gauges := meter.ByTenant(m, newGauges)
	m.BeforeReading(func() {
		r := f.readMetrics(m.SeriesOf)
		for _, series := range m.Series() {
			gauges(series).setGauges(&r, series)
		}
	})
	return f
}

// gauges are what is behind and how much there is, of a tenant or of all tenants that are not listed.
type gauges struct {
	positions, ages                               [len(stores)]prometheus.Gauge
	ledger, ledgerAge, erasures, erasuresAge, log prometheus.Gauge
	held                                          prometheus.Gauge
}

func newGauges(m *meter.Set) *gauges {
	g := &gauges{
		ledger: m.Gauge(schemas.MetricLedgerLag), ledgerAge: m.Gauge(schemas.MetricLedgerLagSeconds),
		erasures: m.Gauge(schemas.MetricErasuresPending), erasuresAge: m.Gauge(schemas.MetricErasuresOldest),
		log: m.Gauge(schemas.MetricLogSize), held: m.Gauge(schemas.MetricRetentionHeld),
	}
	for i, store := range stores {
		g.positions[i], g.ages[i] = m.Gauge(schemas.MetricIndexLag, store.label), m.Gauge(schemas.MetricIndexLagSeconds, store.label)
	}
	return g
}

// reading is what was noted, by the series that counts the tenant.
type reading struct {
	indexes          [len(stores)]map[string]behind
	ledger, erasures map[string]behind
	log, held        map[string]int64
}

func (f *Metrics) readMetrics(series func(tenant string) string) reading {
	now := time.Now()
	r := reading{ledger: f.Ledger.measureLag(series, now), erasures: f.Erasures.measureLag(series, now), log: f.Sizes.sumSizes(series), held: f.Held.sumSizes(series)}
	for i, store := range stores {
		r.indexes[i] = f.indexes[store.target].measureLag(series, now)
	}
	return r
}

func (g *gauges) setGauges(r *reading, series string) {
	for i := range stores {
		b := r.indexes[i][series]
		g.positions[i].Set(float64(b.most))
		g.ages[i].Set(b.oldest.Seconds())
	}
	g.ledger.Set(float64(r.ledger[series].most))
	g.ledgerAge.Set(r.ledger[series].oldest.Seconds())
	g.erasures.Set(float64(r.erasures[series].all))
	g.erasuresAge.Set(r.erasures[series].oldest.Seconds())
	g.log.Set(float64(r.log[series]))
	g.held.Set(float64(r.held[series]))
}

// Appended counts a transaction that appended events.
func (f *Metrics) Appended(began time.Time) { f.append.Observe(time.Since(began).Seconds()) }

// Logged counts an event that is in the log now.
func (f *Metrics) Logged(tenant string) { f.counted(tenant).logged.Inc() }

// Duplicate counts an event that was in the log before.
func (f *Metrics) Duplicate(tenant string) { f.counted(tenant).duplicate.Inc() }

// Rejected counts dead letters.
func (f *Metrics) Rejected(list []transport.Rejected) {
	for i := range list {
		c := f.counted(list[i].Message.Tenant)
		c.dead.Inc()
		c.letters(list[i].Reason).Inc()
	}
}

// Erased counts erasures that have a receipt.
func (f *Metrics) Erased(tenant string, count int) { f.counted(tenant).erased.Add(float64(count)) }

// Refused counts an erasure that policy refused or, if held, a legal hold.
func (f *Metrics) Refused(tenant string, held bool) {
	if held {
		f.counted(tenant).held.Inc()
	} else {
		f.counted(tenant).refused.Inc()
	}
}

// Unanalysed counts an item that is hidden whole, for it could not be analysed.
func (f *Metrics) Unanalysed(tenant string) { f.counted(tenant).unanalysed.Inc() }

// Position is how far an index is.
type Position struct {
	Index string
	At    int64
}

// Projected notes how far the indexes of a tenant have come, when the log ends at head.
func (f *Metrics) Projected(tenant string, positions []Position, head int64) {
	now := time.Now()
	least := head
	for _, p := range positions {
		least = min(least, p.At)
		if l := f.indexes[p.Index]; l != nil {
			l.Note(tenant, head-min(p.At, head), now)
		}
	}
	for _, at := range f.arrivals.takeArrivals(tenant, least) {
		f.counted(tenant).indexed.Observe(now.Sub(at).Seconds())
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

// behind is how far several tenants are behind: the largest number, the sum, and the longest time.
type behind struct {
	most, all int64
	oldest    time.Duration
}

// measureLag returns how far the tenants are behind, by the series that counts them.
func (l *Lag) measureLag(series func(tenant string) string, now time.Time) map[string]behind {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]behind{}
	for tenant, b := range l.by {
		to := out[series(tenant)]
		out[series(tenant)] = behind{max(to.most, b.n), to.all + b.n, max(to.oldest, now.Sub(b.since))}
	}
	return out
}

// Stored notes that an event which came at a time is in the log at a position.
func (f *Metrics) Stored(tenant string, position int64, came time.Time) {
	if !came.IsZero() && f.arrivals.addArrival(tenant, position, came) {
		f.counted(tenant).indexed.Observe(time.Since(came).Seconds())
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

// addArrival reports whether every index has the event already. If not, take returns its time later.
func (a *arrivals) addArrival(tenant string, position int64, at time.Time) bool {
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

// takeArrivals returns when the events up to a position came, and forgets them.
func (a *arrivals) takeArrivals(tenant string, upTo int64) []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reached == nil {
		a.reached = map[string]int64{}
	}
	a.reached[tenant] = max(a.reached[tenant], upTo)
	var out []time.Time
	list := a.waiting[tenant]
	for len(list) > 0 && list[0].position <= upTo {
		out = append(out, list[0].at)
		list = list[1:]
	}
	if len(list) == 0 {
		delete(a.waiting, tenant)
	} else {
		a.waiting[tenant] = list
	}
	return out
}

// Sizes are how many there are of something, by tenant.
type Sizes struct {
	mu sync.Mutex
	by map[string]int64
}

// Note says how many a tenant has.
func (s *Sizes) Note(tenant string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]int64{}
	}
	s.by[tenant] = size
}

// sumSizes returns the sums by the series that counts the tenants.
func (s *Sizes) sumSizes(series func(tenant string) string) map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int64{}
	for tenant, size := range s.by {
		out[series(tenant)] += size
	}
	return out
}
