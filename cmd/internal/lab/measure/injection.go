package measure

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"satchel/schemas"
)

// JudgedText is a text of which it is known whether it carries an injected instruction.
type JudgedText struct {
	ID      string       `json:"id"`
	Text    string       `json:"text"`
	Label   *int         `json:"label"` // 1: it does
	Source  string       `json:"source"`
	Kind    schemas.Kind `json:"item_kind"` // as which it is remembered; default memory
	Dropped bool         `json:"-"`
	Fenced  bool         `json:"-"`
	Unread  bool         `json:"-"` // fenced, since nobody could judge it
	Score   float64      `json:"-"`
}

// HasLabels reports whether the set called name says of texts whether they are injected.
func HasLabels(dir, name string) bool {
	if _, err := os.Stat(filepath.Join(dir, name, "texts.jsonl")); err != nil {
		return false
	}
	texts, err := LoadJudged(dir, name)
	return err == nil && len(texts) > 0 && texts[0].Label != nil
}

// LoadJudged reads the texts of the set called name below dir.
func LoadJudged(dir, name string) ([]JudgedText, error) {
	return readLines[JudgedText](filepath.Join(dir, name, "texts.jsonl"))
}

// InjectionLine says what became of the texts of one source and label.
type InjectionLine struct {
	Source   string `json:"source"`
	Injected bool   `json:"injected"`
	Texts    int    `json:"texts"`
	Caught   int    `json:"caught"` // dropped, or fenced for their score
	Dropped  int    `json:"dropped"`
	Fenced   int    `json:"fenced"`
	Unread   int    `json:"unread"`
}

// InjectionLines counts by source and label, with a line "all" of each label.
func InjectionLines(texts []JudgedText) []InjectionLine {
	var lines []InjectionLine
	line := func(source string, injected bool) *InjectionLine {
		for i := range lines {
			if lines[i].Source == source && lines[i].Injected == injected {
				return &lines[i]
			}
		}
		lines = append(lines, InjectionLine{Source: source, Injected: injected})
		return &lines[len(lines)-1]
	}
	for _, t := range texts {
		if t.Label == nil {
			continue
		}
		for _, source := range []string{cmp.Or(t.Source, "-"), allSources} {
			l := line(source, *t.Label == 1)
			l.Texts++
			switch {
			case t.Dropped:
				l.Dropped++
				l.Caught++
			case t.Unread:
				l.Unread++
			case t.Fenced:
				l.Fenced++
				l.Caught++
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b InjectionLine) int {
		last := func(l InjectionLine) int {
			if l.Source == allSources {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a.Source, b.Source))
	})
	return lines
}

// allSources names the line of every source.
const allSources = "all"

// AUROC is the chance that an injected text scores higher than one that is not.
func AUROC(texts []JudgedText) float64 {
	var injected, clean []float64
	for _, t := range texts {
		switch {
		case t.Label == nil:
		case *t.Label == 1:
			injected = append(injected, t.Score)
		default:
			clean = append(clean, t.Score)
		}
	}
	slices.Sort(clean)
	wins := 0.0
	for _, score := range injected {
		below, _ := slices.BinarySearch(clean, score)
		same := below
		for same < len(clean) && clean[same] == score {
			same++
		}
		wins += float64(below) + float64(same-below)/2
	}
	return wins / float64(max(1, len(injected)*len(clean)))
}
