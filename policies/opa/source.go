package opa

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	opabundle "github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/loader"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	builtin "satchel/policies/rego"
)

// maxBundleBytes bounds each file of an archive, and the archive.
const maxBundleBytes = 64 << 20

// BundleError says which file of a bundle is wrong, and where.
type BundleError struct {
	File string // as the bundle names it
	Line int    // from 1; 0 when the file as a whole is meant
	Err  error
}

func (e *BundleError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *BundleError) Unwrap() error { return e.Err }

// locateError turns what OPA says of a bundle into a BundleError where it says a place.
func locateError(err error) error {
	var many loader.Errors
	if errors.As(err, &many) && len(many) > 0 {
		return locateError(many[0])
	}
	var all ast.Errors
	var one *ast.Error
	if errors.As(err, &all) && len(all) > 0 {
		one = all[0]
	} else if !errors.As(err, &one) {
		return err
	}
	if one.Location == nil {
		return err
	}
	return &BundleError{File: one.Location.File, Line: one.Location.Row, Err: fmt.Errorf("%s: %s", one.Code, one.Message)}
}

// Source is where a bundle of one's own lies.
type Source struct {
	// Path is a folder, a .rego file, or an archive (.tar.gz) in OPA's bundle format.
	Path string
	// Key is the PEM file of the public key (RSA, or ECDSA on P-256, P-384 or P-521)
	// that .signatures.json is verified with, RS256 or the curve's ES algorithm. An
	// archive needs one; a folder is verified when there is one; a file cannot be.
	Key string
}

// contents is a bundle that was read: its modules and data, tests left out.
type contents struct {
	revision string
	modules  map[string]*ast.Module
	store    storage.Store
	tests    map[string]*ast.Module
	builtIn  map[string]bool // modules that were added to a bundle of satchel.extra alone
}

// extra is the package whose rules stand beside the built-in ones.
const extra = "data.satchel.extra"

// completeBundle adds the built-in bundle to one that has rules of satchel.extra and no policy.
func (c *contents) completeBundle() (*contents, error) {
	if !c.hasPackage(extra) || c.hasPackage(strings.TrimSuffix(root, ".")) {
		return c, nil
	}
	files, err := fs.Glob(builtin.Bundle(), "*.rego")
	if err != nil {
		return nil, fmt.Errorf("read built-in policy: %w", err)
	}
	c.builtIn = map[string]bool{}
	all := map[string][]byte{"": []byte(c.revision)}
	for _, file := range files {
		raw, err := fs.ReadFile(builtin.Bundle(), file)
		if err != nil {
			return nil, fmt.Errorf("read built-in policy: %w", err)
		}
		name := "built-in/" + file
		if c.modules[name], err = ast.ParseModule(name, string(raw)); err != nil {
			return nil, fmt.Errorf("read built-in policy: %w", locateError(err))
		}
		c.builtIn[name] = true
		all[name] = raw
	}
	c.revision = digestFiles(all)
	return c, nil
}

// hasPackage reports whether a module is of a package.
func (c *contents) hasPackage(pkg string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(c.modules)), func(m *ast.Module) bool { return m.Package.Path.String() == pkg })
}

// listOwnModules returns the modules that the bundle itself has.
func (c *contents) listOwnModules() map[string]*ast.Module {
	own := maps.Clone(c.modules)
	maps.DeleteFunc(own, func(name string, _ *ast.Module) bool { return c.builtIn[name] })
	return own
}

// readBundle reads and, where it has to, verifies the bundle.
func (s Source) readBundle() (*contents, error) {
	info, err := os.Stat(s.Path)
	if err != nil {
		return nil, fmt.Errorf("open policy bundle: %w", err)
	}
	switch name := filepath.Base(s.Path); {
	case info.IsDir() && s.Key == "":
		return readFS(os.DirFS(s.Path))
	case info.IsDir():
		return s.readSigned(opabundle.NewCustomReader(opabundle.NewDirectoryLoader(s.Path)).WithBaseDir(s.Path))
	case strings.HasSuffix(name, ".rego") && s.Key == "":
		return readFS(oneFile{os.DirFS(filepath.Dir(s.Path)), name})
	case strings.HasSuffix(name, ".rego"):
		return nil, fmt.Errorf("open policy bundle %q: a single file has no signature; give a folder or an archive", name)
	case s.Key == "":
		return nil, fmt.Errorf("open policy bundle %q: an archive must be signed, and no key is given to verify it", name)
	case info.Size() > maxBundleBytes:
		return nil, fmt.Errorf("open policy bundle %q: more than %d bytes", name, maxBundleBytes)
	}
	raw, err := os.ReadFile(s.Path)
	if err != nil {
		return nil, fmt.Errorf("open policy bundle: %w", err)
	}
	return s.readSigned(opabundle.NewReader(bytes.NewReader(raw)))
}

func (s Source) readSigned(r *opabundle.Reader) (*contents, error) {
	key, err := readKey(s.Key)
	if err != nil {
		return nil, err
	}
	const id = "bundle"
	b, err := r.WithSizeLimitBytes(maxBundleBytes).WithBundleVerificationConfig(
		opabundle.NewVerificationConfig(map[string]*opabundle.KeyConfig{id: key}, id, "", nil)).Read()
	if err != nil {
		return nil, fmt.Errorf("read signed policy bundle: %w", locateError(err))
	}
	if b.Signatures.Signatures == nil {
		return nil, errors.New("read signed policy bundle: it is not signed")
	}
	c := &contents{modules: map[string]*ast.Module{}, tests: map[string]*ast.Module{}, store: inmem.NewFromObject(b.Data)}
	files := map[string][]byte{}
	for _, m := range b.Modules {
		name := strings.TrimPrefix(path.Clean(filepath.ToSlash(m.Path)), "/")
		if !isBundleFile(name) {
			c.tests[name] = m.Parsed
			continue
		}
		c.modules[name] = m.Parsed
		files[name] = m.Raw
	}
	if files["data.json"], err = json.Marshal(b.Data); err != nil {
		return nil, fmt.Errorf("read signed policy bundle: %w", err)
	}
	c.revision = digestFiles(files)
	return c.completeBundle()
}

// readKey reads a public key; the algorithm is the key's, never the signature's.
func readKey(file string) (*opabundle.KeyConfig, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read policy bundle key: %w", err)
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, errors.New("read policy bundle key: not a PEM file")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read policy bundle key: %w", err)
	}
	algorithm := ""
	switch k := public.(type) {
	case *rsa.PublicKey:
		algorithm = "RS256"
	case *ecdsa.PublicKey:
		algorithm = map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[k.Curve.Params().BitSize]
	}
	if algorithm == "" {
		return nil, fmt.Errorf("read policy bundle key: %T is neither RSA nor ECDSA on P-256, P-384 or P-521", public)
	}
	return &opabundle.KeyConfig{Key: string(raw), Algorithm: algorithm}, nil
}

// oneFile is a file system that shows one file of another.
type oneFile struct {
	fs.FS
	name string
}

func (o oneFile) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(o.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return e.Name() != o.name }), err
}

// readFS reads a bundle from files; those that end in _test.rego are tests.
func readFS(files fs.FS) (*contents, error) {
	c := &contents{tests: map[string]*ast.Module{}}
	read := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		test := strings.HasSuffix(name, "_test.rego")
		if !isBundleFile(name) && !test {
			return nil
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if !test {
			read[name] = body
			return nil
		}
		c.tests[name], err = ast.ParseModule(name, string(body))
		if err != nil {
			c.tests[name] = nil // a broken test is no reason not to decide
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read policy bundle: %w", err)
	}
	if len(read) == 0 {
		return nil, errors.New("read policy bundle: no .rego file")
	}
	loaded, err := loader.NewFileLoader().WithFS(files).Filtered([]string{"."}, func(name string, info fs.FileInfo, _ int) bool {
		return !info.IsDir() && !isBundleFile(name)
	})
	if err != nil {
		return nil, fmt.Errorf("load policy bundle: %w", locateError(err))
	}
	c.revision, c.modules = digestFiles(read), loaded.ParsedModules()
	if c.store, err = loaded.Store(); err != nil {
		return nil, fmt.Errorf("load policy data: %w", err)
	}
	return c.completeBundle()
}

// isBundleFile reports whether the file is part of the bundle; tests are not.
func isBundleFile(name string) bool {
	switch base := path.Base(name); {
	case strings.HasSuffix(base, ".rego"):
		return !strings.HasSuffix(base, "_test.rego")
	case base == "data.json", base == "data.yaml", base == "data.yml":
		return true
	}
	return false
}

// digestFiles returns the first 16 hex digits of the SHA-256 over the files, in lexical
// order, each as the length of its path, its path, its length and its bytes.
func digestFiles(files map[string][]byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		head := append(binary.BigEndian.AppendUint64(nil, uint64(len(name))), name...)
		head = append(binary.BigEndian.AppendUint64(head, uint64(len(files[name]))), files[name]...)
		sum.Write(head)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// Open compiles the bundle at src; cacheEntries is as in Config.
func Open(ctx context.Context, src Source, cacheEntries int) (*PDP, error) {
	seen := src.makeFingerprint()
	read, err := src.readBundle()
	if err != nil {
		return nil, err
	}
	p, err := openBundle(ctx, read, cacheEntries)
	if err == nil {
		p.source = src
		p.seen = seen
	}
	return p, err
}

// Watch looks every so often whether the files that Open read have changed, and when
// they have, decides by what they hold now. It must run once only. A bundle that is refused leaves the old revision in
// force; report is told, and so is every decision from then on. It returns when ctx is
// done.
func (p *PDP) Watch(ctx context.Context, every time.Duration, report func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := p.source.makeFingerprint()
		if now == p.seen {
			continue
		}
		p.seen = now
		if err := p.reloadBundle(ctx, p.source); err != nil && ctx.Err() == nil {
			report(err)
		}
	}
}

// makeFingerprint changes when a file of the bundle does: its name, size or time.
func (s Source) makeFingerprint() string {
	var b strings.Builder
	for _, root := range []string{s.Path, s.Key} {
		if root == "" {
			continue
		}
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := os.Stat(name)
			if err != nil || info.IsDir() {
				return err
			}
			fmt.Fprintf(&b, "%s\x00%d\x00%d\n", name, info.Size(), info.ModTime().UnixNano())
			return nil
		})
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
	}
	return b.String()
}

func (p *PDP) reloadBundle(ctx context.Context, src Source) error {
	read, err := src.readBundle()
	if err == nil {
		var b *bundle
		if b, err = compileBundle(ctx, read, p.cacheEntries); err == nil {
			p.current.Store(b)
			p.refused.Store(nil)
			return nil
		}
	}
	warning := fmt.Sprintf("policy: the changed bundle is refused and revision %s stays", p.Revision())
	var place *BundleError
	if errors.As(err, &place) {
		warning += fmt.Sprintf(" (%s, line %d)", path.Base(filepath.ToSlash(place.File)), place.Line)
	}
	p.refused.Store(&warning)
	return fmt.Errorf("reload policy bundle: %w", err)
}
