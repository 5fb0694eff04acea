package isolation

import (
	"fmt"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Sandbox returns the handle of the heavy content that a candidate is an extract of, for
// the principal and the purpose of s; nil when there is none, or when policy lets the
// extract alone be seen. The extract is the candidate's content.
func Sandbox(c *candidate.Candidate, s scope.Scope, sealer *Sealer) (*schemas.SandboxRef, error) {
	a, ok := c.Artifact()
	if !ok || !c.Kept() || !c.Verdict.Allow || c.Verdict.Redact || c.Verdict.Obligations != nil && c.Verdict.Obligations.Summarise > 0 {
		return nil, nil
	}
	p := s.Principal()
	handle, claim, err := sealer.Seal(Claim{
		Tenant: s.Tenant(), ItemID: c.ID, SHA256: a.SHA256,
		Kind: p.Kind, Principal: p.ID, Level: p.Level, Groups: p.Groups, Roles: p.Roles, Purpose: s.Purpose(),
	})
	if err != nil {
		return nil, fmt.Errorf("make handle of item %q: %w", c.ID, err)
	}
	return &schemas.SandboxRef{ID: "sha256:" + a.SHA256, Handle: handle, MediaType: a.MediaType, Name: a.Name, Size: a.Size, ExpiresAt: claim.ExpiresAt}, nil
}
