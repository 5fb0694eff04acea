package policies

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nkeys"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// maxRegistryBytes bounds a registry file.
const maxRegistryBytes = 16 << 20

var principalID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// Registry says what principals there are in each tenant and what at most each may
// claim. It cannot be changed once made and is safe for concurrent use. The nil
// Registry is no registry.
//
// A registry file is YAML or JSON:
//
//	tenants:
//	  acme:
//	    principals:
//	      - id: planner
//	        level: internal # public when left out
//	        groups: [dev]
//	        roles: [auditor]
//	        trust: 0.9 # the most that its items may claim; 0.7 when left out
//	        nkey: UABC… # public key with which it connects
//	  "*": {} # any other tenant may be written to as well; its principals are known there
type Registry struct {
	tenants map[string]map[string]scope.Principal
	trust   map[string]map[string]float64 // granted
	members []Member                      // sorted by tenant and id
}

// Member is a registered principal of one tenant.
type Member struct {
	Tenant string
	ID     string
	Level  int // schemas.Level as a number
	Groups []string
	Roles  []string
	Trust  float64 // the most that its items may claim; 0: the default
	Key    string  // public nkey with which it connects, "" for none
}

type registryFile struct {
	Tenants map[string]registryTenant `yaml:"tenants"`
}

type registryTenant struct {
	Principals []registryPrincipal `yaml:"principals"`
}

type registryPrincipal struct {
	ID     string   `yaml:"id"`
	Level  string   `yaml:"level"`
	Groups []string `yaml:"groups"`
	Roles  []string `yaml:"roles"`
	Trust  *float64 `yaml:"trust"`
	NKey   string   `yaml:"nkey"`
}

// OpenRegistry reads the registry file called name.
func OpenRegistry(name string) (*Registry, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open principal registry: %w", err)
	}
	r, err := ReadRegistry(f)
	return r, errors.Join(err, f.Close())
}

// ReadRegistry reads a registry file. It refuses an unknown key or level, a malformed
// name, and a principal that is there twice. A file without tenants is a registry in
// which nobody is known.
func ReadRegistry(from io.Reader) (*Registry, error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxRegistryBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read principal registry: %w", err)
	}
	if len(raw) > maxRegistryBytes {
		return nil, fmt.Errorf("read principal registry: more than %d bytes", maxRegistryBytes)
	}
	file, err := parseRegistry(raw)
	if err != nil {
		return nil, fmt.Errorf("read principal registry: %w", err)
	}
	r := &Registry{tenants: make(map[string]map[string]scope.Principal, len(file.Tenants)), trust: map[string]map[string]float64{}}
	for tenant, t := range file.Tenants {
		if err := scope.CheckTenant(tenant); err != nil && tenant != anyTenant {
			return nil, fmt.Errorf("read principal registry: %w", err)
		}
		known := make(map[string]scope.Principal, len(t.Principals))
		keys := map[string]bool{}
		r.trust[tenant] = make(map[string]float64, len(t.Principals))
		for _, entry := range t.Principals {
			p, err := entry.makePrincipal()
			if err != nil {
				return nil, fmt.Errorf("read principal registry: tenant %q: %w", tenant, err)
			}
			if _, twice := known[p.ID]; twice {
				return nil, fmt.Errorf("read principal registry: tenant %q: principal %q is there twice", tenant, p.ID)
			}
			if entry.NKey != "" && !scope.ValidTenant(tenant) { // it would be a key to tenants that others have
				return nil, fmt.Errorf("read principal registry: tenant %q: principal %q: an nkey is for one tenant", tenant, p.ID)
			}
			if keys[entry.NKey] && entry.NKey != "" {
				return nil, fmt.Errorf("read principal registry: tenant %q: principal %q has the nkey of another", tenant, p.ID)
			}
			known[p.ID] = p
			keys[entry.NKey] = true
			r.trust[tenant][p.ID] = entry.findGrantedTrust()
			r.members = append(r.members, Member{tenant, p.ID, p.Level, p.Groups, p.Roles, entry.findGrantedTrust(), entry.NKey})
		}
		r.tenants[tenant] = known
	}
	sortMembers(r.members)
	return r, nil
}

// Members lists the principals by tenant and id; none without a registry.
func (r *Registry) Members() []Member {
	if r == nil {
		return nil
	}
	return slices.Clone(r.members)
}

func sortMembers(list []Member) {
	slices.SortFunc(list, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID)) })
}

// parseRegistry turns a panic of the YAML decoder, which odd tags cause, into an error.
func parseRegistry(raw []byte) (file registryFile, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decode YAML: %v", r)
		}
	}()
	if err := yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()).Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return registryFile{}, err
	}
	return file, nil
}

func (e *registryPrincipal) makePrincipal() (scope.Principal, error) {
	if !principalID.MatchString(e.ID) {
		return scope.Principal{}, fmt.Errorf("principal %q: id must match [A-Za-z0-9._:-]{1,128}", e.ID)
	}
	level := schemas.Public
	if e.Level != "" {
		var ok bool
		level, ok = schemas.ParseLevel(e.Level)
		if !ok {
			return scope.Principal{}, fmt.Errorf("principal %q: unknown level %q", e.ID, e.Level)
		}
	}
	if t := e.findGrantedTrust(); !(t >= anybodysTrust && t <= greatestTrust) { // NaN is neither
		return scope.Principal{}, fmt.Errorf("principal %q: trust must be %g to %d", e.ID, anybodysTrust, greatestTrust)
	}
	if e.NKey != "" && !nkeys.IsValidPublicUserKey(e.NKey) {
		return scope.Principal{}, fmt.Errorf("principal %q: nkey is no public nkey of a user", e.ID)
	}
	if e.NKey != "" && !schemas.ValidToken(e.ID) {
		return scope.Principal{}, fmt.Errorf("principal %q: an id with an nkey must match [A-Za-z0-9_-]{1,64}", e.ID)
	}
	return scope.Principal{ID: e.ID, Level: int(level), Groups: sortedSet(e.Groups), Roles: sortedSet(e.Roles)}, nil
}

// findGrantedTrust is the trust that an entry grants.
func (e *registryPrincipal) findGrantedTrust() float64 {
	if e.Trust == nil {
		return agentTrust
	}
	return *e.Trust
}

// anyTenant stands for every tenant that a registry does not name.
const anyTenant = "*"

// Admits reports whether a tenant may be written to: one that the registry names, or any where
// it has "*". Without a registry any may.
func (r *Registry) Admits(tenant string) bool {
	if r == nil {
		return true
	}
	_, named := r.tenants[tenant]
	_, open := r.tenants[anyTenant]
	return named || open
}

// findPrincipals returns the principals of a tenant.
func (r *Registry) findPrincipals(tenant string) map[string]scope.Principal {
	if known, named := r.tenants[tenant]; named {
		return known
	}
	return r.tenants[anyTenant]
}

// Knows reports whether the registry has a principal of that id. Without a registry every
// well-formed id is taken for one.
func (r *Registry) Knows(tenant, id string) bool {
	if r == nil {
		return principalID.MatchString(id)
	}
	_, ok := r.findPrincipals(tenant)[id]
	return ok
}

// Trust returns the most trust that an item may claim which agent id of a tenant wrote: what the
// registry grants to the principal. Whom it does not know, and everybody without a registry, is
// granted what an item has that claims none.
func (r *Registry) Trust(tenant, id string) float64 {
	if r == nil {
		return anybodysTrust
	}
	grants, named := r.trust[tenant]
	if !named {
		grants = r.trust[anyTenant]
	}
	if granted, ok := grants[id]; ok {
		return granted
	}
	return anybodysTrust
}

// Grant lowers the trust that an item claims to what its author is granted, and reports whether it
// did. m shares nothing with what it was before.
func (r *Registry) Grant(tenant, author string, m *schemas.MemoryItem) bool {
	granted := r.Trust(tenant, author)
	if m.Trust == nil || *m.Trust <= granted {
		return false
	}
	m.Trust = &granted
	return true
}

// Author returns who wrote an item, or what a summary of Satchel's own was made of; "" without a registry: agents are then
// who they say they are.
func (r *Registry) Author(of *schemas.Record) string {
	if r == nil {
		return ""
	}
	if of.Author == "" && of.Kind == schemas.KindSummary {
		if a, err := of.Summarised(); err == nil && a.Writer != "" {
			return a.Writer
		}
		return "satchel"
	}
	return of.Author
}

// Resolve returns who asks: the lesser of claim and registry.
//
//	registry              the principal
//	knows the id          level: the lower of both, the registry's without a securityLevel;
//	                      groups and roles: those in both, the registry's when the claim names none
//	does not know the id  public, no groups, no roles
//	there is none         the claim on loopback, public without a securityLevel;
//	                      elsewhere public, no groups, no roles
//
// A claim whose id or securityLevel is malformed is a *schemas.Error.
func (r *Registry) Resolve(tenant string, claim schemas.Agent, loopback bool) (scope.Principal, error) {
	p := scope.Principal{Kind: claim.Type, ID: claim.ID}
	if !principalID.MatchString(claim.ID) {
		return scope.Principal{}, claimError("/meta/from/id", "must match [A-Za-z0-9._:-]{1,128}")
	}
	claimed := schemas.Public
	if claim.SecurityLevel != "" {
		var ok bool
		claimed, ok = schemas.ParseLevel(claim.SecurityLevel)
		if !ok {
			return scope.Principal{}, claimError("/meta/from/securityLevel", "unknown level; use public, internal, confidential or restricted")
		}
	}
	if r == nil {
		if loopback {
			p.Level, p.Groups, p.Roles = int(claimed), sortedSet(claim.Groups), sortedSet(claim.Roles)
		}
		return p, nil
	}
	known, ok := r.findPrincipals(tenant)[claim.ID]
	if !ok {
		p.Unregistered = true
		return p, nil
	}
	p.Level = known.Level
	if claim.SecurityLevel != "" {
		p.Level = min(p.Level, int(claimed))
	}
	p.Groups, p.Roles = keepKnownNames(claim.Groups, known.Groups), keepKnownNames(claim.Roles, known.Roles)
	return p, nil
}

func claimError(field, message string) *schemas.Error {
	return schemas.Invalid([]schemas.Issue{{Pointer: field, Message: message}})
}

// keepKnownNames returns what of claimed is known, and all that is known for an empty claim.
func keepKnownNames(claimed, known []string) []string {
	if len(claimed) == 0 {
		return slices.Clone(known)
	}
	return slices.DeleteFunc(sortedSet(claimed), func(name string) bool { return !slices.Contains(known, name) })
}

func sortedSet(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
