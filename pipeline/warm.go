package pipeline

import (
	"runtime"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Forgets is how often Forget was called.
func (e *Engine) Forgets() uint64 { return e.forgets.Load() }

// Warm computes what requests will want to know of each record by itself, before any asks.
// forgets is what Forgets was before the records were read: when Forget was called since,
// nothing of them is kept. It gives way to others after each record, and reports whether
// there is room for more. Without it results are the same.
func (e *Engine) Warm(s scope.Scope, forgets uint64, records []schemas.Record) (room bool) {
	still := func() bool { return e.forgets.Load() == forgets }
	room = true
	for i := range records {
		r := &records[i]
		if !still() {
			return false
		}
		room = e.selector.Warm(s, r, still) && room
		e.defence.Warm(r.Content.Text(), still)
		runtime.Gosched()
	}
	return room
}
