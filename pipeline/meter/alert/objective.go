package alert

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"satchel/schemas"
)

// Objective is a service level objective: the share of what is counted that has to be good.
type Objective struct {
	Name    string // as metrics and alerts have it: availability
	Target  float64
	Bad     string // in PromQL, what is not good, with %s for the range
	All     string // in PromQL, what is counted, with %s for the range
	Summary string
}

// Endpoints lists the endpoints that the objective of availability counts.
func Endpoints() []string { return []string{"request", "search", "put", "explain", "recover"} }

// The bounds of the objectives, in seconds. Each is a bound of its histogram.
const (
	FastBound  = 0.03
	SlowBound  = 0.2
	FreshBound = 1.0
)

// Objectives lists the objectives over 30 days.
func Objectives() []Objective {
	of := func(m schemas.Metric, suffix, match string) string {
		return fmt.Sprintf("sum by (instance) (rate(%s%s%s[%%s]))", m, suffix, match)
	}
	endpoints := strings.Join(Endpoints(), "|")
	within := func(name string, target float64, m schemas.Metric, match string, bound float64, summary string) Objective {
		all := of(m, "_count", match)
		good := of(m, "_bucket", match[:len(match)-1]+fmt.Sprintf(`le=~"%s"}`, formatNumber(bound)))
		return Objective{name, target, all + " - " + good, all, summary}
	}
	const request = `{endpoint="request",}`
	return []Objective{
		{"availability", 0.999, of(schemas.MetricRequests, "", fmt.Sprintf(`{endpoint=~%q,outcome=~"failed|refused"}`, endpoints)),
			of(schemas.MetricRequests, "", fmt.Sprintf(`{endpoint=~%q,outcome!="invalid"}`, endpoints)), "requests that are answered, of all that are no mistake of the caller"},
		within("latency", 0.95, schemas.MetricRequestDuration, request, FastBound, "context requests that take at most 30 ms"),
		within("latency_tail", 0.99, schemas.MetricRequestDuration, request, SlowBound, "context requests that take at most 200 ms"),
		within("freshness", 0.99, schemas.MetricPublishToIndexed, "{}", FreshBound, "events that every index has within a second"),
	}
}

// formatNumber matches a bound as Prometheus writes it: since its version 3, 1 is 1.0.
func formatNumber(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if f == math.Trunc(f) {
		s += "|" + s + ".0"
	}
	return s
}
