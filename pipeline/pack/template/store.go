package template

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// ErrNotFound is returned for a name that no template has.
var ErrNotFound = errors.New("template not found")

// ErrBuiltIn is returned when a registered template would replace a built-in one.
var ErrBuiltIn = errors.New("built-in templates can't be replaced")

// ErrFull is returned when a tenant has registered as many templates as it may.
var ErrFull = errors.New("too many templates are registered")

// MaxTemplates is how many templates a tenant may register.
const MaxTemplates = 256

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

// Register checks a template and keeps it under its name, replacing what a tenant
// registered by that name before. A refusal is a *FieldError or ErrBuiltIn.
func (s *Store) Register(sc scope.Scope, spec schemas.ContextTemplate) error {
	if err := sc.Check(); err != nil {
		return fmt.Errorf("register template: %w", err)
	}
	if slices.ContainsFunc(BuiltIn(), func(b schemas.ContextTemplate) bool { return b.Name == spec.Name }) {
		return fmt.Errorf("register template %q: %w", spec.Name, ErrBuiltIn)
	}
	t, err := Parse(spec)
	if err != nil {
		return fmt.Errorf("register template %q: %w", spec.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.load(sc.Tenant())
	if err != nil {
		return err
	}
	if known[spec.Name] == nil && len(known) >= MaxTemplates {
		return fmt.Errorf("register template %q: %w", spec.Name, ErrFull)
	}
	next := maps.Clone(known)
	next[spec.Name] = t
	if err := s.save(sc.Tenant(), next); err != nil {
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
			return Parse(b)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.load(sc.Tenant())
	if err != nil {
		return nil, err
	}
	if t := known[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("find template %.80q: %w", name, ErrNotFound)
}

// List returns the built-in templates and the tenant's, each by name.
func (s *Store) List(sc scope.Scope) ([]schemas.ContextTemplate, error) {
	if err := sc.Check(); err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.load(sc.Tenant())
	if err != nil {
		return nil, err
	}
	list := BuiltIn()
	for _, t := range known {
		list = append(list, t.spec)
	}
	slices.SortFunc(list, func(a, b schemas.ContextTemplate) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// load returns the tenant's templates, reading the file the first time. Tenants match
// [A-Za-z0-9_-]{1,64}, so a tenant is a file name.
func (s *Store) load(tenant string) (map[string]*Template, error) {
	if known, ok := s.tenants[tenant]; ok {
		return known, nil
	}
	known := map[string]*Template{}
	if s.Dir != "" {
		raw, err := os.ReadFile(s.file(tenant))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read templates: %w", err)
		}
		var list []schemas.ContextTemplate
		if err == nil {
			if err := json.Unmarshal(raw, &list); err != nil {
				return nil, fmt.Errorf("read templates: %w", err)
			}
		}
		for _, spec := range list {
			t, err := Parse(spec)
			if err != nil {
				return nil, fmt.Errorf("read template %q: %w", spec.Name, err)
			}
			known[spec.Name] = t
		}
	}
	if s.tenants == nil {
		s.tenants = map[string]map[string]*Template{}
	}
	s.tenants[tenant] = known
	return known, nil
}

func (s *Store) file(tenant string) string { return filepath.Join(s.Dir, tenant+".json") }

// save writes the tenant's templates to a new file and puts it in the old one's place.
func (s *Store) save(tenant string, known map[string]*Template) (err error) {
	if s.Dir == "" {
		return nil
	}
	list := make([]schemas.ContextTemplate, 0, len(known))
	for _, name := range slices.Sorted(maps.Keys(known)) {
		list = append(list, known[name].spec)
	}
	raw, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("write templates: %w", err)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("write templates: %w", err)
	}
	f, err := os.CreateTemp(s.Dir, tenant+"-*.new")
	if err != nil {
		return fmt.Errorf("write templates: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write templates: %w", err), os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.file(tenant))
}
