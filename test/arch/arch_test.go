// Package arch holds the house to its plan: which package may import which, how long
// a file, a function and an interface may be, and that every package says what it is.
// It reads the source with go/parser, so a cached test result can't be stale.
package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root          = "../.."
	module        = "satchel"
	maxFileLines  = 600
	maxFuncLines  = 100
	maxMethods    = 8
	natsModule    = "github.com/nats-io/nats.go"
	serverPackage = "github.com/nats-io/nats-server"
)

// level returns a package's row in the plan, and false for one that has no row.
func level(pkg string) (int, bool) {
	switch {
	case pkg == "schemas", pkg == "pipeline/scope", pkg == "pipeline/language", strings.HasPrefix(pkg, "pipeline/infra/"):
		return 0, true
	case pkg == "pipeline/fill": // it knows no item
		return 0, true
	case pkg == "policies", pkg == "policies/rego", pkg == "pipeline/model", pkg == "pipeline/token", pkg == "pipeline/candidate", pkg == "pipeline/pii", pkg == "pipeline/meter", pkg == "pipeline/meter/alert":
		return 1, true
	case strings.HasPrefix(pkg, "pipeline/model/internal/"):
		return 0, true
	case strings.HasPrefix(pkg, "pipeline/store/internal/"), isPort(pkg):
		return 1, true
	case pkg == "policies/exception", pkg == "policies/hold": // they keep what they govern in the log
		return 2, true
	case strings.HasPrefix(pkg, "pipeline/store/"), strings.HasPrefix(pkg, "pipeline/model/"), strings.HasPrefix(pkg, "policies/"):
		return 5, true
	case isStage(pkg):
		return 2, true
	case pkg == "pipeline":
		return 3, true
	case pkg == "pipeline/op":
		return 4, true
	case pkg == "worker/transport":
		return 1, true
	case pkg == "worker/follow", pkg == "worker/metrics":
		return 2, true
	case strings.HasPrefix(pkg, "worker/"):
		return 3, true
	case pkg == "worker":
		return 4, true
	case pkg == "jetstream", strings.HasPrefix(pkg, "jetstream/"):
		return 5, true
	case strings.HasPrefix(pkg, "cmd/"), strings.HasPrefix(pkg, "deploy/"), pkg == "emitters", strings.HasPrefix(pkg, "emitters/"), strings.HasPrefix(pkg, "test/"):
		return 6, true
	}
	return 0, false
}

// isPort reports whether pkg is one of the five ports of stores. Their drivers are a package a server.
func isPort(pkg string) bool {
	return slices.Contains([]string{"eventlog", "items", "keyword", "vector", "graph"}, strings.TrimPrefix(pkg, "pipeline/store/"))
}

func isStage(pkg string) bool {
	for _, stage := range []string{"write", "relevance", "selection", "passage", "pack", "compaction", "isolation"} {
		if pkg == "pipeline/"+stage || strings.HasPrefix(pkg, "pipeline/"+stage+"/") {
			return true
		}
	}
	return false
}

// isEarlier reports whether package a comes before package b in their flow, so that b may import a.
func isEarlier(a, b string) bool {
	for parent, steps := range map[string][]string{
		"":                    {"pipeline/op", "worker"},
		"pipeline/selection/": {"filter", "retrieve", "rank", "defend"},
		"worker/":             {"authorship", "erasure", "projection", "ingest", "relay", "service"},
	} {
		place := func(pkg string) int {
			name, ok := strings.CutPrefix(pkg, parent)
			if !ok {
				return -1
			}
			return slices.Index(steps, name)
		}
		if place(a) >= 0 && place(a) < place(b) {
			return true
		}
	}
	return false
}

// isSuite reports whether pkg is a conformance suite, which only tests import. What suites share is not one.
func isSuite(pkg string) bool {
	return strings.HasPrefix(pkg, "test/conformance/") && !strings.HasPrefix(pkg, "test/conformance/internal/")
}

// implements reports whether target is a port that a driver may implement.
func implements(driver, target string) bool {
	switch {
	case strings.HasPrefix(driver, "policies/"):
		return target == "policies" || target == "policies/rego"
	case strings.HasPrefix(driver, "pipeline/model/"):
		return target == "pipeline/model"
	}
	return isPort(target) || strings.HasPrefix(target, "pipeline/store/internal/")
}

type file struct {
	pkg  string // folder below the module
	name string
	test bool
	ast  *ast.File
	set  *token.FileSet
	size int
}

func sources(t *testing.T) []file {
	t.Helper()
	var files []file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != root || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, p, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		files = append(files, file{pkg: filepath.ToSlash(filepath.Dir(rel)), name: filepath.ToSlash(rel), test: strings.HasSuffix(p, "_test.go"),
			ast: parsed, set: set, size: strings.Count(string(src), "\n")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("found %d Go files: the walk does not see the module", len(files))
	}
	return files
}

func (f *file) imports() []string {
	var list []string
	for _, spec := range f.ast.Imports {
		list = append(list, strings.Trim(spec.Path.Value, `"`))
	}
	return list
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		from, ok := level(f.pkg)
		if !ok {
			t.Errorf("%s: package %s has no row in the plan", f.name, f.pkg)
			continue
		}
		for _, imp := range f.imports() {
			target, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			to, ok := level(target)
			if !ok {
				t.Errorf("%s imports %s, which has no row in the plan", f.name, target)
				continue
			}
			if problem := refused(f.pkg, target, from, to); problem != "" {
				t.Errorf("%s imports %s: %s", f.name, target, problem)
			}
		}
	}
}

// refused says why package from may not import package to, "" when it may.
func refused(pkg, target string, from, to int) string {
	part := strings.HasPrefix(target, pkg+"/") || strings.HasPrefix(pkg, target+"/")
	switch {
	case isSuite(target):
		return "a conformance suite is for tests"
	case from == 6:
		if pkg == "emitters/hook" && target == "pipeline/pii" { // what masks before anything is published
			return ""
		}
		if strings.HasPrefix(pkg, "emitters") && (target == "jetstream/embedded" || to > 0 && to < 5 || to == 5 && target != "jetstream" && target != "jetstream/cloudevent") {
			return "emitters stay light: schemas and jetstream only"
		}
		if strings.HasPrefix(target, "cmd/internal/lab/") && pkg != "cmd/satchel-lab" && !strings.HasPrefix(pkg, "cmd/internal/lab/") {
			return "satchel links no measurements: only satchel-lab has them"
		}
		return ""
	case from == 5 && strings.HasPrefix(pkg, "jetstream"):
		if to == 0 || target == "worker/transport" || strings.HasPrefix(target, "jetstream") {
			return ""
		}
		return "jetstream imports schemas, scope and worker/transport only"
	case from == 5:
		if to == 0 || implements(pkg, target) {
			return ""
		}
		return "a driver imports its port, scope and schemas only"
	case pkg == "pipeline/language" && target == "schemas": // it knows the spans
		return ""
	case part && from == to || isEarlier(target, pkg):
		return ""
	case strings.HasPrefix(target, "pipeline/store/internal/") && from <= 1:
		return ""
	case to >= from:
		return "imports point down, and a row never imports its own row"
	}
	return ""
}

func TestWhoImportsNATS(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		for _, imp := range f.imports() {
			client := imp == natsModule || strings.HasPrefix(imp, natsModule+"/")
			if client && !f.test && !allowedNATS(f) {
				t.Errorf("%s imports %s: only jetstream, emitters, cmd and tests may", f.name, imp)
			}
			if strings.HasPrefix(imp, serverPackage) && f.pkg != "jetstream/embedded" && !f.test && !strings.HasPrefix(f.pkg, "test/") {
				t.Errorf("%s imports %s: only jetstream/embedded may", f.name, imp)
			}
		}
	}
}

func allowedNATS(f file) bool {
	if f.pkg == "worker" && f.ast.Name.Name == "worker_test" { // over a real server, from outside
		return true
	}
	for _, p := range []string{"jetstream", "emitters", "cmd", "test"} {
		if f.pkg == p || strings.HasPrefix(f.pkg, p+"/") {
			return true
		}
	}
	return false
}

// TestEmittersStayLight follows the closure of emitters inside the module and refuses
// a server, a policy engine or a database in an agent's binary.
func TestEmittersStayLight(t *testing.T) {
	t.Parallel()
	imports := map[string]map[string]bool{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		if imports[f.pkg] == nil {
			imports[f.pkg] = map[string]bool{}
		}
		for _, imp := range f.imports() {
			imports[f.pkg][imp] = true
		}
	}
	seen := map[string]bool{}
	queue := []string{"emitters", "emitters/hook"}
	for len(queue) > 0 {
		pkg := queue[0]
		queue = queue[1:]
		if seen[pkg] {
			continue
		}
		seen[pkg] = true
		for imp := range imports[pkg] {
			for _, heavy := range []string{serverPackage, "github.com/open-policy-agent", "modernc.org/sqlite", "github.com/jackc/pgx", "github.com/qdrant", "github.com/neo4j", "github.com/tiktoken-go"} {
				if strings.HasPrefix(imp, heavy) {
					t.Errorf("emitters reach %s through %s", imp, pkg)
				}
			}
			if target, ours := strings.CutPrefix(imp, module+"/"); ours {
				queue = append(queue, target)
			}
		}
	}
}

// TestScopesAreMadeInFewPlaces keeps a scope from being made out of a payload.
func TestScopesAreMadeInFewPlaces(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.test || f.pkg == "pipeline/scope" || f.pkg == "worker" || strings.HasPrefix(f.pkg, "worker/") || strings.HasPrefix(f.pkg, "cmd/") || strings.HasPrefix(f.pkg, "test/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "scope" && (sel.Sel.Name == "New" || sel.Sel.Name == "System") {
				t.Errorf("%s: scope.%s may be called by cmd, worker and tests only", f.set.Position(n.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
}

// TestOnlyAppImportsDrivers keeps the choice of drivers in one package, and package main small.
func TestOnlyAppImportsDrivers(t *testing.T) {
	t.Parallel()
	const composition = "cmd/internal/app"
	main := 0
	for _, f := range sources(t) {
		if f.test || !strings.HasPrefix(f.pkg, "cmd/") || f.pkg == composition {
			continue
		}
		if f.pkg == "cmd/satchel" {
			main++
		}
		for _, imp := range f.imports() {
			target, ours := strings.CutPrefix(imp, module+"/")
			if to, ok := level(target); ours && ok && to == 5 && !strings.HasPrefix(target, "jetstream") {
				t.Errorf("%s imports %s: only %s imports drivers", f.name, target, composition)
			}
		}
	}
	if main > 3 {
		t.Errorf("package main has %d files, at most 3", main)
	}
}
