package service

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"satchel/schemas"
)

// Quota is how much one principal may put a minute, and at once. Zero: any number.
type Quota struct {
	Events int
	Bytes  int
}

// metered is of how many principals it is known what they put; with another one all begin anew.
const metered = 4096

// meters count what principals put. It is safe for concurrent use.
type meters struct {
	quota Quota

	mu sync.Mutex
	of map[[2]string][2]*rate.Limiter // events and bytes, by tenant and principal
}

func newMeters(quota Quota) *meters {
	return &meters{quota: quota, of: map[[2]string][2]*rate.Limiter{}}
}

// aMinute is a limiter of so many a minute.
func aMinute(most int) *rate.Limiter {
	if most <= 0 {
		return rate.NewLimiter(rate.Inf, math.MaxInt)
	}
	return rate.NewLimiter(rate.Limit(most)/60, most)
}

// admitEvent counts an event of so many bytes, or says when there is room for it.
func (m *meters) admitEvent(now time.Time, tenant, principal string, bytes int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{tenant, principal}
	both, ok := m.of[key]
	if !ok {
		if len(m.of) >= metered {
			clear(m.of)
		}
		both = [2]*rate.Limiter{aMinute(m.quota.Events), aMinute(m.quota.Bytes)}
		m.of[key] = both
	}
	events := both[0].ReserveN(now, 1)
	content := both[1].ReserveN(now, bytes)
	wait := max(events.DelayFrom(now), content.DelayFrom(now))
	if wait == 0 {
		return nil
	}
	events.CancelAt(now)
	content.CancelAt(now)
	return &schemas.Error{Code: schemas.CodeOverloaded, RetryAfter: int(min(wait, time.Minute)/time.Second) + 1,
		Message: fmt.Sprintf("a principal may put %d events and %d bytes a minute", m.quota.Events, m.quota.Bytes)}
}
