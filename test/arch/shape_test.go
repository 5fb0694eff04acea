package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

func TestFilesFunctionsAndInterfacesAreShort(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if ast.IsGenerated(f.ast) {
			continue
		}
		if f.size > maxFileLines {
			t.Errorf("%s has %d lines, at most %d", f.name, f.size, maxFileLines)
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				lines := f.set.Position(n.End()).Line - f.set.Position(n.Pos()).Line + 1
				if lines > maxFuncLines && !f.test {
					t.Errorf("%s: %s has %d lines, at most %d", f.set.Position(n.Pos()), n.Name.Name, lines, maxFuncLines)
				}
			case *ast.TypeSpec:
				if i, ok := n.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > maxMethods {
					t.Errorf("%s: interface %s has %d methods, at most %d", f.set.Position(n.Pos()), n.Name.Name, i.Methods.NumFields(), maxMethods)
				}
			}
			return true
		})
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, f := range sources(t) {
		if f.test && !strings.HasPrefix(f.pkg, "test/") {
			continue
		}
		documented[f.pkg] = documented[f.pkg] || f.ast.Doc != nil && len(f.ast.Doc.Text()) > 40
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no comment that says what it owns and promises", pkg)
		}
	}
}

func TestNoHiddenStateAndNoExits(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test || strings.HasPrefix(f.pkg, "test/") {
			continue
		}
		inCmd := strings.HasPrefix(f.pkg, "cmd/") || strings.HasPrefix(f.pkg, "deploy/")
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "init" && d.Recv == nil {
					t.Errorf("%s: init hides wiring; drivers are wired in cmd", f.set.Position(d.Pos()))
				}
				if !strings.HasPrefix(d.Name.Name, "Must") {
					refuseCalls(t, f, d, inCmd)
				}
			case *ast.GenDecl:
				refuseMutable(t, f, d)
			}
		}
	}
}

// refuseCalls refuses panic, os.Exit and context.Background where they don't belong.
func refuseCalls(t *testing.T, f file, d *ast.FuncDecl, inCmd bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			if fun.Name == "panic" {
				t.Errorf("%s: panic outside Must…", f.set.Position(n.Pos()))
			}
		case *ast.SelectorExpr:
			x, ok := fun.X.(*ast.Ident)
			if ok && !inCmd && (x.Name == "os" && fun.Sel.Name == "Exit" || x.Name == "context" && fun.Sel.Name == "Background") {
				t.Errorf("%s: %s.%s outside cmd", f.set.Position(n.Pos()), x.Name, fun.Sel.Name)
			}
		}
		return true
	})
}

// refuseMutable refuses package-level variables other than errors, compiled patterns,
// embedded files, what the linker sets, blank assertions, and tables that say they are read-only by their type.
func refuseMutable(t *testing.T, f file, d *ast.GenDecl) {
	if d.Tok != token.VAR {
		return
	}
	if d.Doc != nil && strings.Contains(commentText(d.Doc), "The linker sets") {
		return
	}
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		embedded := d.Doc != nil && strings.Contains(commentText(d.Doc), "go:embed") || v.Doc != nil && strings.Contains(commentText(v.Doc), "go:embed")
		for i, name := range v.Names {
			if name.Name == "_" || embedded || strings.HasPrefix(strings.ToLower(name.Name), "err") {
				continue
			}
			if i < len(v.Values) && constantLike(v.Values[i]) {
				continue
			}
			t.Errorf("%s: package-level variable %s: state belongs in a struct", f.set.Position(name.Pos()), name.Name)
		}
	}
}

func commentText(g *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range g.List {
		b.WriteString(c.Text)
	}
	return b.String()
}

// constantLike reports whether an initialiser makes a value that is only read: an
// array, a literal table, a table computed by a function of the package, a compiled
// pattern, a replacer, or a feature of the processor.
func constantLike(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		return constantLike(e.X)
	case *ast.CallExpr:
		called := e.Fun
		if generic, ok := called.(*ast.IndexExpr); ok {
			called = generic.X
		}
		if fun, ok := called.(*ast.Ident); ok {
			return fun.Name != "make" && fun.Name != "new"
		}
		sel, ok := e.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := sel.X.(*ast.Ident)
		return ok && (x.Name == "regexp" || x.Name == "strings" && sel.Sel.Name == "NewReplacer")
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.SelectorExpr)
		return ok && strings.HasPrefix(e.Sel.Name, "Has") && x != nil
	case *ast.BinaryExpr:
		return constantLike(e.X) && constantLike(e.Y)
	}
	return false
}

// TestOnlyPoliciesBranchOnLabels keeps compliance out of selection, packing and
// compaction: they may hand labels and flags on, to policies and to what they make, but
// nothing that they do may depend on one.
func TestOnlyPoliciesBranchOnLabels(t *testing.T) {
	t.Parallel()
	stages := []string{"pipeline/selection", "pipeline/compaction", "pipeline/pack"}
	for _, f := range sources(t) {
		if f.test || !slices.ContainsFunc(stages, func(stage string) bool { return f.pkg == stage || strings.HasPrefix(f.pkg, stage+"/") }) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			for _, decides := range deciding(n) {
				if at := readsLabel(decides); at.IsValid() {
					t.Errorf("%s: depends on a label or a flag of an item: only policies may", f.set.Position(at))
				}
			}
			return true
		})
	}
}

// TestOnlyPolicyAllows finds every place that makes a verdict which allows: policy's
// drivers, what reads them, and the governed exceptions, all below policies. A bypass would
// be one more.
func TestOnlyPolicyAllows(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test || strings.HasPrefix(f.pkg, "policies") || strings.HasPrefix(f.pkg, "test/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			var name, value ast.Expr
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				name, value = n.Key, n.Value
			case *ast.AssignStmt:
				if sel, ok := n.Lhs[0].(*ast.SelectorExpr); ok {
					name, value = sel.Sel, n.Rhs[0]
				}
			}
			field, ok := name.(*ast.Ident)
			if truth, is := value.(*ast.Ident); ok && is && field.Name == "Allow" && truth.Name == "true" {
				t.Errorf("%s: makes a verdict that allows: only policies may", f.set.Position(n.Pos()))
			}
			return true
		})
	}
}

func TestDependingOnALabelIsSeen(t *testing.T) {
	t.Parallel()
	for statement, bad := range map[string]bool{
		`if r.PII { f() }`: true,
		`if n := len(r.SecurityLabel); n > 0 { f() }`:     false, // the name is gone: a reader has to see this
		`if len(r.SecurityLabel) > 0 { f() }`:             true,
		`switch r.Credentials { case true: f() }`:         true,
		`switch { case f(r.PIIFlags): f() }`:              true,
		`for r.PII { f() }`:                               true,
		`x := a && r.PII`:                                 true,
		`x := !r.PII`:                                     true,
		`x := slices.Contains(r.Labels, "pii:high")`:      true,
		`x := strings.HasPrefix(r.SecurityLabel[0], "p")`: true,
		`x := policies.Resource{PIIFlags: r.PIIFlags}`:    false,
		`m.SecurityLabel = append(m.SecurityLabel, "x")`:  false,
		`x := z.Apply(tenant, &r, v.Redact)`:              false,
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc g() { "+statement+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		ast.Inspect(parsed, func(n ast.Node) bool {
			for _, decides := range deciding(n) {
				seen = seen || readsLabel(decides).IsValid()
			}
			return true
		})
		if seen != bad {
			t.Errorf("%s: seen %v, want %v", statement, seen, bad)
		}
	}
}

// deciding returns the expressions of n that something depends on.
func deciding(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.IfStmt:
		return []ast.Expr{n.Cond}
	case *ast.ForStmt:
		return []ast.Expr{n.Cond}
	case *ast.SwitchStmt:
		return []ast.Expr{n.Tag}
	case *ast.CaseClause:
		return n.List
	case *ast.BinaryExpr:
		return []ast.Expr{n.X, n.Y}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
			for _, asks := range []string{"Contains", "Has", "Equal", "Index", "Match", "Cut"} {
				if strings.HasPrefix(sel.Sel.Name, asks) {
					return n.Args
				}
			}
		}
	}
	return nil
}

// readsLabel returns where an expression reads a label or a flag of an item.
func readsLabel(e ast.Expr) (at token.Pos) {
	if e == nil {
		return token.NoPos
	}
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"SecurityLabel", "PIIFlags", "Credentials", "PII", "Labels"}, sel.Sel.Name) {
			at = sel.Sel.Pos()
		}
		return true
	})
	return at
}
