package code

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// goUnits lists the functions, methods, types, constants and variables of a Go file, and the package when it is
// documented here. What go/parser understands of a broken file is listed.
func goUnits(name string, source []byte) []Unit {
	set := token.NewFileSet()
	file, _ := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil || file.Name == nil || file.Name.Name == "" {
		return nil
	}
	g := goFile{set: set, source: source, path: name, pkg: file.Name.Name}
	if file.Doc != nil {
		g.add(Unit{Type: "package", Name: g.pkg, QualifiedName: g.pkg, Doc: file.Doc.Text(), Signature: "package " + g.pkg}, file.Doc.Pos(), file.Name.End())
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.addFunction(d)
		case *ast.GenDecl:
			switch d.Tok {
			case token.TYPE:
				g.addTypes(d)
			case token.CONST, token.VAR:
				g.addValues(d)
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

// add adds a unit with what it says of itself and where it is.
func (g *goFile) add(u Unit, start, end token.Pos) {
	u.Text = g.text(start, end)
	if u.Text == "" {
		return
	}
	u.Path = g.path
	u.Language = "go"
	u.StartLine = g.set.Position(start).Line
	u.EndLine = g.set.Position(end).Line
	u.Doc = strings.TrimSpace(u.Doc)
	u.Signature = strings.TrimSpace(u.Signature)
	if u.QualifiedName == "" {
		u.QualifiedName = g.pkg + "." + u.Name
	}
	g.units = append(g.units, u)
}

// text is the source between two places, "" where there is none.
func (g *goFile) text(from, to token.Pos) string {
	a := g.set.Position(from).Offset
	b := g.set.Position(to).Offset
	if !from.IsValid() || b > len(g.source) || a >= b {
		return ""
	}
	return string(g.source[a:b])
}

func (g *goFile) addFunction(d *ast.FuncDecl) {
	u := Unit{Type: "function", Name: d.Name.Name, Doc: d.Doc.Text(), Signature: g.text(d.Pos(), d.Type.End())}
	if d.Recv != nil && len(d.Recv.List) > 0 {
		if of := receiverOf(d.Recv.List[0].Type); of != "" {
			u.Type = "method"
			u.Parent = g.pkg + "." + of
			u.QualifiedName = u.Parent + "." + u.Name
		}
	}
	g.add(u, d.Pos(), d.End())
}

// receiverOf is the name of a receiver's type.
func receiverOf(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return receiverOf(t.X)
	case *ast.ParenExpr:
		return receiverOf(t.X)
	case *ast.IndexExpr:
		return receiverOf(t.X)
	case *ast.IndexListExpr:
		return receiverOf(t.X)
	}
	return ""
}

func (g *goFile) addTypes(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		u := Unit{Type: "type", Name: s.Name.Name, Doc: s.Doc.Text()}
		var whole ast.Node = s
		if !d.Lparen.IsValid() {
			whole = d
			u.Doc = d.Doc.Text()
		}
		u.Doc = cmp.Or(u.Doc, s.Comment.Text())
		head := s.End()
		switch t := s.Type.(type) {
		case *ast.StructType:
			u.Type = "struct"
			head = t.Fields.Pos()
		case *ast.InterfaceType:
			u.Type = "interface"
			head = t.Methods.Pos()
		}
		u.Signature = "type " + g.text(s.Pos(), head)
		g.add(u, whole.Pos(), whole.End())
	}
}

// addValues adds a declaration of constants or variables whole, or each of a large one.
func (g *goFile) addValues(d *ast.GenDecl) {
	if !d.Lparen.IsValid() || len(g.text(d.Pos(), d.End())) <= maxGroup {
		g.addValue(d, d.Specs, d.Doc, d.Pos(), d.End())
		return
	}
	for _, spec := range d.Specs {
		if s, ok := spec.(*ast.ValueSpec); ok {
			g.addValue(d, []ast.Spec{s}, s.Doc, s.Pos(), s.End())
		}
	}
}

// addValue adds a unit of some names; those that are all blank, which only assert, are none.
func (g *goFile) addValue(d *ast.GenDecl, specs []ast.Spec, doc *ast.CommentGroup, start, end token.Pos) {
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
		if s.Comment != nil {
			end = max(end, s.Comment.End())
		}
	}
	if len(names) == 0 {
		return
	}
	u := Unit{Type: constantType, Name: names[0], Doc: doc.Text(), Signature: d.Tok.String() + " " + listNames(names)}
	if d.Tok == token.VAR {
		u.Type = variableType
	}
	line, _, more := strings.Cut(g.text(start, specs[len(specs)-1].End()), "\n")
	if !more && len(line) <= maxLine {
		u.Signature = d.Tok.String() + " " + strings.TrimPrefix(line, d.Tok.String()+" ")
	}
	g.add(u, start, end)
}
