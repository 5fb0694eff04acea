package selection

import "strings"

// entities returns the folded names a query mentions: runs of capitalised words that
// do not only begin the sentence.
func entities(text string) []string {
	var out []string
	var run []string
	flush := func() {
		if len(run) > 0 {
			out = append(out, strings.ToLower(strings.Join(run, " ")))
			run = run[:0]
		}
	}
	for i, w := range strings.Fields(text) {
		w = strings.Trim(w, ".,;:!?\"'()[]")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		if i > 0 && w != "" && w[0] >= 'A' && w[0] <= 'Z' && w != "I" {
			run = append(run, w)
			continue
		}
		flush()
	}
	flush()
	return out
}
