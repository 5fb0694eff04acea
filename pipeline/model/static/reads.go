package static

import "unicode"

// Reads returns the share of a text, 0–1, that the table was trained on: it knows
// English, and of other scripts no more than single signs. A text without letters is
// read whole.
func (e *Embedder) Reads(text string) float64 {
	letters := 0
	latin := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Latin, r) {
				latin++
			}
		}
	}
	if letters == 0 {
		return 1
	}
	return float64(latin) / float64(letters)
}

// ReadsWords is Reads for the words that WordVector is asked for.
func (e *Embedder) ReadsWords(text string) float64 { return e.Reads(text) }
