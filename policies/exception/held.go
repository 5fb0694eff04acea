package exception

import (
	"slices"
	"strings"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies"
	"satchel/schemas"
)

// The causes for which an exception ends.
const (
	CauseExpired   = "expired"
	CauseRevoked   = "revoked"
	CauseTriggered = "triggered"
)

// held is an exception as the log has it.
type held struct {
	schemas.GovernedException
	trigger  Trigger
	position int64
	folded   int64 // the log was folded up to here
	uses     int
	counted  bool   // the log was folded beyond its end: uses are all there are
	marks    []mark // what the trigger has counted, oldest first; one sum without a window
	endedAt  time.Time
	cause    string
}

// mark is something that a trigger counted.
type mark struct {
	at time.Time
	n  int
}

// observeEntry folds an entry that came after the registration.
func (h *held) observeEntry(e *eventlog.Entry) {
	if e.Position <= h.folded {
		return
	}
	h.folded = e.Position
	if used, ok := dataOf[schemas.GovernedException](e, schemas.TypeExceptionUsed); ok && used.ID == h.ID {
		h.uses++
	}
	n := h.trigger.countEntry(e, h.ID)
	switch {
	case n == 0:
	case h.trigger.Within == 0 && len(h.marks) > 0:
		h.marks[0].n += n
	default:
		h.marks = append(h.marks, mark{e.RecordedAt, n})
	}
}

// findEndCause says why the exception has ended by now; "" while it lives.
func (h *held) findEndCause(now time.Time) string {
	if h.cause != "" {
		return h.cause
	}
	if !now.Before(h.ExpiresAt) {
		return CauseExpired
	}
	if h.trigger.Within > 0 {
		h.marks = slices.DeleteFunc(h.marks, func(m mark) bool { return !m.at.After(now.Add(-h.trigger.Within)) })
	}
	total := 0
	for _, m := range h.marks {
		total += m.n
	}
	if h.trigger.Least > 0 && total >= h.trigger.Least {
		return CauseTriggered
	}
	return ""
}

// canServe reports whether the exception may serve who asks for what, items apart.
func (h *held) canServe(s scope.Scope, action string) bool {
	return h.Scope.Tenant == s.Tenant() && slices.Contains(h.Principals, s.Principal().ID) &&
		(h.Purpose == "" || strings.EqualFold(h.Purpose, s.Purpose())) && actionOf(h.Path) == action
}

// canReachItem reports whether the exception holds for the item.
func (h *held) canReachItem(r *policies.Resource) bool {
	if h.Scope.Session != "" && r.Facets.Session != h.Scope.Session {
		return false
	}
	for _, label := range h.Labels {
		if !slices.Contains(r.Facets.Labels, label) {
			return false
		}
	}
	return true
}

// makeState is the exception as others see it.
func (h *held) makeState(now time.Time) schemas.ExceptionState {
	cause := h.findEndCause(now)
	out := schemas.ExceptionState{GovernedException: h.GovernedException, Live: cause == "", Uses: h.uses, EndedAt: h.endedAt, Position: h.position}
	out.Cause = cause
	if cause == CauseExpired && out.EndedAt.IsZero() {
		out.EndedAt = h.ExpiresAt
	}
	return out
}
