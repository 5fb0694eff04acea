package selection

import (
	"slices"
	"strings"

	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// Feature is a cue: what it adds to the fused score of an item, and why. Value is
// 0–1; a feature whose data lack is 0 for every item.
type Feature struct {
	Name   string
	Weight float64
	Value  func(r *schemas.Record) float64
}

// The names of the features, for Config.Disable and in evidence.
const (
	FeatureRole    = "role"
	FeatureSpeaker = "speaker"
	FeatureDate    = "date"
	FeatureWhen    = "when"
	FeatureShort   = "short_question"
	FeatureWords   = "words"
	FeatureNear    = "neighbours"
	FeatureWeigh   = "weighing" // weights by the query's length and script
	FeatureSubject = "subject"  // a question without how it asks
	FeatureAliases = "aliases"  // other names of what a query names
	FeatureSpread  = "spread"   // over the sessions, when a question asks for an order
)

// maxSpeakers is the number of speakers above which a name in a query says little.
const maxSpeakers = 50

// shortQuestion is the length in bytes under which a turn that only asks is one.
const shortQuestion = 140

// features returns those that can say something about this query and this tenant.
func (s *Selector) features(q *analysis, st items.Stats) []Feature {
	w := &s.weights
	var out []Feature
	put := func(name string, weight float64, value func(*schemas.Record) float64) {
		if weight != 0 && !s.disabled(name) {
			out = append(out, Feature{Name: name, Weight: weight, Value: value})
		}
	}
	if share := float64(st.UserTurns) / float64(max(1, st.Turns)); share >= .1 && share <= .9 {
		put(FeatureRole, w.Role, func(r *schemas.Record) float64 { return oneIf(isUser(r)) })
	}
	if named := namedSpeakers(q.words, st.Speakers); len(named) > 0 {
		put(FeatureSpeaker, w.Speaker, func(r *schemas.Record) float64 { return oneIf(r.Speaker != "" && named[r.Speaker]) })
	}
	if len(q.moments) > 0 {
		put(FeatureDate, w.Date, func(r *schemas.Record) float64 {
			best := 0.0
			for _, m := range q.moments {
				best = max(best, m.closeness(r.CreatedAt))
			}
			return best
		})
	}
	if q.when {
		put(FeatureWhen, w.When, func(r *schemas.Record) float64 { return oneIf(isTurn(r) && holdsTime(r.Content.Text())) })
	}
	put(FeatureShort, w.Short, func(r *schemas.Record) float64 { return oneIf(isTurn(r) && asksShortly(r.Content.Text())) })
	return out
}

// isTurn reports whether the item is something somebody said in a conversation.
func isTurn(r *schemas.Record) bool {
	return r.Kind == schemas.KindMemory && r.SessionID() != "" && (r.Speaker != "" || r.Role != "")
}

// mayPassTurns reports whether a filter lets items of the kind that turns are through.
func mayPassTurns(f schemas.Filter) bool {
	for _, c := range f.Conds() {
		if c.Field == schemas.FieldKind && c.Op == schemas.In && !slices.Contains(c.Values, string(schemas.KindMemory)) {
			return false
		}
	}
	return true
}

func isUser(r *schemas.Record) bool { return r.Role == "user" || r.Speaker == "user" }

func asksShortly(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) < shortQuestion && strings.HasSuffix(text, "?")
}

// namedSpeakers returns the speakers whose name, or first name, is a word of the query.
func namedSpeakers(ws, speakers []string) map[string]bool {
	if len(speakers) == 0 || len(speakers) > maxSpeakers {
		return nil
	}
	var named map[string]bool
	for _, speaker := range speakers {
		parts := words(speaker)
		if len(parts) == 0 || isRole(parts[0]) {
			continue
		}
		for _, w := range ws {
			if w == parts[0] {
				if named == nil {
					named = map[string]bool{}
				}
				named[speaker] = true
			}
		}
	}
	return named
}

// isRole reports whether a speaker's name is a role, which a query uses as a word.
func isRole(w string) bool {
	switch w {
	case "user", "assistant", "system", "tool":
		return true
	}
	return false
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
