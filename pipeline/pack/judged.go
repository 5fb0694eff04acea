package pack

import (
	"hash/maphash"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// judged remembers which rules hold for a text, of those that read nothing else of an
// item: the same items are shown again and again. A text is known by two 64-bit hashes
// under random seeds, and none of it is kept. It is bounded and safe for concurrent use.
type judged struct {
	seeds [2]maphash.Seed

	mu    sync.RWMutex
	known map[[2]uint64]ruleSet
}

// ruleSet has a bit for each of the first 64 rules.
type ruleSet uint64

const maxJudged = 32 << 10 // texts, at about 40 bytes

func newJudged() *judged {
	return &judged{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, known: map[[2]uint64]ruleSet{}}
}

// of returns what judge says of a text, perhaps said before.
func (e *judged) of(text string, judge func() ruleSet) ruleSet {
	if e == nil { // no rules
		return judge()
	}
	key := [2]uint64{maphash.String(e.seeds[0], text), maphash.String(e.seeds[1], text)}
	e.mu.RLock()
	held, ok := e.known[key]
	e.mu.RUnlock()
	if ok {
		return held
	}
	held = judge()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.known) >= maxJudged {
		clear(e.known)
	}
	e.known[key] = held
	return held
}

// readsText reports whether an expression's value depends on nothing but an item's text.
func readsText(p *vm.Program) bool {
	other := ast.Find(p.Node(), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryNode, *ast.UnaryNode, *ast.StringNode, *ast.BoolNode, *ast.IntegerNode, *ast.ConstantNode:
			return false
		case *ast.IdentifierNode:
			return n.Value != "text"
		}
		return true
	})
	return other == nil
}
