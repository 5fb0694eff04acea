package pack

import (
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// A tool is shown when it is about as relevant as the best tool, and that one has some of the relevance
// of the best of what else was found: among thousands of items one mostly has the question's words, and a
// tool seldom has. A question that names a speaker asks for what was said, and needs a tool more rarely.
// No tool is shown for a question that nothing answers.
const (
	toolOfBest  = .5   // of what the best tool bears on the question, at least
	toolOfOther = .25  // of what the best of the others does, at least
	toolOfSaid  = .5   // the same, where the question names a speaker
	leastTool   = .027 // that the best tool bears, at least
)

// dropTools drops the tools that the question does not need, where anything else was found, but none
// that the session's last pack showed where the pack keeps to that. It reports whether no tool is
// needed.
func dropTools(cs []candidate.Candidate, query string, before []int) bool {
	var best, others float64
	asked := splitWords(strings.ToLower(query))
	least := toolOfOther
	for i := range cs {
		switch c := &cs[i]; {
		case c.Kept() && c.Kind == schemas.KindTool:
			best = max(best, findRelevance(c))
		case c.Kind != schemas.KindTool && (c.Kept() || c.Drop == schemas.DropOffTopic):
			others = max(others, findRelevance(c))
			if namesSpeaker(asked, c.Visible) {
				least = toolOfSaid
			}
		}
	}
	if best == 0 || onlyTools(cs) {
		return false
	}
	needed := best >= leastTool && best >= least*others
	for i := range cs {
		c := &cs[i]
		switch {
		case !c.Kept() || c.Kind != schemas.KindTool || slices.Contains(before, i):
		case !needed:
			c.Drop = schemas.DropOffTopic
			c.Detail = "the question needs no tool"
		case findRelevance(c) < toolOfBest*best:
			c.Drop = schemas.DropOffTopic
			c.Detail = "another tool fits far better"
		}
	}
	return !needed
}

// findRelevance is how much an item bears on the question by itself, or its score where that is not known.
func findRelevance(c *candidate.Candidate) float64 {
	if c.Signals == nil {
		return c.Score
	}
	return c.Signals.Evidence.Bears
}

// namesSpeaker reports whether the name, or first name, of who said an item is a word of the question. What
// users and assistants said has no name.
func namesSpeaker(question []string, v *candidate.Visible) bool {
	if v.Speaker == "" || v.Speaker == "user" || v.Speaker == "assistant" {
		return false
	}
	name := splitWords(strings.ToLower(v.Speaker))
	return len(name) > 0 && slices.Contains(question, name[0])
}

func anyKept(cs []candidate.Candidate) bool {
	for i := range cs { // candidates are large: none is copied
		if cs[i].Kept() {
			return true
		}
	}
	return false
}

// onlyTools reports whether nothing but tools was found.
func onlyTools(cs []candidate.Candidate) bool {
	for i := range cs { // candidates are large: none is copied
		if cs[i].Kind != schemas.KindTool {
			return false
		}
	}
	return true
}

// ReplaceToolContent puts the signature and the safety notes of every kept tool in the place
// of its content, which was written to find it by. A tool whose attributes policy redacts
// keeps its redacted content.
func ReplaceToolContent(cs []candidate.Candidate) {
	for i := range cs {
		r := &cs[i]
		if !r.Kept() || r.Kind != schemas.KindTool {
			continue
		}
		a, err := r.Tool()
		if err != nil || a.Signature == "" {
			continue // nothing else is known of it than its content
		}
		parts := []string{a.Signature}
		if a.SafetyNotes != "" {
			parts = append(parts, "safety: "+a.SafetyNotes)
		}
		if len(a.SafetyTags) > 0 {
			parts = append(parts, "safety tags: "+strings.Join(a.SafetyTags, ", "))
		}
		r.Replace(strings.Join(parts, "\n"))
		r.Span = nil
	}
}
