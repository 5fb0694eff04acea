package alert

import (
	"slices"

	"satchel/schemas"
)

// Status is how an objective stands.
type Status struct {
	Value    *float64 `json:"value"`              // nil: nothing was counted within the window
	Target   *float64 `json:"target"`             // nil: there is no baseline yet
	Baseline *float64 `json:"baseline,omitempty"` // of p95_seconds: what it was before the window
	Window   string   `json:"window"`             // what the value is of
	OK       bool     `json:"ok"`                 // true as well where value or target is not known
	Meaning  string   `json:"meaning"`
}

// The targets that are no objective of Objectives.
const (
	correctnessTarget = 0.90
	citationsTarget   = 0.95
	slowdownTarget    = 1.5 // times the baseline
	leastBaseline     = 200 // requests before there is one
)

// Objectives returns how the objectives stand at the last look: over the last Window, or since the
// start where that is shorter.
func (m *Monitor) Objectives() map[string]Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.kept[0].counts
	c := m.last.counts.subtractCounts(&first)
	window := Duration(m.last.at.Sub(m.kept[0].at))
	atLeast := func(good, all, target float64, meaning string) Status {
		s := Status{Target: &target, Window: window, OK: true, Meaning: meaning}
		if all > 0 {
			value := good / all
			s.Value = &value
			s.OK = value >= target
		}
		return s
	}
	out := map[string]Status{
		"correctness": atLeast(c.supported, c.said, correctnessTarget, "answers of the roles whose every sentence its citations support"),
		"citations":   atLeast(c.citations-c.unresolved, c.citations, citationsTarget, "citations that lead to what they name"),
	}
	for _, o := range Objectives() {
		good := c.answered
		all := c.answered + c.failed
		switch o.Name {
		case "latency":
			good = c.requests.countWithin(FastBound)
			all = c.requests.countAll()
		case "latency_tail":
			good = c.requests.countWithin(SlowBound)
			all = c.requests.countAll()
		case "freshness":
			good = c.indexed.countWithin(FreshBound)
			all = c.indexed.countAll()
		}
		out[o.Name] = atLeast(good, all, o.Target, o.Summary)
	}
	over := c.over
	none := 0.0
	out["budget"] = Status{Value: &over, Target: &none, Window: window, OK: over == 0, Meaning: "packs over their token budget"}
	out["p95_seconds"] = measureSlowdown(c.requests, first.requests, window)
	return out
}

// measureSlowdown compares the slowest twentieth of the context requests with what it was before.
func measureSlowdown(now, before buckets, window string) Status {
	s := Status{Window: window, OK: true, Meaning: "time within which 95 % of the context requests are answered, against that before the window"}
	if now.countAll() > 0 {
		value := now.estimateQuantile(0.95)
		s.Value = &value
	}
	if before.countAll() >= leastBaseline {
		baseline := before.estimateQuantile(0.95)
		target := slowdownTarget * baseline
		s.Baseline = &baseline
		s.Target = &target
	}
	if s.Value != nil && s.Target != nil {
		s.OK = *s.Value <= *s.Target
	}
	return s
}

func (f families) collectCounts() (c counts) {
	for _, one := range f[schemas.MetricRequests.String()] {
		if !slices.Contains(Endpoints(), labelOf(one, "endpoint")) {
			continue
		}
		switch labelOf(one, "outcome") {
		case "answered":
			c.answered += valueOf(one)
		case "failed", "refused":
			c.failed += valueOf(one)
		}
	}
	c.requests = f.collectBuckets(schemas.MetricRequestDuration, "endpoint", "request")
	c.indexed = f.collectBuckets(schemas.MetricPublishToIndexed, "", "")
	for _, one := range f.listSeries(schemas.MetricVerifierChecks, "check", "support") {
		c.said += valueOf(one)
		if labelOf(one, "outcome") == "holds" {
			c.supported += valueOf(one)
		}
	}
	c.citations, c.unresolved = f.sumSeries(schemas.MetricCitations, "", ""), f.sumSeries(schemas.MetricCitations, "outcome", "fails")
	c.over = f.sumSeries(schemas.MetricPackOverBudget, "", "")
	return c
}

func (c counts) subtractCounts(before *counts) counts {
	return counts{
		answered: c.answered - before.answered, failed: c.failed - before.failed,
		requests: c.requests.subtractBuckets(before.requests), indexed: c.indexed.subtractBuckets(before.indexed),
		supported: c.supported - before.supported, said: c.said - before.said,
		citations: c.citations - before.citations, unresolved: c.unresolved - before.unresolved, over: c.over - before.over,
	}
}

// buckets are the cumulative counts of a histogram; the last bucket has no bound.
type buckets []bucket

type bucket struct{ bound, count float64 }

func (f families) collectBuckets(m schemas.Metric, label, value string) (out buckets) {
	for _, one := range f.listSeries(m, label, value) {
		for _, b := range one.GetHistogram().GetBucket() {
			out = append(out, bucket{b.GetUpperBound(), float64(b.GetCumulativeCount())})
		}
		out = append(out, bucket{0, float64(one.GetHistogram().GetSampleCount())})
	}
	return out
}

func (b buckets) subtractBuckets(before buckets) buckets {
	out := slices.Clone(b)
	for i := range before {
		if i < len(out) {
			out[i].count -= before[i].count
		}
	}
	return out
}

func (b buckets) countAll() float64 {
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1].count
}

// countWithin returns how many are at most bound, which is a bound of the histogram.
func (b buckets) countWithin(bound float64) float64 {
	for _, one := range b {
		if one.bound == bound {
			return one.count
		}
	}
	return 0
}

// estimateQuantile interpolates within a bucket, as histogram_quantile does. What is over the last bound
// counts as that bound.
func (b buckets) estimateQuantile(q float64) float64 {
	need := q * b.countAll()
	below := 0.0
	from := 0.0
	for _, one := range b[:max(0, len(b)-1)] {
		if one.count >= need && one.count > below {
			return from + (one.bound-from)*(need-below)/(one.count-below)
		}
		below = one.count
		from = one.bound
	}
	return from
}
