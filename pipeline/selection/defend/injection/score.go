package injection

import "strings"

// Threshold is the score from which a text counts as injected.
const Threshold = .5

// longest is the number of bytes of a text that are judged at once, and overlap of those that are judged twice.
const (
	longest = 1 << 16
	overlap = 1 << 10
)

// Classifier scores texts with a model. It is safe for concurrent use.
type Classifier struct{ model *Model }

// New returns a Classifier with the model that is part of the program.
func New() (*Classifier, error) {
	m, err := Decode(modelFile)
	if err != nil {
		return nil, err
	}
	return With(m), nil
}

// With returns a Classifier with a model of one's own.
func With(m *Model) *Classifier { return &Classifier{model: m} }

// Score returns the score of Judge.
func (c *Classifier) Score(text string) float64 { return c.Judge(text).Score }

// Logit is the logit of the score of a text as it stands, with nothing decoded.
func (c *Classifier) Logit(text string) float32 {
	_, logit := c.judgeText(text)
	return logit
}

// Span is a part of a text, in bytes.
type Span struct{ Start, End int }

// Spans returns the sentences of a text that look injected, in order, whatever the
// score of the whole. A text that is encoded as a whole has none.
func (c *Classifier) Spans(text string) []Span {
	var out spans
	c.visitSentences(text, func(s *sentence) { out.extendSpans(text, s) })
	return out
}

// spans are those of sentences that look injected; neighbours are one.
type spans []Span

func (o *spans) extendSpans(text string, s *sentence) {
	if s.logit[attack] < 0 && s.logit[steer] < 0 && s.logit[harm] < 0 && s.logit[task] < sureTask {
		return
	}
	if n := len(*o); n > 0 && strings.TrimSpace(text[(*o)[n-1].End:s.start]) == "" {
		(*o)[n-1].End = s.end
		return
	}
	*o = append(*o, Span{s.start, s.end})
}

// visitSentences scores the sentences of a text.
func (c *Classifier) visitSentences(text string, f func(*sentence)) {
	split := splitter{text: text}
	sum := sums{model: c.model}
	var s sentence
	fenced := false
	for {
		start, end, ok := split.findNextSentence()
		if !ok {
			return
		}
		piece := strings.TrimRight(text[start:end], " \t\r")
		if strings.HasPrefix(piece, "```") {
			fenced = !fenced
			if len(piece) < 16 {
				continue
			}
		}
		s = sentence{start: start, end: start + len(piece), fenced: fenced}
		s.cell = start > 0 && isCellSeparator(text[start-1]) || start > 1 && isCellSeparator(text[start-2]) || end < len(text) && isCellSeparator(text[end])
		s.alone = (start == 0 || text[start-1] == '\n') && (end == len(text) || text[end] == '\n')
		sum.scoreSentence(piece, &s)
		f(&s)
	}
}
