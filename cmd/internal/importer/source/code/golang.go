package code

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// goUnits lists the functions, methods, types, constants and variables of a Go file, and
// the package when it is documented here. What go/parser understands of a broken file is listed.
func goUnits(name string, source []byte) []Unit {
	set := token.NewFileSet()
	file, _ := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil || file.Name == nil || file.Name.Name == "" {
		return nil
	}
	g := goFile{set: set, source: source, path: name, pkg: file.Name.Name}
	if file.Doc != nil {
		g.add(Unit{Type: "package", Name: g.pkg, QualifiedName: g.pkg, Doc: file.Doc.Text(), Signature: "package " + g.pkg}, file.Doc.Pos(), file.Name.End(), token.NoPos)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			switch d.Tok {
			case token.TYPE:
				g.types(d)
			case token.CONST, token.VAR:
				g.values(d)
			}
		}
	}
	return g.units
}

type goFile struct {
	set    *token.FileSet
	source []byte
	path   string
	pkg    string
	units  []Unit
}

// add fills in where the unit stands; its signature ends at body when that is set.
func (g *goFile) add(u Unit, start, end, body token.Pos) {
	from, to := g.offset(start), g.offset(end)
	if from < 0 || to > len(g.source) || from >= to {
		return
	}
	u.Path, u.Language = g.path, "go"
	u.Text = string(g.source[from:to])
	u.StartLine, u.EndLine = g.set.Position(start).Line, g.set.Position(end).Line
	u.Doc = strings.TrimSpace(u.Doc)
	if body.IsValid() {
		u.Signature = strings.TrimSpace(u.Signature)
	}
	g.units = append(g.units, u)
}

func (g *goFile) offset(p token.Pos) int {
	if !p.IsValid() {
		return -1
	}
	return g.set.Position(p).Offset
}

func (g *goFile) text(from, to token.Pos) string {
	a, b := g.offset(from), g.offset(to)
	if a < 0 || b > len(g.source) || a >= b {
		return ""
	}
	return string(g.source[a:b])
}

func (g *goFile) function(d *ast.FuncDecl) {
	u := Unit{Type: "function", Name: d.Name.Name, QualifiedName: g.pkg + "." + d.Name.Name, Doc: d.Doc.Text(), Signature: g.text(d.Pos(), d.Type.End())}
	if d.Recv != nil && len(d.Recv.List) > 0 {
		if of := receiver(d.Recv.List[0].Type); of != "" {
			u.Type, u.Parent = "method", g.pkg+"."+of
			u.QualifiedName = u.Parent + "." + d.Name.Name
		}
	}
	g.add(u, d.Pos(), d.End(), d.Type.End())
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.ParenExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	}
	return ""
}

func (g *goFile) types(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		u := Unit{Type: "type", Name: s.Name.Name, QualifiedName: g.pkg + "." + s.Name.Name, Doc: s.Doc.Text()}
		start, end := s.Pos(), s.End()
		if !d.Lparen.IsValid() {
			start, end = d.Pos(), d.End()
			u.Doc = d.Doc.Text()
		}
		if u.Doc == "" {
			u.Doc = s.Comment.Text()
		}
		var head token.Pos
		switch t := s.Type.(type) {
		case *ast.StructType:
			u.Type, head = "struct", t.Fields.Pos()
		case *ast.InterfaceType:
			u.Type, head = "interface", t.Methods.Pos()
		default:
			head = s.End()
		}
		u.Signature = strings.TrimSpace(strings.TrimPrefix(g.text(s.Pos(), head), "type "))
		u.Signature = "type " + u.Signature
		g.add(u, start, end, head)
	}
}

// values adds a declaration of constants or variables whole, or each of a large one.
func (g *goFile) values(d *ast.GenDecl) {
	whole := span{g.offset(d.Pos()), g.offset(d.End())}
	if !d.Lparen.IsValid() || whole.end-whole.start <= maxGroup {
		g.value(d, d.Specs, d.Doc, d.Pos(), d.End())
		return
	}
	for _, spec := range d.Specs {
		if s, ok := spec.(*ast.ValueSpec); ok {
			g.value(d, []ast.Spec{s}, s.Doc, s.Pos(), s.End())
		}
	}
}

// value adds a unit of some names; those that are all blank, which only assert, are none.
func (g *goFile) value(d *ast.GenDecl, specs []ast.Spec, doc *ast.CommentGroup, start, end token.Pos) {
	var names []string
	for _, spec := range specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, n := range s.Names {
			if n.Name != "_" {
				names = append(names, n.Name)
			}
		}
		if s.Comment != nil && s.Comment.End() > end {
			end = s.Comment.End()
		}
	}
	if len(names) == 0 {
		return
	}
	u := Unit{Type: constantType, Name: names[0], QualifiedName: g.pkg + "." + names[0], Doc: doc.Text(), Signature: d.Tok.String() + " " + listed(names)}
	if d.Tok == token.VAR {
		u.Type = variableType
	}
	if line, _, more := strings.Cut(g.text(start, specs[len(specs)-1].End()), "\n"); !more && len(line) <= maxLine {
		u.Signature = d.Tok.String() + " " + strings.TrimPrefix(line, d.Tok.String()+" ")
	}
	g.add(u, start, end, token.NoPos)
}
