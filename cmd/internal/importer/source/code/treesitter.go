package code

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// language is a grammar of the module; the numbers are those of module/outline.c.
type language uint32

const (
	python language = iota
	javaScript
	typeScript
	tsx
	java
	rust
	cLanguage
	cpp
	ruby
	php
)

// maxPages is the memory that parsing may take, in pages of 64 KiB: 512 MiB.
const maxPages = 8192

// errParse is returned when a text cannot be parsed in the memory and the time there are.
var errParse = errors.New("text cannot be parsed")

//go:embed outline.wasm.gz
var compressed []byte

// capture is a node that a query captured.
type capture struct {
	Match      int    // captures of one match have the same number; from 0, growing
	Name       string // without "@"
	Start, End int    // bytes, half-open
	Row        int    // line of Start, from 0
}

// query is a query that the running instance has compiled.
type query struct {
	names  []string // of its captures
	handle uint64
}

type queryKey struct {
	language language
	text     string
}

// treeParser runs tree-sitter and its grammars without cgo: the C library, ten grammars and outline.c are one
// WebAssembly module (outline.wasm.gz, made by module/build.sh) that wazero runs. It promises the captures of a query
// over a tree that tree-sitter finishes for every text; a text that takes more memory or time than it may have is an
// error of that text alone. It is not safe for concurrent use.
type treeParser struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	module   api.Module
	queries  map[queryKey]*query
	longest  time.Duration // 0: as the file is long
}

// How long a file may take. A grammar that finds its way in no text tries ever more of them: eight times the text takes
// 64 times the time. Of 11,780 real files in Python none takes more than 9 ms per KiB.
const (
	shortestRun = time.Second
	runPerKiB   = 20 * time.Millisecond
	longestRun  = 10 * time.Second
)

// patience is how long a file of n bytes may take.
func (p *treeParser) patience(n int) time.Duration {
	if p.longest > 0 {
		return p.longest
	}
	return min(longestRun, shortestRun+time.Duration(n>>10)*runPerKiB)
}

// openParser starts the module. The treeParser MUST be closed.
func openParser(ctx context.Context) (*treeParser, error) {
	var wasm []byte
	zipped, err := gzip.NewReader(bytes.NewReader(compressed))
	if err == nil {
		wasm, err = io.ReadAll(zipped)
	}
	if err != nil {
		return nil, fmt.Errorf("open parsers: %w", err)
	}
	p := &treeParser{runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(maxPages).WithCloseOnContextDone(true))}
	_, err = wasi_snapshot_preview1.Instantiate(ctx, p.runtime)
	if err == nil {
		p.compiled, err = p.runtime.CompileModule(ctx, wasm)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open parsers: %w", err), p.close(ctx))
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.close(ctx))
	}
	return p, nil
}

// start makes a new instance, which has compiled no query.
func (p *treeParser) start(ctx context.Context) (err error) {
	if p.module != nil {
		if err := p.module.Close(ctx); err != nil {
			return fmt.Errorf("stop parsers: %w", err)
		}
	}
	p.queries = map[queryKey]*query{}
	p.module, err = p.runtime.InstantiateModule(ctx, p.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return fmt.Errorf("start parsers: %w", err)
	}
	return nil
}

// close frees the module.
func (p *treeParser) close(ctx context.Context) error { return p.runtime.Close(ctx) }

// captureName finds the captures of a query; tree-sitter numbers them as they first appear.
var captureName = regexp.MustCompile(`@([a-z]+)`)

// compile returns a query, whose capture names are lower-case letters, as the running instance has it.
func (p *treeParser) compile(ctx context.Context, l language, text string) (*query, error) {
	key := queryKey{l, text}
	if q := p.queries[key]; q != nil {
		return q, nil
	}
	q := &query{}
	for _, m := range captureName.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(q.names, m[1]) {
			q.names = append(q.names, m[1])
		}
	}
	at, err := p.pass(ctx, []byte(text))
	if err != nil {
		return nil, err
	}
	q.handle, err = p.call(ctx, "compile", uint64(l), at, uint64(len(text)))
	if err != nil {
		return nil, err
	}
	if q.handle == 0 {
		return nil, fmt.Errorf("compile query of grammar %d: is not a query for it", l)
	}
	p.queries[key] = q
	_, err = p.call(ctx, "release", at)
	return q, err
}

// run parses source and returns the captures of a query in it, match by match. What takes too long fails with errParse,
// as what cannot be parsed.
func (p *treeParser) run(ctx context.Context, l language, text string, source []byte) ([]capture, error) {
	q, err := p.compile(ctx, l, text)
	if err != nil {
		return nil, err
	}
	limited, stop := context.WithTimeout(ctx, p.patience(len(source)))
	defer stop()
	captures, err := p.captures(limited, l, q, source)
	if err == nil || ctx.Err() != nil {
		return captures, errors.Join(err, ctx.Err())
	}
	if restart := p.start(ctx); restart != nil { // a trap leaves the instance in pieces
		return nil, errors.Join(err, restart)
	}
	return nil, fmt.Errorf("%w: %w", errParse, err)
}

// captures parses source. outline.c writes five numbers a capture.
func (p *treeParser) captures(ctx context.Context, l language, q *query, source []byte) ([]capture, error) {
	at, err := p.pass(ctx, source)
	if err != nil {
		return nil, err
	}
	found, err := p.call(ctx, "run", uint64(l), q.handle, at, uint64(len(source)))
	if err != nil {
		return nil, err
	}
	const fields = 5
	n := int(int32(found))
	if n < 0 {
		return nil, errors.New("out of memory")
	}
	if _, err := p.call(ctx, "release", at); err != nil {
		return nil, err
	}
	at, err = p.call(ctx, "result")
	if err != nil {
		return nil, err
	}
	raw, ok := p.module.Memory().Read(uint32(at), uint32(n*fields*4))
	if !ok {
		return nil, errors.New("result lies outside the module's memory")
	}
	captures := make([]capture, n)
	for i := range captures {
		var v [fields]int
		for j := range v {
			v[j] = int(binary.LittleEndian.Uint32(raw[(i*fields+j)*4:]))
		}
		if v[1] >= len(q.names) {
			return nil, errors.New("result has an unknown capture")
		}
		captures[i] = capture{Match: v[0], Name: q.names[v[1]], Start: v[2], End: v[3], Row: v[4]}
	}
	return captures, nil
}

// pass copies b into the module and returns where it is.
func (p *treeParser) pass(ctx context.Context, b []byte) (uint64, error) {
	at, err := p.call(ctx, "allocate", uint64(len(b)))
	if err != nil {
		return 0, err
	}
	if at == 0 || !p.module.Memory().Write(uint32(at), b) {
		return 0, errors.New("out of memory")
	}
	return at, nil
}

func (p *treeParser) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	results, err := p.module.ExportedFunction(name).Call(ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("call %s: %w", name, err)
	}
	if len(results) == 0 {
		return 0, nil
	}
	return results[0], nil
}
