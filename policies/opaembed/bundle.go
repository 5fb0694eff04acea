package opaembed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/loader"
	"github.com/open-policy-agent/opa/v1/rego"
)

const root = "data.cmo.policy."

// bundle is one revision of the policy, compiled, with what is cached under it. It is
// safe for concurrent use.
type bundle struct {
	revision   string
	verdicts   rego.PreparedEvalQuery
	filter     rego.PreparedEvalQuery
	attributes rego.PreparedEvalQuery
	cacheable  bool
	cache      *cache
}

func loadBundle(ctx context.Context, files fs.FS, cacheEntries int) (*bundle, error) {
	revision, err := revisionOf(files)
	if err != nil {
		return nil, err
	}
	loaded, err := loader.NewFileLoader().WithFS(files).Filtered([]string{"."}, func(name string, info fs.FileInfo, _ int) bool {
		return !info.IsDir() && !belongs(name)
	})
	if err != nil {
		return nil, fmt.Errorf("load policy bundle: %w", err)
	}
	compiler := ast.NewCompiler().WithUnsafeBuiltins(unsafeBuiltins())
	if compiler.Compile(loaded.ParsedModules()); compiler.Failed() {
		return nil, fmt.Errorf("compile policy bundle: %w", compiler.Errors)
	}
	for _, rule := range []string{"verdicts", "filter"} {
		if len(compiler.GetRules(ast.MustParseRef(root+rule))) == 0 {
			return nil, fmt.Errorf("compile policy bundle: no rule %q", root+rule)
		}
	}
	store, err := loaded.Store()
	if err != nil {
		return nil, fmt.Errorf("load policy data: %w", err)
	}
	b := &bundle{revision: revision, cache: newCache(cacheEntries)}
	prepare := func(rule string) rego.PreparedEvalQuery {
		if err != nil {
			return rego.PreparedEvalQuery{}
		}
		var q rego.PreparedEvalQuery
		q, err = rego.New(rego.Query(root+rule), rego.Compiler(compiler), rego.Store(store),
			rego.StrictBuiltinErrors(true), rego.GenerateJSON(keepTerm)).PrepareForEval(ctx)
		return q
	}
	b.verdicts, b.filter, b.attributes = prepare("verdicts"), prepare("filter"), prepare("attributes")
	cacheable := prepare("cacheable")
	if err != nil {
		return nil, fmt.Errorf("prepare policy bundle: %w", err)
	}
	answer, err := evaluate(ctx, cacheable, ast.NewObject())
	if err != nil {
		return nil, fmt.Errorf("evaluate policy bundle: %w", err)
	}
	b.cacheable = answer != nil && answer.Value.Compare(ast.Boolean(true)) == 0
	return b, nil
}

// keepTerm leaves a result as the term it is.
func keepTerm(t *ast.Term, _ *rego.EvalContext) (any, error) { return t, nil }

// evaluate returns the value of q's only expression, nil when it is undefined.
func evaluate(ctx context.Context, q rego.PreparedEvalQuery, input ast.Value, options ...rego.EvalOption) (*ast.Term, error) {
	results, err := q.Eval(ctx, append(options, rego.EvalParsedInput(input))...)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, nil
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		return nil, fmt.Errorf("%d results where one is due", len(results))
	}
	term, ok := results[0].Expressions[0].Value.(*ast.Term)
	if !ok {
		return nil, fmt.Errorf("result is %T", results[0].Expressions[0].Value)
	}
	return term, nil
}

// belongs reports whether the file is part of the bundle; tests are not.
func belongs(name string) bool {
	switch base := path.Base(name); {
	case strings.HasSuffix(base, ".rego"):
		return !strings.HasSuffix(base, "_test.rego")
	case base == "data.json", base == "data.yaml", base == "data.yml":
		return true
	}
	return false
}

// revisionOf returns the first 16 hex digits of the SHA-256 over the bundle's files, in
// lexical order, each as the length of its path, its path, its length and its bytes.
func revisionOf(files fs.FS) (string, error) {
	sum, count := sha256.New(), 0
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !belongs(name) {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		count++
		var head []byte
		head = append(binary.BigEndian.AppendUint64(head, uint64(len(name))), name...)
		head = append(binary.BigEndian.AppendUint64(head, uint64(len(body))), body...)
		_, err = sum.Write(head)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read policy bundle: %w", err)
	}
	if count == 0 {
		return "", fmt.Errorf("read policy bundle: no .rego file")
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// unsafeBuiltins are those whose answer depends on more than bundle and input.
func unsafeBuiltins() map[string]struct{} {
	return map[string]struct{}{
		ast.HTTPSend.Name: {}, ast.NetLookupIPAddr.Name: {}, ast.OPARuntime.Name: {},
		ast.RandIntn.Name: {}, ast.UUIDRFC4122.Name: {}, ast.RegoParseModule.Name: {},
	}
}
