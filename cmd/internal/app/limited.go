package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// The limits that principals can be at: the values of a metric's label.
const (
	limitRequests      = "requests"
	limitConnections   = "connections"
	limitSubscriptions = "subscriptions"
)

const (
	limitedFor  = time.Minute // a principal counts as limited after the last refusal
	mostLimited = 256         // principals that are kept
)

// limited notes whose requests are refused for what else they have under way or stored. The zero
// value is ready. It is safe for concurrent use.
type limited struct {
	mu sync.Mutex
	of map[[2]string]*refusals // by tenant and principal
}

type refusals struct {
	count     int
	endpoints map[string]bool
	last      time.Time
}

// note counts a refusal.
func (l *limited) note(tenant, principal, endpoint string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]string{tenant, principal}
	r := l.of[key]
	if r == nil {
		if len(l.of) >= mostLimited {
			l.expire(now)
		}
		if len(l.of) >= mostLimited {
			return
		}
		if l.of == nil {
			l.of = map[[2]string]*refusals{}
		}
		r = &refusals{endpoints: map[string]bool{}}
		l.of[key] = r
	}
	r.count++
	r.endpoints[endpoint] = true
	r.last = now
}

func (l *limited) expire(now time.Time) {
	maps.DeleteFunc(l.of, func(_ [2]string, r *refusals) bool { return now.Sub(r.last) > limitedFor })
}

// atLimit is a principal that is at a limit.
type atLimit struct {
	Principal string `json:"principal"` // tenant:id; ~ and a number of those that no one vouches for
	Limit     string `json:"limit"`
	Refused   int    `json:"refused,omitempty"`   // requests, without a minute's pause between two
	Endpoints string `json:"endpoints,omitempty"` // of them
}

// String says it in a line.
func (a atLimit) String() string {
	if a.Limit != limitRequests {
		return a.Principal + " has as many " + a.Limit + " as it may"
	}
	return fmt.Sprintf("%s had %d requests refused (%s)", a.Principal, a.Refused, a.Endpoints)
}

// list returns whose requests are refused, those with the most refusals first.
func (l *limited) list(now time.Time) []atLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	list := make([]atLimit, 0, len(l.of))
	for who, r := range l.of {
		endpoints := strings.Join(slices.Sorted(maps.Keys(r.endpoints)), ", ")
		list = append(list, atLimit{who[0] + ":" + who[1], limitRequests, r.count, endpoints})
	}
	slices.SortFunc(list, func(a, b atLimit) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Principal, b.Principal))
	})
	return list
}

// atLimits lists the principals that are at a limit.
func (n *Node) atLimits() []atLimit {
	list := n.limited.list(time.Now())
	if n.Server == nil {
		return list
	}
	connections, subscriptions := n.Server.AtLimit()
	for _, who := range connections {
		list = append(list, atLimit{Principal: who, Limit: limitConnections})
	}
	for _, who := range subscriptions {
		list = append(list, atLimit{Principal: who, Limit: limitSubscriptions})
	}
	return list
}

// countLimited counts the principals that are at each limit.
func (n *Node) countLimited() map[string]int {
	counts := map[string]int{limitRequests: 0, limitConnections: 0, limitSubscriptions: 0}
	for _, one := range n.atLimits() {
		counts[one.Limit]++
	}
	return counts
}

// CheckLimits says which principals are at a limit.
func (a *App) CheckLimits(ctx context.Context) Finding {
	f := Finding{Check: "quotas", OK: true, Detail: "no principal is at a limit"}
	s, err := a.ReadStatus(ctx)
	if err != nil {
		f.Idle = true
		f.Detail = "only the process that runs knows who is at a limit"
		return f
	}
	const shown = 5
	said := make([]string, 0, shown)
	for _, one := range s.Limited[:min(shown, len(s.Limited))] {
		said = append(said, one.String())
	}
	if more := len(s.Limited) - len(said); more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	if len(said) > 0 {
		f.Detail = strings.Join(said, "; ")
	}
	return f
}
