package policies

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// ErrEditByHand is returned when a registry file is written in a way that cannot be changed
// without rewriting it. The error text holds the lines to add.
var ErrEditByHand = errors.New("the registry file has to be edited by hand")

// AddMember returns a registry file with another principal. Comments and order stay.
func AddMember(raw []byte, m Member) ([]byte, error) {
	entry := yaml.MapSlice{{Key: "id", Value: m.ID}, {Key: "level", Value: schemas.Level(m.Level).String()}}
	for _, list := range []yaml.MapItem{{Key: "groups", Value: m.Groups}, {Key: "roles", Value: m.Roles}} {
		if len(list.Value.([]string)) > 0 {
			entry = append(entry, list)
		}
	}
	if m.Trust == 0 {
		m.Trust = agentTrust
	} else {
		entry = append(entry, yaml.MapItem{Key: "trust", Value: m.Trust})
	}
	if m.Key != "" {
		entry = append(entry, yaml.MapItem{Key: "nkey", Value: m.Key})
	}
	before, err := ReadRegistry(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if err := before.checkMember(m); err != nil {
		return nil, err
	}
	list := []yaml.MapSlice{entry}
	tenant := yaml.MapSlice{{Key: m.Tenant, Value: yaml.MapSlice{{Key: "principals", Value: list}}}}
	m.Groups, m.Roles = sortedSet(m.Groups), sortedSet(m.Roles)
	return tryAdditions(raw, append(before.Members(), m), entry, []placed{
		{"$.tenants.'" + m.Tenant + "'.principals", list},
		{"$.tenants", tenant},
		{"$", yaml.MapSlice{{Key: "tenants", Value: tenant}}},
	})
}

// SetKey returns a registry file in which a principal has another key.
func SetKey(raw []byte, tenant, id, key string) ([]byte, error) {
	before, err := ReadRegistry(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	want := before.Members()
	at := slices.IndexFunc(want, func(m Member) bool { return m.Tenant == tenant && m.ID == id })
	if at < 0 {
		return nil, fmt.Errorf("set the key of principal %q: tenant %q has no such principal", id, tenant)
	}
	want[at].Key = key
	others := &Registry{members: slices.Delete(before.Members(), at, at+1)}
	if err := others.checkMember(want[at]); err != nil {
		return nil, err
	}
	file, err := parseRegistry(raw)
	if err != nil {
		return nil, fmt.Errorf("read principal registry: %w", err)
	}
	row := slices.IndexFunc(file.Tenants[tenant].Principals, func(p registryPrincipal) bool { return p.ID == id })
	entry := yaml.MapSlice{{Key: "nkey", Value: key}}
	return tryAdditions(raw, want, entry, []placed{{fmt.Sprintf("$.tenants.'%s'.principals[%d]", tenant, row), entry}})
}

// checkMember refuses a principal that the registry cannot have.
func (r *Registry) checkMember(m Member) error {
	if err := scope.CheckTenant(m.Tenant); err != nil {
		return err
	}
	if _, err := (&registryPrincipal{ID: m.ID, NKey: m.Key, Trust: &m.Trust}).makePrincipal(); err != nil {
		return err
	}
	for _, other := range r.Members() {
		switch {
		case other.Tenant != m.Tenant:
		case other.ID == m.ID:
			return fmt.Errorf("principal %q of tenant %q is there already", m.ID, m.Tenant)
		case m.Key != "" && other.Key == m.Key:
			return fmt.Errorf("principal %q has the nkey of %q", m.ID, other.ID)
		}
	}
	return nil
}

// placed is an addition to the file at a path.
type placed struct {
	path  string
	value any
}

// tryAdditions makes the first of several additions with which the file says want, written as the
// file is: in blocks or in brackets.
func tryAdditions(raw []byte, want []Member, entry yaml.MapSlice, additions []placed) ([]byte, error) {
	sortMembers(want)
	for _, a := range additions {
		for _, options := range [][]yaml.EncodeOption{nil, {yaml.JSON()}} {
			addition, err := yaml.MarshalWithOptions(a.value, options...)
			if err != nil {
				return nil, fmt.Errorf("encode principal: %w", err)
			}
			for _, changed := range [][]byte{mergeAddition(raw, a.path, addition), slices.Concat(raw, addition)} {
				if r, err := ReadRegistry(bytes.NewReader(changed)); err == nil && reflect.DeepEqual(r.Members(), want) {
					return changed, nil
				}
			}
		}
	}
	lines, err := yaml.Marshal(entry)
	if err != nil {
		return nil, fmt.Errorf("encode principal: %w", err)
	}
	return nil, fmt.Errorf("%w: add\n%s", ErrEditByHand, strings.TrimRight(string(lines), "\n"))
}

// mergeAddition returns the file with an addition at path, nil where it cannot be merged there.
func mergeAddition(raw []byte, path string, addition []byte) []byte {
	file, err := parser.ParseBytes(raw, parser.ParseComments)
	if err != nil {
		return nil
	}
	at, err := yaml.PathString(path)
	if err != nil || at.MergeFromReader(file, bytes.NewReader(addition)) != nil {
		return nil
	}
	return []byte(strings.TrimRight(file.String(), "\n") + "\n")
}
