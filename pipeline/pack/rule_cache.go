package pack

import (
	"hash/maphash"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// ruleCache remembers which rules hold for a text and its state, of those that read nothing else
// of an item: the same items are shown again and again. A text is known by two 64-bit hashes
// under random seeds, and none of it is kept. It is bounded and safe for concurrent use.
type ruleCache struct {
	seeds [2]maphash.Seed

	mu    sync.RWMutex
	known map[ruleKey]ruleSet
}

type ruleKey struct {
	hash            [2]uint64
	reports, failed bool
}

// ruleSet has a bit for each of the first 64 rules.
type ruleSet uint64

const maxCachedRules = 32 << 10 // texts, at about 48 bytes

func newRuleCache() *ruleCache {
	return &ruleCache{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, known: map[ruleKey]ruleSet{}}
}

// of returns which rules hold for a text: what judge returns, or has returned before.
func (e *ruleCache) of(text string, reports, failed bool, judge func() ruleSet) ruleSet {
	if e == nil { // no rules
		return judge()
	}
	key := ruleKey{[2]uint64{maphash.String(e.seeds[0], text), maphash.String(e.seeds[1], text)}, reports, failed}
	e.mu.RLock()
	held, ok := e.known[key]
	e.mu.RUnlock()
	if ok {
		return held
	}
	held = judge()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.known) >= maxCachedRules {
		clear(e.known)
	}
	e.known[key] = held
	return held
}

// readsText reports whether an expression's value depends on nothing but an item's text and state.
func readsText(p *vm.Program) bool {
	other := ast.Find(p.Node(), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryNode, *ast.UnaryNode, *ast.StringNode, *ast.BoolNode, *ast.IntegerNode, *ast.ConstantNode, *ast.CallNode:
			return false
		case *ast.IdentifierNode:
			return n.Value != "text" && n.Value != "reports" && n.Value != "failed" && n.Value != saysName
		}
		return true
	})
	return other == nil
}
