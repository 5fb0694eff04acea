package op

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/pack"
	"satchel/schemas"
)

// refills is how often a pack is filled again without the summaries that repeat it.
const refills = 3

// buildPack fills a pack without summaries that only repeat shown items, as far as refills finds
// them. It reports whether extracts may stand for items.
func (e *Operations) buildPack(req pipeline.Request, in pack.Request, cs []candidate.Candidate) (pack.Pack, bool) {
	if !hasSummary(cs) {
		return e.compose(req, in, cs)
	}
	for range refills {
		trial := slices.Clone(cs)
		packed, compacted := e.compose(req, in, trial)
		again := repeats(trial, packed.Shown)
		if len(again) == 0 {
			copy(cs, trial)
			return packed, compacted
		}
		dropRepeats(cs, again)
	}
	return e.compose(req, in, cs)
}

// compose fills the pack. Where it is compacted, extracts stand for long items; where tokens
// are left afterwards, extracts give way to whole items, best first, but not that of the tool output. What no item fits in
// has an extract of one more.
func (e *Operations) compose(req pipeline.Request, in pack.Request, cs []candidate.Candidate) (packed pack.Pack, compacted bool) {
	tool, due := e.compactionDue(req, cs)
	if !due {
		return e.builder.Build(in, cs), false
	}
	o := compaction.Options{Query: req.Query, Budget: req.Limits.Tokens, Counter: e.Admit.Counter(req.Model), Texts: e.texts}
	compaction.Shorten(cs, o)
	in.Restore = func(c *candidate.Candidate) bool { return c.ID != tool && c.ShowWhole() }
	if req.Query != "" {
		in.Shorten = func(c *candidate.Candidate, tokens int) bool { return compaction.ShortenTo(c, tokens, o) }
	}
	packed = e.builder.Build(in, cs)
	compaction.RestoreUnshown(cs)
	return packed, true
}

// compactionDue reports whether extracts may stand for items that are too long for the pack: the
// mode of the request, or else of the engine, is auto, and the trigger is due. It also returns
// the id of the latest tool output.
func (e *Operations) compactionDue(req pipeline.Request, cs []candidate.Candidate) (tool string, due bool) {
	mode := req.Options.Compaction
	if mode == "" {
		mode = e.compaction.Mode
	}
	if mode != schemas.CompactionAuto {
		return "", false
	}
	tool = latestTool(cs, req.Session)
	if tool != "" && !e.compaction.Trigger.KeepTools {
		return tool, true
	}
	tokens, items := e.keptTokens(cs)
	return tool, e.compaction.Trigger.Due(tokens, items, req.Limits.Tokens)
}

// keptTokens counts the kept candidates and their tokens.
func (e *Operations) keptTokens(cs []candidate.Candidate) (tokens, items int) {
	by := e.Admit.Counter("")
	for i := range cs {
		if cs[i].Kept() {
			items++
			tokens += compaction.Tokens(&cs[i], by)
		}
	}
	return tokens, items
}

// latestTool returns the id of the item that a tool has just put out in the session, "" when
// another item came after it.
func latestTool(cs []candidate.Candidate, session string) string {
	var last *candidate.Candidate
	for i := range cs {
		r := &cs[i]
		if session == "" || !cs[i].Kept() || r.SessionID() != session || r.Kind == schemas.KindSummary {
			continue
		}
		if last == nil || cmp.Or(r.CreatedAt.Compare(last.CreatedAt), cmp.Compare(r.Position, last.Position)) > 0 {
			last = r
		}
	}
	if last == nil || last.Role != "tool" {
		return ""
	}
	return last.ID
}

// hasSummary reports whether a summary is among the kept candidates.
func hasSummary(cs []candidate.Candidate) bool {
	for i := range cs { // candidates are large: none is copied
		if cs[i].Kind == schemas.KindSummary && cs[i].Kept() {
			return true
		}
	}
	return false
}

// repeats finds the shown summaries whose every line another shown item contains word for word.
// It returns the ids of those items by the summary's index.
func repeats(cs []candidate.Candidate, shown []int) map[int][]string {
	out := map[int][]string{}
	order := slices.Sorted(slices.Values(shown)) // best first
	slices.Reverse(order)
	for _, i := range order {
		if cs[i].Kind != schemas.KindSummary {
			continue
		}
		of := map[string]bool{}
		all := true
		for line := range strings.Lines(cs[i].Content.Text()) {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			at := slices.IndexFunc(shown, func(j int) bool {
				return j != i && out[j] == nil && containsLine(&cs[j], line)
			})
			all = at >= 0
			if !all {
				break
			}
			of[cs[shown[at]].ID] = true
		}
		if all && len(of) > 0 {
			out[i] = slices.Sorted(maps.Keys(of))
		}
	}
	return out
}

// containsLine reports whether an item contains a line of a summary, which may name the item's
// speaker.
func containsLine(r *candidate.Candidate, line string) bool {
	if strings.Contains(r.Content.Text(), line) {
		return true
	}
	rest, ok := strings.CutPrefix(line, strings.ReplaceAll(r.Speaker, "\n", " ")+": ")
	return ok && r.Speaker != "" && strings.Contains(r.Content.Text(), rest)
}

// dropRepeats drops the summaries as duplicates of the items.
func dropRepeats(cs []candidate.Candidate, again map[int][]string) {
	for i, of := range again {
		cs[i].Drop, cs[i].Detail = schemas.DropDuplicate, "of "+strings.Join(of, ", ")
	}
}

// newPacked begins the output of an operation that does not use the pack builder.
func newPacked(notes pipeline.Notes) pipeline.Packed {
	tldr := schemas.TLDR{Citations: []string{}}
	return pipeline.Packed{Pack: pack.Pack{TLDR: tldr}, Affordances: []schemas.Affordance{}, Notes: notes}
}

// markShown drops the candidates that are kept and not shown. Of versions of a statement the newest that is shown
// stands for the older ones.
func markShown(cs []candidate.Candidate, shown []int, why schemas.DropReason) {
	taken := make(map[int]bool, len(shown))
	for _, i := range shown {
		taken[i] = true
	}
	newest, _ := pack.Versions(cs)
	for i := range cs {
		if !taken[i] && cs[i].Kept() {
			cs[i].Drop = why
			if of := newest[i]; of >= 0 && taken[of] {
				cs[i].Drop = schemas.DropNewer
				cs[i].Detail = "by " + cs[of].ID
				cs[i].Of = cs[of].ID
			}
		}
		if cs[i].Tokens == 0 {
			cs[i].Tokens = tokensOf(&cs[i])
		}
	}
}

// sectionsOf groups the shown candidates as packs do, by the kind table.
func sectionsOf(cs []candidate.Candidate, shown []int, budget int, reason string) []pack.Section {
	var out []pack.Section
	for _, kind := range []schemas.SectionType{schemas.SectionTools, schemas.SectionKnowledge, schemas.SectionMemory} {
		sec := pack.Section{Type: kind, Budget: budget, Reason: reason}
		for _, i := range shown {
			if sectionOf(cs[i].Kind) == kind {
				sec.Items = append(sec.Items, i)
				sec.Tokens += cs[i].Tokens
			}
		}
		if len(sec.Items) > 0 {
			out = append(out, sec)
		}
	}
	return out
}

func sectionOf(k schemas.Kind) schemas.SectionType {
	if info, ok := k.Info(); ok {
		return info.Section
	}
	return schemas.SectionMemory
}
