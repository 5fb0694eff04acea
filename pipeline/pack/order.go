package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/candidate"

	"satchel/schemas"
)

// Order is the order of items within a section. Models read the beginning and the end of
// a text better than its middle (Liu et al., Lost in the Middle, 2023).
type Order string

// The orders.
const (
	// OrderTime is oldest first, under the headings of their days; times are relative to
	// one another, and the newest are nearest to the user's message.
	OrderTime Order = "time"
	// OrderScore is best first.
	OrderScore Order = "score"
	// OrderEdges is best first, second best last, and so on inwards, so that the middle
	// holds what matters least.
	OrderEdges Order = "edges"
)

// Orders of the sections of items. An empty one is its default.
type Orders struct {
	Tools     Order // default OrderScore
	Knowledge Order // default OrderEdges
	Memory    Order // default OrderTime
}

func (o Orders) fillDefaults() Orders {
	return Orders{cmp.Or(o.Tools, OrderScore), cmp.Or(o.Knowledge, OrderEdges), cmp.Or(o.Memory, OrderTime)}
}

// Validate says which order there is not. Only memories have an order of time.
func (o Orders) Validate() error {
	o = o.fillDefaults()
	for _, section := range []schemas.SectionType{schemas.SectionTools, schemas.SectionKnowledge, schemas.SectionMemory} {
		known := []Order{OrderScore, OrderEdges}
		if section == schemas.SectionMemory {
			known = []Order{OrderTime, OrderScore, OrderEdges}
		}
		if order := *o.findOrder(section); !slices.Contains(known, order) {
			return fmt.Errorf("order of %s %q: want one of %v", section, order, known)
		}
	}
	return nil
}

// ParseOrders reads "memory=time,knowledge=edges,tools=score"; what is not named keeps
// its default.
func ParseOrders(text string) (Orders, error) {
	var o Orders
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		section, order, ok := strings.Cut(part, "=")
		if !ok {
			return Orders{}, fmt.Errorf("parse orders: %q: want section=order", part)
		}
		field := o.findOrder(schemas.SectionType(strings.TrimSpace(section)))
		if field == nil {
			return Orders{}, fmt.Errorf("parse orders: section %q: want tools, knowledge or memory", section)
		}
		*field = Order(strings.TrimSpace(order))
	}
	return o, o.Validate()
}

// findOrder is the order of a section of items, nil for another section.
func (o *Orders) findOrder(section schemas.SectionType) *Order {
	switch section {
	case schemas.SectionTools:
		return &o.Tools
	case schemas.SectionKnowledge:
		return &o.Knowledge
	case schemas.SectionMemory:
		return &o.Memory
	}
	return nil
}

// describeOrder says an order in a section's reason.
func (o Order) describeOrder() string {
	switch o {
	case OrderTime:
		return "in order of time"
	case OrderEdges:
		return "best at both ends"
	}
	return "in order of score"
}

// listShownItems returns the chosen candidates of one of sections in the order of the text.
func (w *packer) listShownItems(section int8) []int {
	var out []int
	for i := range w.cs {
		if w.taken[i] && w.kind[i] == section {
			out = append(out, i)
		}
	}
	switch *w.b.orders.findOrder(sections[section]) {
	case OrderTime:
		slices.SortStableFunc(out, w.byTime)
	case OrderEdges:
		out = orderAtEdges(out)
	}
	return w.belowNewest(out)
}

func (w *packer) byTime(a, b int) int {
	x := w.cs[a].Visible
	y := w.cs[b].Visible
	if c := cmp.Compare(dayNumber(x), dayNumber(y)); c != 0 {
		return c
	}
	if c := x.CreatedAt.Compare(y.CreatedAt); c != 0 {
		return c
	}
	return cmp.Or(
		cmp.Compare(x.SessionID(), y.SessionID()), cmp.Compare(x.Seq, y.Seq),
		cmp.Compare(x.Position, y.Position), cmp.Compare(x.ID, y.ID),
	)
}

// dayNumber orders what has no time first.
func dayNumber(r *candidate.Visible) int64 {
	if r.CreatedAt.IsZero() {
		return -1 << 62
	}
	return r.CreatedAt.Unix() / 86400
}

// orderAtEdges puts a list that is best first in the order of OrderEdges.
func orderAtEdges(list []int) []int {
	out := make([]int, len(list))
	for n, i := range list {
		if n%2 == 0 {
			out[n/2] = i
		} else {
			out[len(list)-1-n/2] = i
		}
	}
	return out
}
