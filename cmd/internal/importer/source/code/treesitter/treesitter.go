// Package treesitter parses source text with tree-sitter and its grammars, without cgo:
// the C library, ten grammars and outline.c are one WebAssembly module that wazero runs.
//
// It owns the module (outline.wasm.gz, made by module/build.sh) and its calls. It promises the
// captures of a query over a tree that tree-sitter always finishes, whatever the text
// is; a text that takes more memory than the module may have is an error of that text
// alone. A [Parser] is not safe for concurrent use.
package treesitter

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
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Language is a grammar of the module; the numbers are those of module/outline.c.
type Language uint32

// The grammars.
const (
	Python Language = iota
	JavaScript
	TypeScript
	TSX
	Java
	Rust
	C
	CPP
	Ruby
	PHP
)

// maxPages is the memory that parsing may take, in pages of 64 KiB: 512 MiB.
const maxPages = 8192

// ErrParse is returned when a text cannot be parsed in the memory there is.
var ErrParse = errors.New("text cannot be parsed")

//go:embed outline.wasm.gz
var compressed []byte

// Capture is a node that a query captured.
type Capture struct {
	Match      int    // captures of one match have the same number; from 0, growing
	Name       string // without "@"
	Start, End int    // bytes, half-open
	Row        int    // line of Start, from 0
}

// Query is a compiled query.
type Query struct {
	language Language
	text     string
	names    []string
	handle   uint64
	run      int // the instance that compiled it
}

// Parser holds a running module.
type Parser struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	module   api.Module
	run      int           // instances started
	longest  time.Duration // 0: as the file is long
}

// How long a file may take. A grammar that finds its way in no text tries ever more of them: eight times the text takes 64
// times the time. Of 11,780 real files in Python none takes more than 9 ms per KiB.
const (
	shortestRun = time.Second
	runPerKiB   = 20 * time.Millisecond
	longestRun  = 10 * time.Second
)

// patience is how long a file of n bytes may take.
func (p *Parser) patience(n int) time.Duration {
	if p.longest > 0 {
		return p.longest
	}
	return min(longestRun, shortestRun+time.Duration(n>>10)*runPerKiB)
}

// Open starts the module. The Parser MUST be closed.
func Open(ctx context.Context) (*Parser, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("open parsers: %w", err)
	}
	wasm, err := io.ReadAll(zipped)
	if err != nil {
		return nil, fmt.Errorf("open parsers: %w", err)
	}
	p := &Parser{runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(maxPages).WithCloseOnContextDone(true))}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, p.runtime); err != nil {
		return nil, errors.Join(fmt.Errorf("open parsers: %w", err), p.Close(ctx))
	}
	if p.compiled, err = p.runtime.CompileModule(ctx, wasm); err != nil {
		return nil, errors.Join(fmt.Errorf("open parsers: %w", err), p.Close(ctx))
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

// start makes a new instance; queries compiled by an older one are compiled again.
func (p *Parser) start(ctx context.Context) error {
	if p.module != nil {
		if err := p.module.Close(ctx); err != nil {
			return fmt.Errorf("stop parsers: %w", err)
		}
	}
	var err error
	p.module, err = p.runtime.InstantiateModule(ctx, p.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return fmt.Errorf("start parsers: %w", err)
	}
	p.run++
	return nil
}

// Close frees the module.
func (p *Parser) Close(ctx context.Context) error { return p.runtime.Close(ctx) }

// captureName finds the captures of a query; tree-sitter numbers them as they first appear.
var captureName = regexp.MustCompile(`@([a-z]+)`)

// Query compiles a query whose capture names are lower-case letters.
func (p *Parser) Query(ctx context.Context, language Language, text string) (*Query, error) {
	q := &Query{language: language, text: text}
	seen := map[string]bool{}
	for _, m := range captureName.FindAllStringSubmatch(text, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			q.names = append(q.names, m[1])
		}
	}
	return q, p.compile(ctx, q)
}

func (p *Parser) compile(ctx context.Context, q *Query) error {
	at, err := p.pass(ctx, []byte(q.text))
	if err != nil {
		return err
	}
	handle, err := p.call(ctx, "compile", uint64(q.language), at, uint64(len(q.text)))
	if err != nil {
		return err
	}
	if handle == 0 {
		return fmt.Errorf("compile query of grammar %d: is not a query for it", q.language)
	}
	q.handle, q.run = handle, p.run
	_, err = p.call(ctx, "release", at)
	return err
}

// Run parses source and returns the captures of q in it, match by match. What takes too long fails with
// ErrParse, as what cannot be parsed.
func (p *Parser) Run(ctx context.Context, q *Query, source []byte) ([]Capture, error) {
	limited, stop := context.WithTimeout(ctx, p.patience(len(source)))
	defer stop()
	captures, err := p.captures(limited, q, source)
	if err == nil || ctx.Err() != nil {
		return captures, errors.Join(err, ctx.Err())
	}
	if restart := p.start(ctx); restart != nil { // a trap leaves the instance in pieces
		return nil, errors.Join(err, restart)
	}
	return nil, fmt.Errorf("%w: %w", ErrParse, err)
}

func (p *Parser) captures(ctx context.Context, q *Query, source []byte) ([]Capture, error) {
	if q.run != p.run {
		if err := p.compile(ctx, q); err != nil {
			return nil, err
		}
	}
	at, err := p.pass(ctx, source)
	if err != nil {
		return nil, err
	}
	n, err := p.call(ctx, "run", uint64(q.language), q.handle, at, uint64(len(source)))
	if err != nil {
		return nil, err
	}
	if int32(n) < 0 {
		return nil, errors.New("out of memory")
	}
	if _, err := p.call(ctx, "release", at); err != nil {
		return nil, err
	}
	return p.result(ctx, q, int(int32(n)))
}

// result reads what outline.c wrote: five numbers a capture.
func (p *Parser) result(ctx context.Context, q *Query, n int) ([]Capture, error) {
	const fields = 5
	at, err := p.call(ctx, "result")
	if err != nil {
		return nil, err
	}
	raw, ok := p.module.Memory().Read(uint32(at), uint32(n*fields*4))
	if !ok {
		return nil, errors.New("result lies outside the module's memory")
	}
	captures := make([]Capture, n)
	for i := range captures {
		var v [fields]int
		for j := range v {
			v[j] = int(binary.LittleEndian.Uint32(raw[(i*fields+j)*4:]))
		}
		if v[1] >= len(q.names) {
			return nil, errors.New("result has an unknown capture")
		}
		captures[i] = Capture{Match: v[0], Name: q.names[v[1]], Start: v[2], End: v[3], Row: v[4]}
	}
	return captures, nil
}

// pass copies b into the module and returns where it is.
func (p *Parser) pass(ctx context.Context, b []byte) (uint64, error) {
	at, err := p.call(ctx, "allocate", uint64(len(b)))
	if err != nil {
		return 0, err
	}
	if at == 0 || !p.module.Memory().Write(uint32(at), b) {
		return 0, errors.New("out of memory")
	}
	return at, nil
}

func (p *Parser) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	results, err := p.module.ExportedFunction(name).Call(ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("call %s: %w", name, err)
	}
	if len(results) == 0 {
		return 0, nil
	}
	return results[0], nil
}
