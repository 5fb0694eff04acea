package pipeline

import (
	"cmp"
	"fmt"

	"satchel/schemas"
)

// Budget limits the output of a request, whichever limit is reached first. A request may ask
// for less; if it asks for more, its limit is cut, with a warning. Zero values are the defaults
// of the H4R document.
type Budget struct {
	Bytes  int // of content; default 122,880
	Tokens int // of the rendered text; default 30,000
	// Items is the most items. Default: 100, and in proportion more where a request names no limit
	// and its tokens are more than schemas.DefaultTokenBudget.
	Items int
}

// defaultItems is the default of Budget.Items.
const defaultItems = 100

func (b *Budget) fill() {
	b.Bytes, b.Tokens = cmp.Or(max(b.Bytes, 0), 120<<10), cmp.Or(max(b.Tokens, 0), 30_000)
}

// bound returns the limits that a request has: what it asks for, 0 for nothing, as far as the budget
// gives that. A note says what was cut.
func (b *Budget) bound(asked Limits, notes Notes) (Limits, Notes) {
	out := asked
	out.Bytes, notes = cut("bytes", cmp.Or(asked.Bytes, b.Bytes), b.Bytes, notes)
	out.Tokens, notes = cut("tokens", cmp.Or(asked.Tokens, b.Tokens), b.Tokens, notes)
	if asked.Items > 0 {
		out.Items, notes = cut("items", asked.Items, b.named(), notes)
	} else {
		out.Items = b.items(out.Tokens)
	}
	return out, notes
}

// named is the most items that a request may ask for by name.
func (b *Budget) named() int { return cmp.Or(max(b.Items, 0), defaultItems) }

// items is the most items of a text of so many tokens.
func (b *Budget) items(tokens int) int {
	if b.Items > 0 {
		return b.Items
	}
	return max(defaultItems, defaultItems*tokens/schemas.DefaultTokenBudget)
}

// cut cuts what a request asks for to the most that it is given.
func cut(what string, asked, most int, notes Notes) (int, Notes) {
	if asked <= most {
		return asked, notes
	}
	return most, notes.With(fmt.Sprintf("budget: %d %s are cut to %d, the most that a request is given here", asked, what, most))
}

// take takes an item off what is left of the limits, and reports whether they pay for it.
func (l *Limits) take(tokens, bytes int) bool {
	if l.Items < 1 || tokens > l.Tokens || bytes > l.Bytes {
		return false
	}
	l.Items, l.Tokens, l.Bytes = l.Items-1, l.Tokens-tokens, l.Bytes-bytes
	return true
}
