package assembly

import (
	"math"
	"time"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// The context types, as requests name them.
const (
	Memories    = "memories"
	Code        = "code"
	Experiences = "experiences"
	Values      = "values"
	Commits     = "commits"
)

// Of returns the context type of a kind, "" for none.
func Of(k schemas.Kind) string {
	info, ok := k.Info()
	if !ok {
		return ""
	}
	return info.ContextType
}

// Kinds returns the kinds of a context type.
func Kinds(contextType string) []schemas.Kind {
	var out []schemas.Kind
	for _, row := range schemas.Kinds() {
		if contextType != "" && row.ContextType == contextType {
			out = append(out, row.Kind)
		}
	}
	return out
}

// Heading returns the section title of a context type.
func Heading(contextType string) string {
	heading, _, _ := describe(contextType)
	return heading
}

// Weight returns the share of a context type in the token budget, relative to the
// others: rich and verbose sources get more.
func Weight(contextType string) int {
	_, _, weight := describe(contextType)
	return weight
}

// describe returns the section title of a context type, what an item of it is called in a reply, and its weight.
func describe(contextType string) (heading, name string, weight int) {
	switch contextType {
	case Memories:
		return "Memories", "memory", 1
	case Code:
		return "Code", "code", 2
	case Experiences:
		return "Experiences", "experience", 3
	case Values:
		return "Values", "value", 1
	case Commits:
		return "Commits", "commit", 2
	}
	return "", contextType, 1
}

// Adjust returns the relevance of an item in its source, from the similarity that
// selection found: see the package comment. It stays in 0–1 and never grows.
func Adjust(r *candidate.Visible, similarity float64, now time.Time) float64 {
	if math.IsNaN(similarity) {
		return 0
	}
	out := min(max(similarity, 0), 1)
	switch r.Kind {
	case schemas.KindExperience:
		x, err := r.Experience()
		if err != nil {
			x = schemas.ExperienceAttributes{}
		}
		return out * scoreTier(x.ConfidenceTier) * scoreFreshness(r.CreatedAt, now)
	case schemas.KindCommit:
		return out * scoreFreshness(r.CreatedAt, now)
	case schemas.KindMemory, schemas.KindSummary:
		importance := .5
		if r.Importance != nil {
			importance = *r.Importance
		}
		return out * (.8 + .2*importance)
	}
	return out
}

func scoreTier(name string) float64 {
	switch name {
	case "gold":
		return 1
	case "silver":
		return .95
	case "bronze":
		return .9
	}
	return .8
}

func scoreFreshness(at, now time.Time) float64 {
	if at.IsZero() {
		return .95
	}
	days := max(0, now.Sub(at).Hours()/24)
	return .95 + .05/(1+days/30)
}
