package pipeline

import (
	"maps"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/schemas"
)

// refills is how often a pack is filled anew without the summaries that repeat it.
const refills = 3

// build fills the pack, without summaries that say nothing but what it shows anyway, as
// far as refills finds them.
func (t *turn) build(req pack.Request, cs []candidate.Candidate) pack.Pack {
	if !summarised(cs) {
		return t.compose(req, cs)
	}
	for range refills {
		trial := slices.Clone(cs)
		packed := t.compose(req, trial)
		again := repeats(trial, packed.Shown)
		if len(again) == 0 {
			copy(cs, trial)
			return packed
		}
		repeated(cs, again)
	}
	return t.compose(req, cs)
}

// repeated drops summaries for what says the same.
func repeated(cs []candidate.Candidate, again map[int][]string) {
	for i, of := range again {
		cs[i].Drop, cs[i].Detail = schemas.DropDuplicate, "of "+strings.Join(of, ", ")
	}
}

// summarised reports whether summaries are among what may be shown.
func summarised(cs []candidate.Candidate) bool {
	for i := range cs { // candidates are large: none is copied
		if cs[i].Record.Kind == schemas.KindSummary && cs[i].Kept() {
			return true
		}
	}
	return false
}

// repeats finds, of what is shown, the summaries whose every line another item shown says
// word for word, and those items: the sources, or a summary that says more.
func repeats(cs []candidate.Candidate, shown []int) map[int][]string {
	out := map[int][]string{}
	order := slices.Sorted(slices.Values(shown)) // best first
	slices.Reverse(order)
	for _, i := range order {
		if cs[i].Record.Kind != schemas.KindSummary {
			continue
		}
		of := map[string]bool{}
		all := true
		for line := range strings.Lines(cs[i].Record.Content.Text()) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			at := slices.IndexFunc(shown, func(j int) bool { return j != i && out[j] == nil && says(&cs[j].Record, line) })
			if all = at >= 0; !all {
				break
			}
			of[cs[shown[at]].Record.ID] = true
		}
		if all && len(of) > 0 {
			out[i] = slices.Sorted(maps.Keys(of))
		}
	}
	return out
}

// says reports whether an item holds a line of a summary, which may name its speaker.
func says(r *schemas.Record, line string) bool {
	if strings.Contains(r.Content.Text(), line) {
		return true
	}
	rest, ok := strings.CutPrefix(line, strings.ReplaceAll(r.Speaker, "\n", " ")+": ")
	return ok && r.Speaker != "" && strings.Contains(r.Content.Text(), rest)
}

// shown are the candidates that the text shows.
func (a *assembling) shown() []int {
	var list []int
	for g, shown := range a.out.Shown {
		for _, p := range shown {
			list = append(list, a.groupsOf[g].Items[p.Item].At)
		}
	}
	return list
}
