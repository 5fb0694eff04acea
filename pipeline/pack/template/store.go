package template

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"satchel/pipeline/infra/files"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// ErrNotFound is returned for a name that no template has.
var ErrNotFound = errors.New("template not found")

// ErrBuiltIn is returned when a registered template would replace a built-in one.
var ErrBuiltIn = errors.New("built-in templates can't be replaced")

// ErrFull is returned when a tenant, or a principal of it, has registered as many templates
// as it may.
var ErrFull = errors.New("too many templates are registered")

// ErrOwner is returned when a template belongs to another author than the caller has said.
var ErrOwner = errors.New("the template belongs to somebody else now")

// Limits of what is registered.
const (
	MaxTemplates    = 256 // of a tenant
	MaxPerPrincipal = 32
)

// kept is a template in its file.
type kept struct {
	schemas.ContextTemplate
	Author string `json:"author,omitempty"`
}

// Store keeps each tenant's registered templates beside the built-in ones. With a
// folder they are in the file <folder>/<tenant>.json, replaced as a whole when one is
// registered and read when the tenant is first asked for: several processes see each
// other's templates when they start. The zero Store works and keeps them in memory
// only. It is safe for concurrent use.
type Store struct {
	// Dir is the folder; "" keeps templates in memory. It is made when needed.
	Dir string

	mu      sync.Mutex
	tenants map[string]map[string]*Template
}

// Register checks a template and keeps it under its name as the principal's. It replaces
// one of that name by the author replaces, and no other's. A refusal is a *FieldError or one
// of the errors above.
func (s *Store) Register(sc scope.Scope, spec schemas.ContextTemplate, replaces string) error {
	if err := sc.Check(); err != nil {
		return fmt.Errorf("register template: %w", err)
	}
	if slices.ContainsFunc(BuiltIn(), func(b schemas.ContextTemplate) bool { return b.Name == spec.Name }) {
		return fmt.Errorf("register template %q: %w", spec.Name, ErrBuiltIn)
	}
	author := sc.Principal().ID
	t, err := Parse(spec, author)
	if err != nil {
		return fmt.Errorf("register template %q: %w", spec.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.loadTemplates(sc.Tenant())
	if err != nil {
		return err
	}
	if old := known[spec.Name]; old != nil && old.author != replaces {
		return fmt.Errorf("register template %q: %w", spec.Name, ErrOwner)
	}
	next := maps.Clone(known)
	next[spec.Name] = t
	own := 0
	for _, other := range next {
		if other.author == author {
			own++
		}
	}
	switch {
	case own > MaxPerPrincipal:
		return fmt.Errorf("register template %q: %w: a principal may have %d", spec.Name, ErrFull, MaxPerPrincipal)
	case len(next) > MaxTemplates:
		return fmt.Errorf("register template %q: %w: a tenant may have %d", spec.Name, ErrFull, MaxTemplates)
	}
	if err := s.saveTemplates(sc.Tenant(), next); err != nil {
		return err
	}
	s.tenants[sc.Tenant()] = next
	return nil
}

// Find returns a template by name, or ErrNotFound.
func (s *Store) Find(sc scope.Scope, name string) (*Template, error) {
	if err := sc.Check(); err != nil {
		return nil, fmt.Errorf("find template: %w", err)
	}
	for _, b := range BuiltIn() {
		if b.Name == name {
			return parseBuiltIn(b)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.loadTemplates(sc.Tenant())
	if err != nil {
		return nil, err
	}
	if t := known[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("find template %.80q: %w", name, ErrNotFound)
}

// List returns the built-in templates and the tenant's, each by name.
func (s *Store) List(sc scope.Scope) ([]schemas.RegisteredTemplate, error) {
	if err := sc.Check(); err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.loadTemplates(sc.Tenant())
	if err != nil {
		return nil, err
	}
	all := slices.Collect(maps.Values(known))
	for _, b := range BuiltIn() {
		t, err := parseBuiltIn(b)
		if err != nil {
			return nil, fmt.Errorf("list templates: %w", err)
		}
		all = append(all, t)
	}
	list := make([]schemas.RegisteredTemplate, len(all))
	for i, t := range all {
		list[i] = schemas.RegisteredTemplate{ContextTemplate: t.spec, Author: t.author, SHA256: t.sum}
	}
	slices.SortFunc(list, func(a, b schemas.RegisteredTemplate) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// loadTemplates returns the tenant's templates, reading the file the first time. Tenants match
// [A-Za-z0-9_-]{1,64}, so a tenant is a file name.
func (s *Store) loadTemplates(tenant string) (map[string]*Template, error) {
	if known, ok := s.tenants[tenant]; ok {
		return known, nil
	}
	known := map[string]*Template{}
	if s.Dir != "" {
		raw, err := os.ReadFile(s.makeFilePath(tenant))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read templates: %w", err)
		}
		var list []kept
		if err == nil {
			if err := json.Unmarshal(raw, &list); err != nil {
				return nil, fmt.Errorf("read templates: %w", err)
			}
		}
		for _, spec := range list {
			t, err := Parse(spec.ContextTemplate, spec.Author)
			if err != nil {
				return nil, fmt.Errorf("read template %q: %w", spec.Name, err)
			}
			known[spec.Name] = t
		}
	}
	if s.tenants == nil {
		s.tenants = map[string]map[string]*Template{}
	}
	if len(known) == 0 { // any name may be asked for
		return known, nil
	}
	s.tenants[tenant] = known
	return known, nil
}

func (s *Store) makeFilePath(tenant string) string { return filepath.Join(s.Dir, tenant+".json") }

// saveTemplates writes the tenant's templates to a new file and puts it in the old one's place.
func (s *Store) saveTemplates(tenant string, known map[string]*Template) error {
	if s.Dir == "" {
		return nil
	}
	list := make([]kept, 0, len(known))
	for _, name := range slices.Sorted(maps.Keys(known)) {
		list = append(list, kept{known[name].spec, known[name].author})
	}
	raw, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("write templates: %w", err)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("write templates: %w", err)
	}
	err = files.Write(s.makeFilePath(tenant), func(w io.Writer) error {
		_, err := w.Write(append(raw, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("write templates: %w", err)
	}
	return nil
}
