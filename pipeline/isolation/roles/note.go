package roles

import (
	"regexp"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/sentences"
	"satchel/schemas"
)

// notePart is a sentence of a note, or an entry of a list, and the title and the heading that it stands under.
type notePart struct {
	span    schemas.Span
	heading string
	line    int
}

const (
	longestLabel = 60 // bytes of a line with a colon at its end, or of bold words, that are a heading
	longestTitle = 100
	fewWords     = 4
)

var (
	entry = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,2}[.)])\s+`)
	bold  = regexp.MustCompile(`^\*\*[^*]+\*\*:?$`)
	// leftOut is what an extract has in place of what it leaves out.
	leftOut = regexp.MustCompile(`(?:^|\s)` + candidate.Ellipsis + `(?:\s|$)`)
	// kindOfNote names what notes are titled by; verb is a word that a title mostly lacks.
	kindOfNote = regexp.MustCompile(`(?i)^(?:[^\s.]+\s+){0,3}(?:minutes|notes?|review|report|summary|agenda|protocol|meeting|call|weekly|retrospective|post-?mortem|memo|status|state|update|plan|itinerary|log|diary)(?:\s+(?:of|with|from|on|for|about|\d+)\b|[,.:]|$)`)
	verb       = regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|been|has|have|had|do|does|did|will|would|can|could|should|shall|(?-i:may)|might|must|need|needs|\w{2,}ed)\b`)
)

// partsOf are the sentences and entries of a note that can be answers, in order. Headings, titles and code are none.
func partsOf(text string) []notePart {
	r := noteReader{text: text}
	at, code := 0, false
	for line := range strings.Lines(text) {
		from := at
		at += len(line)
		if fence := strings.HasPrefix(strings.TrimSpace(line), "```"); fence || code {
			code = code != fence
			continue
		}
		r.lines++
		for from < at {
			to, next := at, at
			if cut := leftOut.FindStringIndex(text[from:at]); cut != nil {
				to, next = from+cut[0], from+cut[1]
			}
			r.read(sentences.Trim(text, from, to))
			from = next
		}
	}
	return r.out
}

// noteReader takes a note apart, line by line.
type noteReader struct {
	text           string
	title, section string
	lines, n       int // lines and sentences so far
	out            []notePart
}

func (r *noteReader) read(from, to int) {
	line := r.text[from:to]
	h := headed(line)
	switch {
	case h != "" && r.n == 0 && r.title == "":
		r.title = h
		return
	case h != "":
		r.section = h
		return
	case isLabel(line):
		r.section = strings.Trim(line, "*:. ")
		return
	}
	marker := len(entry.FindString(line))
	if marker > 0 && len(line) <= shortNote && !isBoldLabel(firstSentence(line[marker:])) {
		r.add(from+marker, to)
		return
	}
	for start, end := range sentences.InLine(line[marker:]) {
		sentence := line[marker+start : marker+end]
		switch {
		case isBoldLabel(sentence):
			r.section = strings.Trim(sentence, "*:. ")
		case r.n == 0 && r.title == "" && len(r.text) > shortNote && isTitle(sentence):
			r.title = sentence
		default:
			r.add(from+marker+start, from+marker+end)
		}
	}
}

func (r *noteReader) add(from, to int) {
	r.n++
	r.out = append(r.out, notePart{schemas.Span{Start: from, End: to}, strings.TrimSpace(r.title + " " + r.section), r.lines})
}

// isLabel reports whether a line of a note is a heading without being one of Markdown.
func isLabel(line string) bool {
	return isBoldLabel(line) || len(line) <= longestLabel && strings.HasSuffix(line, ":") && !entry.MatchString(line)
}

// isBoldLabel reports whether a text is bold words that say nothing by themselves: a few, or some without a verb.
func isBoldLabel(text string) bool {
	return len(text) <= longestLabel && bold.MatchString(text) && !strings.Contains(text, ": ") && (len(strings.Fields(text)) <= fewWords || !verb.MatchString(text))
}

// isTitle reports whether a sentence says what a note is and nothing else.
func isTitle(sentence string) bool {
	return len(sentence) <= longestTitle && kindOfNote.MatchString(sentence) && !verb.MatchString(sentence)
}

func firstSentence(text string) string {
	for from, to := range sentences.InLine(text) {
		return text[from:to]
	}
	return ""
}
