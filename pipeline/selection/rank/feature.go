package rank

import (
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// Feature is a cue: what it adds to the fused score of an item, and why. Value is
// 0–1; a feature whose data lack is 0 for every item.
type Feature struct {
	Name   string
	Weight float64
	Value  func(v *candidate.Visible) float64
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
	FeatureMeaning = "meaning"  // over words, when a question is asked in other words
	FeatureSpread  = "spread"   // over the sessions, when a question asks for an order
)

// maxSpeakers is the number of speakers above which a name in a query says little.
const maxSpeakers = 50

// shortQuestion is the length in bytes under which a turn that only asks is one.
const shortQuestion = 140

// chooseFeatures returns those that can say something about this query and the items that were
// found and may be seen.
func (r *Ranker) chooseFeatures(q *Question, p *Pool) []Feature {
	st := statsOf(p.items)
	w := &r.weights
	var out []Feature
	put := func(name string, weight float64, value func(*candidate.Visible) float64) {
		if weight != 0 && !r.isDisabled(name) {
			out = append(out, Feature{Name: name, Weight: weight, Value: value})
		}
	}
	if share := float64(st.userTurns) / float64(max(1, st.turns)); share >= .1 && share <= .9 {
		put(FeatureRole, w.Role, func(v *candidate.Visible) float64 { return oneIf(isUser(v)) })
	}
	if named := namedSpeakers(q.words, st.speakers); len(named) > 0 {
		put(FeatureSpeaker, w.Speaker, func(v *candidate.Visible) float64 { return oneIf(v.Speaker != "" && named[v.Speaker]) })
	}
	if len(q.days) > 0 {
		put(FeatureDate, w.Date, func(v *candidate.Visible) float64 { return scoreTimeliness(q, v, r.namedDays(v, q.zone)) })
	}
	if q.when {
		put(FeatureWhen, w.When, func(v *candidate.Visible) float64 {
			return oneIf(v.IsTurn() && holdsTime(language.ComparedHead(v.Content.Text())))
		})
	}
	put(FeatureShort, w.Short, func(v *candidate.Visible) float64 {
		return oneIf(v.IsTurn() && asksShortly(v.Content.Text()))
	})
	return out
}

// stats describe the items that were found.
type stats struct {
	speakers  []string // distinct, at most one more than count
	turns     int      // items of a session
	userTurns int      // those whose role or speaker is "user"
}

func statsOf(found []*candidate.Visible) stats {
	var st stats
	for _, v := range found {
		if v == nil {
			continue
		}
		if v.SessionID() != "" {
			st.turns++
			st.userTurns += int(oneIf(isUser(v)))
		}
		if v.Speaker != "" && len(st.speakers) <= maxSpeakers && !slices.Contains(st.speakers, v.Speaker) {
			st.speakers = append(st.speakers, v.Speaker)
		}
	}
	return st
}

// MayPassTurns reports whether a filter lets items of the kind that turns are through.
func MayPassTurns(f schemas.Filter) bool {
	for _, c := range f.Conds() {
		if c.Field == schemas.FieldKind && c.Op == schemas.In && !slices.Contains(c.Values, string(schemas.KindMemory)) {
			return false
		}
	}
	return true
}

func isUser(r *candidate.Visible) bool { return r.Role == "user" || r.Speaker == "user" }

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
		parts := language.Words(speaker)
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
