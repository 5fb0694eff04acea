package jetstream

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/schemas"
)

// listBounds returns the upper bounds of the latency histogram.
func listBounds() [14]time.Duration {
	const ms = time.Millisecond
	return [14]time.Duration{ms / 2, ms, 2 * ms, 5 * ms, 10 * ms, 20 * ms, 50 * ms, 100 * ms, 200 * ms, 500 * ms,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}
}

// endpointStats counts what micro cannot: it sees only the hand-over to the pool.
type endpointStats struct {
	requests, errors, invalid, refused atomic.Int64
	waiting                            atomic.Int64 // in the pool's queue
	sum                                atomic.Int64 // nanoseconds
	buckets                            [15]atomic.Int64
}

// observeRequest counts one request, its time since arrival, and its refusal, nil for a reply.
func (s *endpointStats) observeRequest(took time.Duration, refusal *schemas.Error) {
	s.requests.Add(1)
	s.sum.Add(int64(took))
	if refusal != nil {
		s.errors.Add(1)
		switch {
		case refusal.IsCallersMistake():
			s.invalid.Add(1)
		case refusal.Code == schemas.CodeOverloaded:
			s.refused.Add(1)
		}
	}
	limits := listBounds()
	for i, limit := range limits {
		if took <= limit {
			s.buckets[i].Add(1)
			return
		}
	}
	s.buckets[len(limits)].Add(1)
}

// EndpointStats is the data of an endpoint in the service's statistics. Times are in
// milliseconds from arrival to reply; a quantile is the upper bound of its bucket,
// −1 when it is over the last.
type EndpointStats struct {
	Requests int64   `json:"requests"`
	Errors   int64   `json:"errors"`
	Invalid  int64   `json:"invalid"` // of Errors: the caller's mistake, with 4xx but 429
	Refused  int64   `json:"refused"` // of Errors: with 429, there was no free place
	Waiting  int64   `json:"waiting"`
	MeanMS   float64 `json:"mean_ms"`
	P50MS    float64 `json:"p50_ms"`
	P95MS    float64 `json:"p95_ms"`
	P99MS    float64 `json:"p99_ms"`
	Service  any     `json:"service,omitempty"`
}

func (s *endpointStats) readStatistics() EndpointStats {
	out := EndpointStats{Requests: s.requests.Load(), Errors: s.errors.Load(), Invalid: s.invalid.Load(), Refused: s.refused.Load(), Waiting: s.waiting.Load()}
	if out.Requests == 0 {
		return out
	}
	out.MeanMS = countMilliseconds(time.Duration(s.sum.Load() / out.Requests))
	out.P50MS, out.P95MS, out.P99MS = s.estimateQuantile(0.5), s.estimateQuantile(0.95), s.estimateQuantile(0.99)
	return out
}

func (s *endpointStats) estimateQuantile(q float64) float64 {
	var total int64
	for i := range s.buckets {
		total += s.buckets[i].Load()
	}
	need := q * float64(total)
	seen := int64(0)
	for i, limit := range listBounds() {
		seen += s.buckets[i].Load()
		if float64(seen) >= need {
			return countMilliseconds(limit)
		}
	}
	return -1
}

func countMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (s *Service) statsOf(e *endpoint) any {
	if e == nil {
		return nil
	}
	out := e.stats.readStatistics()
	if s.cfg.Stats != nil {
		out.Service = s.cfg.Stats()
	}
	return out
}

// Stats returns the statistics of every endpoint by name, as discovery shows them.
func (s *Service) Stats() map[string]EndpointStats {
	out := make(map[string]EndpointStats, len(s.endpoints))
	for _, e := range s.endpoints {
		out[e.Name] = e.stats.readStatistics()
	}
	return out
}

// HeaderCarrier carries a trace context in message headers (an OpenTelemetry
// TextMapCarrier): it writes names in lower case and reads them in any case.
type HeaderCarrier nats.Header

// Get returns the value of a header, "" for none.
func (c HeaderCarrier) Get(key string) string {
	if values, ok := c[strings.ToLower(key)]; ok && len(values) > 0 {
		return values[0]
	}
	for name, values := range c {
		if strings.EqualFold(name, key) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// Set replaces a header in whatever case it was written.
func (c HeaderCarrier) Set(key, value string) {
	for name := range c {
		if strings.EqualFold(name, key) {
			delete(c, name)
		}
	}
	c[strings.ToLower(key)] = []string{value}
}

// Keys lists the names of the headers.
func (c HeaderCarrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for name := range c {
		keys = append(keys, name)
	}
	return keys
}
