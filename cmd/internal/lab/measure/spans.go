package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"satchel/pipeline/pii"
)

// LabelledText is a text whose personal data is marked.
type LabelledText struct {
	ID    string         `json:"id"`
	Text  string         `json:"text"`
	Spans []LabelledSpan `json:"spans"`
}

// LabelledSpan is one mark: the characters [Start, End), not bytes.
type LabelledSpan struct {
	Type  string `json:"type"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// HasSpans reports whether the set called name marks spans in texts.
func HasSpans(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name, "texts.jsonl"))
	return err == nil
}

// LoadSpans reads the texts of the set called name below dir.
func LoadSpans(dir, name string) ([]LabelledText, error) {
	return readLines[LabelledText](filepath.Join(dir, name, "texts.jsonl"))
}

// SpanLine says how well one type is found. Precision, recall and F1 count a finding
// only when both ends are right; OverlapF1 when it touches a mark of the type.
type SpanLine struct {
	Type      string  `json:"type"`
	Marked    int     `json:"marked"`
	Found     int     `json:"found"`
	Right     int     `json:"right"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	OverlapF1 float64 `json:"overlap_f1"`
}

// placeType stands for every mark of a place; nothing looks for them.
const placeType = "place"

// markedAs returns what Satchel calls a mark, "" for what is not scored. A set may mark
// a URL as a domain, so the two are one.
func markedAs(label string) string {
	switch label {
	case "EMAIL_ADDRESS", "EMAIL":
		return string(pii.Email)
	case "PHONE_NUMBER", "PHONE":
		return string(pii.Phone)
	case "CREDIT_CARD":
		return string(pii.Card)
	case "IBAN_CODE", "IBAN":
		return string(pii.IBAN)
	case "US_SSN", "SSN":
		return string(pii.SSN)
	case "IP_ADDRESS", "IP":
		return string(pii.IP)
	case "DOMAIN_NAME", "URL":
		return string(pii.Domain)
	case "PERSON":
		return string(pii.Person)
	case "LOCATION", "GPE", "ADDRESS", "STREET_ADDRESS":
		return placeType
	}
	return ""
}

// place is a span of one type of one text.
type place struct {
	text, start, end int
}

// ScoreSpans finds with d and holds it against the marks, a line for each type.
func ScoreSpans(texts []LabelledText, d *pii.Detector) ([]SpanLine, error) {
	marked := map[string][]place{}
	found := map[string][]place{}
	for i, t := range texts {
		offsets := byteOffsets(t.Text)
		for _, sp := range t.Spans {
			if sp.Start < 0 || sp.End < sp.Start || sp.End >= len(offsets) {
				return nil, fmt.Errorf("score text %q: a mark is not in the text", t.ID)
			}
			if as := markedAs(sp.Type); as != "" {
				marked[as] = append(marked[as], place{i, offsets[sp.Start], offsets[sp.End]})
			}
		}
		for _, sp := range d.Find(t.Text) {
			as := string(sp.Type)
			if sp.Type == pii.URL {
				as = string(pii.Domain)
			}
			found[as] = append(found[as], place{i, sp.Start, sp.End})
		}
	}
	var lines []SpanLine
	for _, name := range []string{"card", "phone", "email", "iban", "ssn", "ip", "domain", "person", placeType} {
		lines = append(lines, spanLine(name, marked[name], found[name]))
	}
	return lines, nil
}

// byteOffsets returns the byte offset of each character, and of the end.
func byteOffsets(t string) []int {
	offsets := make([]int, 0, utf8.RuneCountInString(t)+1)
	for i := range t {
		offsets = append(offsets, i)
	}
	return append(offsets, len(t))
}

func spanLine(name string, marked, found []place) SpanLine {
	l := SpanLine{Type: name, Marked: len(marked), Found: len(found)}
	touching := 0
	touched := 0
	for _, f := range found {
		if slices.Contains(marked, f) {
			l.Right++
		}
		if slices.ContainsFunc(marked, func(m place) bool { return m.text == f.text && m.start < f.end && f.start < m.end }) {
			touching++
		}
	}
	for _, m := range marked {
		if slices.ContainsFunc(found, func(f place) bool { return m.text == f.text && m.start < f.end && f.start < m.end }) {
			touched++
		}
	}
	l.Precision, l.Recall = ratio(l.Right, l.Found), ratio(l.Right, l.Marked)
	l.F1 = harmonic(l.Precision, l.Recall)
	l.OverlapF1 = harmonic(ratio(touching, l.Found), ratio(touched, l.Marked))
	return l
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func harmonic(a, b float64) float64 {
	if a+b == 0 {
		return 0
	}
	return 2 * a * b / (a + b)
}
