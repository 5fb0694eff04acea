package policies

import (
	"slices"
	"strings"

	"satchel/schemas"
)

// ResourceOf returns what policy sees of a stored item.
func ResourceOf(r *schemas.Record) Resource {
	out := Resource{
		ID:        r.ID,
		Facets:    r.Facets,
		PIIFlags:  r.PIIFlags,
		ExpiresAt: r.ExpiresAt(),
		ValidTo:   r.ValidTo,
		CreatedAt: r.CreatedAt,

		Confidence: r.Confidence, PolicyTags: r.Provenance.PolicyTags, Project: r.Scope.Project,
		SourceURI: r.Provenance.SourceURI, Speaker: r.Speaker,
	}
	if r.Kind == schemas.KindSummary {
		for _, l := range r.Links {
			if l.Rel == schemas.RelDerivedFrom {
				out.Sources = append(out.Sources, l.To)
			}
		}
	}
	return out
}

// ActionUse is the policy action of using a tool.
const ActionUse = "use"

const labelSafety = "safety:"

// ToolOf returns what policy sees of a stored tool that is to be used: the safety tags of
// its attributes are labels, and no label that it was given stands for one.
func ToolOf(r *schemas.Record) Resource {
	out := ResourceOf(r)
	out.Facets.Labels = slices.DeleteFunc(slices.Clone(out.Facets.Labels), func(l string) bool { return strings.HasPrefix(l, labelSafety) })
	if tool, err := r.Tool(); err == nil {
		for _, tag := range tool.SafetyTags {
			out.Facets.Labels = append(out.Facets.Labels, labelSafety+tag)
		}
	}
	return out
}
