package items

import (
	"sync/atomic"

	"satchel/schemas"
)

// Lent is a record that requests share, and what one of them derived from it. No one may
// change either. What was derived goes with the record: when that is erased or changes, the
// next request gets another Lent.
type Lent struct {
	*schemas.Record
	derived atomic.Value
}

// Lend returns a record that is not shared yet.
func Lend(r *schemas.Record) *Lent { return &Lent{Record: r} }

// Derived returns what derive made of the record, now or before. All callers MUST derive the
// same from the same record. Two may derive it at once.
func (l *Lent) Derived(derive func(*schemas.Record) any) any {
	if v := l.derived.Load(); v != nil {
		return v
	}
	v := derive(l.Record)
	l.derived.Store(v)
	return v
}
