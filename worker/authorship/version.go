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

// owner returns the owner of a version. Policy compares it with the agent of the event, which
// signer signed. With strict an agent's name alone owns nothing.
func (o *ownedVersion) owner(agent, signer string, strict bool) string {
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

// add takes a version.
func (st *authorship) add(m *schemas.MemoryItem, agent string, system bool) {
	v := ownedVersion{Resource: policies.ResourceOf(&schemas.Record{MemoryItem: *m, Facets: m.Facets()}), agent: agent, signer: m.Signer, system: system}
	timeless := v.Resource
	timeless.CreatedAt, timeless.ExpiresAt, timeless.ValidTo = time.Time{}, time.Time{}, time.Time{}
	timeless.Facets.Trust, timeless.Facets.Sensitivity = 0, 0
	v.key = fmt.Sprintf("%s\x00%s\x00%t\x00%s", agent, m.Signer, system, timeless.AppendInput(nil, policies.AllAttributes()))
	st.versions = slices.DeleteFunc(slices.Clone(st.versions), func(o ownedVersion) bool { return o.key == v.key })
	st.versions = append(st.versions, v)
	st.last = schemas.MemoryItem{ID: m.ID, Kind: m.Kind, SecurityLabel: m.SecurityLabel, PIIFlags: m.PIIFlags, Sensitivity: m.Sensitivity}
	if m.Kind == schemas.KindTool {
		st.last.Attributes = m.Attributes
	}
}

// resources returns the versions of an item as policy sees them, given the agent and the
// signer of the event that touches it.
func (st *authorship) resources(agent, signer string, strict bool) []policies.Resource {
	if st == nil {
		return nil
	}
	out := make([]policies.Resource, len(st.versions))
	for i := range st.versions {
		out[i] = st.versions[i].Resource
		out[i].Facets.Signer = st.versions[i].owner(agent, signer, strict)
	}
	return out
}

// system reports whether Satchel made a version of the item.
func (st *authorship) system() bool {
	return st != nil && slices.ContainsFunc(st.versions, func(o ownedVersion) bool { return o.system })
}
