package authorship

import (
	"fmt"
	"slices"
	"time"

	"satchel/policies"
	"satchel/schemas"
)

// authorship lists the versions of an item with their owners.
type authorship struct {
	upTo     int64 // the log was read up to this position
	erasure  int64 // the position of the tenant's last erasure then
	versions []ownedVersion
	last     schemas.MemoryItem // the current version, as far as write.Lowers looks at it
}

// ownedVersion is a version of an item, or the last of several that differ only in their
// times, trust and sensitivity.
type ownedVersion struct {
	policies.Resource
	agent, signer string
	system        bool   // Satchel itself made it
	key           string // equal for such versions
}

// findOwner returns the owner of a version. Policy compares it with the agent of the event, which
// signer signed. With strict an agent's name alone owns nothing.
func (o *ownedVersion) findOwner(agent, signer string, strict bool) string {
	switch {
	case o.system:
		return ""
	case o.signer != schemas.Unsigned && o.signer == signer:
		return agent
	case o.signer != schemas.Unsigned:
		return "key:" + o.signer // no agent is called so
	case strict:
		return schemas.Unsigned
	}
	return o.agent
}

// addVersion takes a version.
func (st *authorship) addVersion(m *schemas.MemoryItem, agent string, system bool) {
	v := ownedVersion{Resource: policies.ResourceOf(&schemas.Record{MemoryItem: *m, Facets: m.Facets()}), agent: agent, signer: m.Signer, system: system}
	timeless := v.Resource
	timeless.CreatedAt = time.Time{}
	timeless.ExpiresAt = time.Time{}
	timeless.ValidTo = time.Time{}
	timeless.Facets.Trust = 0
	timeless.Facets.Sensitivity = 0
	v.key = fmt.Sprintf("%s\x00%s\x00%t\x00%s", agent, m.Signer, system, timeless.AppendInput(nil, policies.AllAttributes()))
	st.versions = slices.DeleteFunc(slices.Clone(st.versions), func(o ownedVersion) bool { return o.key == v.key })
	st.versions = append(st.versions, v)
	st.last = schemas.MemoryItem{ID: m.ID, Kind: m.Kind, SecurityLabel: m.SecurityLabel, PIIFlags: m.PIIFlags, Sensitivity: m.Sensitivity}
	if m.Kind == schemas.KindTool {
		st.last.Attributes = m.Attributes
	}
}

// listResources returns the versions of an item as policy sees them, given the agent and the
// signer of the event that touches it.
func (st *authorship) listResources(agent, signer string, strict bool) []policies.Resource {
	if st == nil {
		return nil
	}
	out := make([]policies.Resource, len(st.versions))
	for i := range st.versions {
		out[i] = st.versions[i].Resource
		out[i].Facets.Signer = st.versions[i].findOwner(agent, signer, strict)
	}
	return out
}

// hasSystemVersion reports whether Satchel made a version of the item.
func (st *authorship) hasSystemVersion() bool {
	return st != nil && slices.ContainsFunc(st.versions, func(o ownedVersion) bool { return o.system })
}
