// Package scope says for whom an operation runs: tenant, principal and purpose.
//
// Every store call takes a Scope as an explicit parameter and reaches that tenant
// only. The zero Scope reaches nothing: Check refuses it. A Scope is made from what
// the transport proved (the subject's tenant) and the principal registry, never from
// a payload; only cmd, worker and tests may call New and System (test/arch holds them to it).
package scope

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// ErrNone is returned by Check for the zero Scope.
var ErrNone = errors.New("no scope: tenant is missing")

// Principal is who asks, after the registry has capped the claim.
type Principal struct {
	Kind   string   // specialist, agent, user, service
	ID     string   // [A-Za-z0-9._:-]{1,128}
	Level  int      // schemas.Level as a number; 0 is public
	Groups []string // sorted
	Roles  []string // sorted

	Unregistered bool `json:",omitempty"` // there is a registry, and it does not know the principal
}

// HasRole reports whether the principal holds role.
func (p Principal) HasRole(role string) bool { return slices.Contains(p.Roles, role) }

// Scope is a tenant, a principal and a purpose. It cannot be changed once made.
type Scope struct {
	tenant    string
	principal Principal
	purpose   string
	system    bool
}

var tenantPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ValidTenant reports whether name can be a tenant: a subject token, but not "_", under
// which dead letters of no tenant lie.
func ValidTenant(name string) bool { return name != "_" && tenantPattern.MatchString(name) }

// CheckTenant says what keeps name from being a tenant, nil when nothing does.
func CheckTenant(name string) error {
	switch {
	case ValidTenant(name):
		return nil
	case name == "_":
		return errors.New(`tenant "_": is kept for dead letters of no tenant`)
	}
	return fmt.Errorf("tenant %q: must match [A-Za-z0-9_-]{1,64}", name)
}

// New returns the scope of p in tenant for purpose.
func New(tenant string, p Principal, purpose string) (Scope, error) {
	if err := CheckTenant(tenant); err != nil {
		return Scope{}, err
	}
	if p.ID == "" {
		return Scope{}, errors.New("principal has no id")
	}
	p.Groups, p.Roles = slices.Clone(p.Groups), slices.Clone(p.Roles)
	slices.Sort(p.Groups)
	slices.Sort(p.Roles)
	return Scope{tenant: tenant, principal: p, purpose: purpose}, nil
}

// System returns the scope Satchel itself works in for a tenant: appending,
// projecting, relaying, verifying. It must never serve a caller.
func System(tenant string) (Scope, error) {
	s, err := New(tenant, Principal{Kind: "service", ID: "satchel"}, "system")
	s.system = err == nil
	return s, err
}

// Check returns ErrNone for the zero Scope.
func (s Scope) Check() error {
	if s.tenant == "" {
		return ErrNone
	}
	return nil
}

// Tenant returns the tenant; "" for the zero Scope.
func (s Scope) Tenant() string { return s.tenant }

// Principal returns a copy of the principal.
func (s Scope) Principal() Principal {
	p := s.principal
	p.Groups, p.Roles = slices.Clone(p.Groups), slices.Clone(p.Roles)
	return p
}

// WithoutRoles returns s for the same principal without its roles.
func (s Scope) WithoutRoles() Scope {
	s.principal.Roles = nil
	return s
}

// Purpose returns what the data is asked for, "" when not given.
func (s Scope) Purpose() string { return s.purpose }

// IsSystem reports whether Satchel itself is the principal.
func (s Scope) IsSystem() bool { return s.system }
