package isolation

import (
	"time"

	"satchel/pipeline/scope"
)

// step is how finely a principal is told how long a request took.
const step = 100 * time.Millisecond

// Took is a duration of a request in milliseconds, as its principal may know it: an auditor as it is, others rounded up
// to steps. How long a search or a decision takes tells of items that the principal may not see.
func Took(s scope.Scope, d time.Duration) float64 {
	if !s.Principal().HasRole("auditor") {
		d = max(0, d).Truncate(step) + step
	}
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
