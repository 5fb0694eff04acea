package token

import "unicode/utf8"

// maxTokenBytes is more than any token of an exact encoding has.
const maxTokenBytes = 256

// Truncate returns a beginning of text that c counts at most n tokens for, cut between
// runes: as long as c's tokenization allows, for the exact counters and the estimate.
func Truncate(c Counter, text string, n int) string {
	if n <= 0 {
		return ""
	}
	if p, ok := c.(interface{ takePrefix(string, int) string }); ok {
		return p.takePrefix(text, n)
	}
	return searchCut(c, text, n)
}

// takePrefix returns the beginning of text that its first n tokens spell.
func (b *bpe) takePrefix(text string, n int) string {
	if len(text) > n*maxTokenBytes && n < len(text) {
		text = wholeRunes(text, n*maxTokenBytes)
	}
	encoding, err := b.load()
	if err != nil {
		return Estimate{}.takePrefix(text, n)
	}
	end := 0
	left := n
	for end < len(text) { // whole pieces, as long as they fit
		piece := nextPiece(text[end:])
		tokens := b.pieces.countPiece(encoding, text[end:end+piece])
		if tokens > left {
			break
		}
		end = end + piece
		left = left - tokens
	}
	if end == len(text) {
		return text
	}
	last := end + nextPiece(text[end:]) // of the piece that does not fit
	for end < last && left > 0 {
		chunk := text[end:last]
		chunk = chunk[:safeCut(chunk)]
		encoding.visitTokens(chunk, func(length int) {
			if left > 0 {
				end = end + length
				left = left - 1
			}
		})
	}
	cut := wholeRunes(text, end)
	for cut != "" && b.Count(cut) > n { // half a word may be more tokens than the whole
		_, size := utf8.DecodeLastRuneInString(cut)
		cut = cut[:len(cut)-size]
	}
	return cut
}

// searchCut finds the cut by halving, for counters that show no tokens.
func searchCut(c Counter, text string, n int) string {
	if c.Count(text) <= n {
		return text
	}
	fits := 0
	over := len(text)
	for over-fits > 1 {
		middle := len(wholeRunes(text, (fits+over)/2))
		if middle <= fits {
			break
		}
		if c.Count(text[:middle]) <= n {
			fits = middle
		} else {
			over = middle
		}
	}
	return text[:fits]
}

// wholeRunes returns text[:end] without a rune that end cuts in two.
func wholeRunes(text string, end int) string {
	if end >= len(text) {
		return text
	}
	for back := 0; back < utf8.UTFMax && end-back >= 0; back++ {
		if utf8.RuneStart(text[end-back]) {
			return text[:end-back]
		}
	}
	return text[:end] // not UTF-8: any byte will do
}
