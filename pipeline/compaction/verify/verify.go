// Package verify holds what leaves of a compaction against what went in.
//
// It promises to find, without using the code that made them, that a pack and its drop
// report account for every item exactly: each is shown whole, shown in part with every
// other span named, dropped with its reason, or counted as denied; that what is shown in
// part is the item's own words; that savings are what the counts say; and that every
// line of every summary cites spans that are there and say it. A *Mismatch names the
// first check that fails. Errors hold ids and numbers, never content.
package verify

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"satchel/schemas"
)

// ErrMismatch is what every *Mismatch wraps: what was made of the input does not account
// for it, so it must not leave.
var ErrMismatch = errors.New("compaction does not account for its input")

// Check names what was held against what.
type Check string

// The checks.
const (
	CheckSources   Check = "sources"   // each input is there once
	CheckShown     Check = "shown"     // what is shown is an input that may be, once
	CheckExtract   Check = "extract"   // what is shown of an item is its own words
	CheckCount     Check = "count"     // a line is for as many as it says
	CheckCoverage  Check = "coverage"  // shown and dropped spans make up the whole
	CheckReason    Check = "reason"    // each drop has the item's reason
	CheckSavings   Check = "savings"   // tokens before less tokens after
	CheckDenied    Check = "denied"    // what policy denied is counted and not named
	CheckRedacted  Check = "redacted"  // nothing that was redacted comes back
	CheckCitation  Check = "citation"  // a citation resolves
	CheckSupport   Check = "support"   // what is cited says it
	CheckHierarchy Check = "hierarchy" // a summary cites what is below it, and links to it
)

// Mismatch is a failed check.
type Mismatch struct {
	Check  Check
	ItemID string // the item or summary it is about, "" for the whole
	Detail string // in words, without content
}

// Error names check, item and what is wrong.
func (m *Mismatch) Error() string {
	if m.ItemID == "" {
		return fmt.Sprintf("verify compaction: %s: %s", m.Check, m.Detail)
	}
	return fmt.Sprintf("verify compaction: %s: item %q: %s", m.Check, m.ItemID, m.Detail)
}

// Unwrap returns ErrMismatch.
func (m *Mismatch) Unwrap() error { return ErrMismatch }

func makeMismatch(c Check, id, format string, args ...any) error {
	return &Mismatch{c, id, fmt.Sprintf(format, args...)}
}

// Source is one input.
type Source struct {
	ID      string
	Speaker string
	Text    string             // as policy lets it be seen
	Tokens  int                // what it would take, or what it takes
	Drop    schemas.DropReason // "" for one that is shown
	Hidden  []string           // what redaction took out of it
}

// Shown is what a pack shows of a source.
type Shown struct {
	ID     string
	Text   string // before it was made safe for a pack
	Part   bool   // lines of it; otherwise the whole
	Lines  []Line
	Before int // tokens of "speaker: text\n" with the whole, for a part
	After  int // the same with Text
}

// Line is a piece of a source that is shown.
type Line struct {
	Span    schemas.Span
	Times   int
	Pattern string
}

// Input is a pack, its drop report and its summaries.
type Input struct {
	Sources   []Source
	Shown     []Shown
	Report    *schemas.DropReport
	Summaries []Summary
	Count     func(text string) int // tokens
}

// Verify returns the first *Mismatch, nil when everything is accounted for.
func Verify(in *Input) error {
	v := &verifier{in: in, list: make([]source, len(in.Sources)), sources: make(map[string]*source, len(in.Sources))}
	for i := range in.Sources {
		s := &v.list[i]
		s.Source = &in.Sources[i]
		if _, twice := v.sources[s.ID]; twice || s.ID == "" {
			return makeMismatch(CheckSources, s.ID, "is an input twice, or has no id")
		}
		v.sources[s.ID] = s
	}
	for _, check := range []func() error{v.checkShown, v.checkReport, v.checkSummaries} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

type verifier struct {
	in      *Input
	list    []source
	sources map[string]*source // of list, by id
}

// source is an input and what became of it.
type source struct {
	*Source
	shown *Shown
	gone  *schemas.Drop
	parts []*schemas.Drop
}

func (v *verifier) checkShown() error {
	for i := range v.in.Shown {
		s := &v.in.Shown[i]
		src, ok := v.sources[s.ID]
		switch {
		case !ok:
			return makeMismatch(CheckShown, s.ID, "is shown and was no input")
		case src.shown != nil:
			return makeMismatch(CheckShown, s.ID, "is shown twice")
		case src.Drop == schemas.DropPolicy:
			return makeMismatch(CheckDenied, s.ID, "policy denied it and it is shown")
		case src.Drop != "":
			return makeMismatch(CheckShown, s.ID, "is dropped and shown")
		}
		src.shown = s
		if err := v.checkText(src.Source, s); err != nil {
			return err
		}
	}
	for i := range v.list {
		if s := &v.list[i]; s.Drop == "" && s.shown == nil {
			return makeMismatch(CheckCoverage, s.ID, "is neither shown nor dropped")
		}
	}
	return nil
}

// checkText holds what is shown of a source against its text.
func (v *verifier) checkText(src *Source, s *Shown) error {
	for _, h := range src.Hidden {
		if h != "" && strings.Contains(s.Text, h) && !strings.Contains(src.Text, h) {
			return makeMismatch(CheckRedacted, s.ID, "shows what was redacted")
		}
	}
	if !s.Part {
		if s.Text != src.Text || len(s.Lines) > 0 {
			return makeMismatch(CheckExtract, s.ID, "is shown as the whole and is not")
		}
		return nil
	}
	if err := checkSpans(src, s.Lines); err != nil {
		return err
	}
	if at := findDeviation(s.Text, src.Text, s.Lines); at >= 0 {
		return makeMismatch(CheckExtract, s.ID, "shows at byte %d what its spans do not say", at)
	}
	for _, l := range s.Lines {
		if l.Times > 1 && countMatches(src.Text, l.Pattern) < l.Times {
			return makeMismatch(CheckCount, s.ID, "stands for %d lines, fewer are like it", l.Times)
		}
	}
	return nil
}

// checkSpans holds that lines are in order, apart, inside the text and cut between
// characters.
func checkSpans(src *Source, lines []Line) error {
	if len(lines) == 0 {
		return makeMismatch(CheckExtract, src.ID, "is shown in part and no part is named")
	}
	end := 0
	for i, l := range lines {
		switch {
		case l.Span.Start < end || l.Span.End <= l.Span.Start || l.Span.End > len(src.Text):
			return makeMismatch(CheckExtract, src.ID, "span %d is out of order or of the text", i)
		case !isBoundary(src.Text, l.Span.Start) || !isBoundary(src.Text, l.Span.End):
			return makeMismatch(CheckExtract, src.ID, "span %d cuts a character", i)
		}
		end = l.Span.End
	}
	return nil
}

func isBoundary(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

// findDeviation reports where shown is not the lines of text one after another, with nothing
// between them but an ellipsis, line feeds or how often a line comes; -1 when it is.
func findDeviation(shown, text string, lines []Line) int {
	at := 0
	for i, l := range lines {
		if i > 0 || l.Span.Start > 0 {
			for _, glue := range []string{" … ", "… ", "\n…\n", "\n"} {
				if rest, ok := strings.CutPrefix(shown[at:], glue); ok {
					at = len(shown) - len(rest)
					break
				}
			}
		}
		if l.Times > 1 {
			rest, ok := strings.CutPrefix(shown[at:], fmt.Sprintf("%d lines like: ", l.Times))
			if !ok {
				return at
			}
			n := matchMarkedLine(rest, text[l.Span.Start:l.Span.End], splitLine(l.Pattern))
			if n < 0 {
				return at
			}
			at = len(shown) - len(rest) + n
			continue
		}
		piece := text[l.Span.Start:l.Span.End]
		if !strings.HasPrefix(shown[at:], piece) {
			return at
		}
		at += len(piece)
	}
	if rest := shown[at:]; rest != "" && rest != " …" {
		return at
	}
	return -1
}

// matchMarkedLine returns how many bytes of shown are the line with braces around each run of
// words that differ, -1 when they are not.
func matchMarkedLine(shown, line string, pattern []string) int {
	var at, word int
	inside := false
	varies := func() bool {
		return word < len(pattern) && pattern[word] == "<*>" || len(pattern) == 1 && pattern[0] == "<*>"
	}
	eat := func(c byte) bool {
		if at < len(shown) && shown[at] == c {
			at++
			return true
		}
		return false
	}
	for i := 0; i < len(line); i++ {
		begins := line[i] != ' ' && line[i] != '\t' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t')
		if begins && varies() && !inside {
			inside = true
			if !eat('{') {
				return -1
			}
		}
		if !eat(line[i]) {
			return -1
		}
		ends := line[i] != ' ' && line[i] != '\t' && (i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t')
		if !ends {
			continue
		}
		word++
		if inside && (!varies() || strings.Trim(line[i+1:], " \t") == "") {
			inside = false
			if !eat('}') {
				return -1
			}
		}
	}
	return at
}

// countMatches counts the lines of a text that a pattern matches: as many words, each the
// same or against <*>.
func countMatches(text, pattern string) int {
	words := splitLine(pattern)
	any := len(words) == 1 && words[0] == "<*>"
	n := 0
	for line := range strings.Lines(text) {
		got := splitLine(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
		same := any || len(got) == len(words)
		for i := 0; same && !any && i < len(words); i++ {
			same = words[i] == "<*>" || words[i] == got[i]
		}
		if same {
			n++
		}
	}
	return n
}

// longest is how many words of a line a pattern speaks of.
const longest = 256

func splitLine(line string) []string {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	return words[:min(len(words), longest)]
}
