package pack

import (
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// ruleSet has a bit for each of the first 64 rules.
type ruleSet uint64

// Rules that hold for a text and its state are remembered, of those that read nothing else of an item: the same items
// are shown again and again.
const rulesBytes = 1 << 20 // of a generation

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
