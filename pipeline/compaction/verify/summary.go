package verify

import (
	"strings"
	"unicode"

	"satchel/schemas"
)

// Summary is a summary that is to be kept.
type Summary struct {
	ID    string
	Level schemas.SummaryLevel
	Text  string
	Links []string // what it is derived from
	Lines []schemas.SummaryLine
	// Abstractive: its lines are not the words of what they cite, but must have their
	// numbers, names and dates from there.
	Abstractive bool
}

func rankLevel(l schemas.SummaryLevel) int {
	switch l {
	case schemas.SummaryOfItem:
		return 1
	case schemas.SummaryOfCluster:
		return 2
	case schemas.SummaryOfSession:
		return 3
	}
	return 0
}

// checkSummaries holds every line against what it cites.
func (v *verifier) checkSummaries() error {
	known := make(map[string]*Summary, len(v.in.Summaries))
	for i := range v.in.Summaries {
		s := &v.in.Summaries[i]
		switch {
		case s.ID == "" || known[s.ID] != nil, v.sources[s.ID] != nil && v.sources[s.ID].Text != s.Text:
			return makeMismatch(CheckHierarchy, s.ID, "its id is taken, or it has none")
		case rankLevel(s.Level) == 0:
			return makeMismatch(CheckHierarchy, s.ID, "there is no level %q", s.Level)
		case len(s.Lines) == 0:
			return makeMismatch(CheckCitation, s.ID, "cites nothing")
		}
		known[s.ID] = s
	}
	for i := range v.in.Summaries {
		s := &v.in.Summaries[i]
		if err := v.checkSummary(s, known); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) checkSummary(s *Summary, known map[string]*Summary) error {
	cited := map[string]bool{}
	end := 0
	for i, l := range s.Lines {
		if l.Span.Start < end || l.Span.End <= l.Span.Start || l.Span.End > len(s.Text) {
			return makeMismatch(CheckCoverage, s.ID, "line %d is out of order or of the text", i)
		}
		if err := v.checkBetween(s, end, l.Span.Start, &l); err != nil {
			return err
		}
		end = l.Span.End
		if len(l.Cites) == 0 {
			return makeMismatch(CheckCitation, s.ID, "line %d cites nothing", i)
		}
		var below strings.Builder
		for _, c := range l.Cites {
			text, err := v.resolveCitation(s, known, c)
			if err != nil {
				return err
			}
			cited[c.ItemID] = true
			below.WriteString(text + "\n")
		}
		line := s.Text[l.Span.Start:l.Span.End]
		if !s.Abstractive && strings.TrimSuffix(below.String(), "\n") != line {
			return makeMismatch(CheckSupport, s.ID, "line %d is not the words it cites", i)
		}
		if s.Abstractive {
			if missing := countUnsupported(line, below.String()); missing > 0 {
				return makeMismatch(CheckSupport, s.ID, "line %d has %d numbers, names or dates that are not in what it cites", i, missing)
			}
		}
	}
	if strings.TrimSpace(s.Text[end:]) != "" {
		return makeMismatch(CheckCitation, s.ID, "bytes from %d on cite nothing", end)
	}
	linked := map[string]bool{}
	for _, l := range s.Links {
		linked[l] = true
	}
	for id := range cited {
		if !linked[id] {
			return makeMismatch(CheckHierarchy, s.ID, "cites what it is not linked to: erasing that would leave it")
		}
	}
	return nil
}

// checkBetween holds that nothing is between two lines but a line feed and who says
// the next one.
func (v *verifier) checkBetween(s *Summary, from, to int, next *schemas.SummaryLine) error {
	between := strings.TrimPrefix(s.Text[from:to], "\n")
	if between == "" {
		return nil
	}
	if src := v.speakerOf(next); src != "" && between == src+": " {
		return nil
	}
	return makeMismatch(CheckCitation, s.ID, "bytes from %d on cite nothing", from)
}

// speakerOf is who said what a line cites in the end.
func (v *verifier) speakerOf(l *schemas.SummaryLine) string {
	seen := 0
	for len(l.Cites) > 0 && seen < 8 {
		c := l.Cites[0]
		l = nil
		for i := range v.in.Summaries {
			s := &v.in.Summaries[i]
			for j := range s.Lines {
				if s.ID == c.ItemID && s.Lines[j].Span == c.Span {
					l = &s.Lines[j]
				}
			}
		}
		if l == nil { // no summary: an item
			if src, ok := v.sources[c.ItemID]; ok {
				return src.Speaker
			}
			return ""
		}
		seen++
	}
	return ""
}

// resolveCitation returns the text that a citation points at.
func (v *verifier) resolveCitation(s *Summary, known map[string]*Summary, c schemas.SpanRef) (string, error) {
	text := ""
	if src, ok := v.sources[c.ItemID]; ok && src.Drop == schemas.DropPolicy {
		return "", makeMismatch(CheckDenied, s.ID, "cites what policy denied")
	}
	if below, ok := known[c.ItemID]; ok {
		if rankLevel(below.Level) >= rankLevel(s.Level) {
			return "", makeMismatch(CheckHierarchy, s.ID, "cites a summary that is not below it")
		}
		text = below.Text
	} else if src, ok := v.sources[c.ItemID]; ok {
		text = src.Text
	} else {
		return "", makeMismatch(CheckCitation, s.ID, "cites what is not there")
	}
	isInside := c.Span.Start >= 0 && c.Span.Start < c.Span.End && c.Span.End <= len(text)
	if !isInside || !isBoundary(text, c.Span.Start) || !isBoundary(text, c.Span.End) {
		return "", makeMismatch(CheckCitation, s.ID, "cites a span that is not there")
	}
	cut := text[c.Span.Start:c.Span.End]
	if src := v.sources[c.ItemID]; src != nil {
		for _, h := range src.Hidden {
			if h != "" && strings.Contains(s.Text, h) && !strings.Contains(src.Text, h) {
				return "", makeMismatch(CheckRedacted, s.ID, "says what was redacted")
			}
		}
	}
	return cut, nil
}

// countUnsupported counts the numbers, dates and capitalised names of a line that what it
// cites does not hold. The first word of a sentence is no name for its capital alone.
func countUnsupported(line, cited string) int {
	there := map[string]bool{}
	for _, w := range listWords(cited) {
		there[strings.ToLower(w.text)] = true
	}
	missing := 0
	for _, w := range listWords(line) {
		first, _ := firstRune(w.text)
		fact := strings.ContainsFunc(w.text, unicode.IsDigit) || unicode.IsUpper(first) && !w.begins
		if fact && !there[strings.ToLower(w.text)] {
			missing++
		}
	}
	return missing
}

type word struct {
	text   string
	begins bool // it is the first of a sentence
}

// listWords cuts a text at white space, and takes the punctuation around words off.
func listWords(text string) []word {
	var out []word
	begins := true
	for f := range strings.FieldsSeq(text) {
		w := strings.TrimFunc(f, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		if w != "" {
			out = append(out, word{w, begins})
			begins = false
		}
		if strings.ContainsAny(f[len(f)-1:], ".!?:") {
			begins = true
		}
	}
	return out
}

func firstRune(s string) (rune, bool) {
	for _, r := range s {
		return r, true
	}
	return 0, false
}
