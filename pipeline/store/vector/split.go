package vector

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"satchel/schemas"
)

// chunkBytes is what a chunk holds at most: about 512 tokens of 4 bytes.
const chunkBytes = 2000

// maxChunks bounds the chunks of a text; a longer text gets longer chunks.
const maxChunks = 256

// Split cuts text into at most 256 chunks of at most 2,000 bytes (of more in a text over
// some 250,000), for an embedding each. The spans are in order, touch each other and
// cover the text; none begins or ends inside a rune. A chunk ends where the text's
// structure is strongest in the second half of what it may hold: before a heading or
// after a blank line, before a list item, at the end of a line, of a sentence, of a word.
// The empty text has no chunks.
func Split(text string) []schemas.Span {
	if text == "" {
		return nil
	}
	limit := max(chunkBytes, (2*len(text)+maxChunks-2)/(maxChunks-1))
	var spans []schemas.Span
	start := 0
	for len(text)-start > limit {
		end := start + endOfChunk(text[start:], limit)
		spans = append(spans, schemas.Span{Start: start, End: end})
		start = end
	}
	return append(spans, schemas.Span{Start: start, End: len(text)})
}

// The strength of a place to cut, weakest first.
const (
	betweenRunes = iota + 1
	afterWord
	afterSentence
	afterLine
	beforeListItem
	betweenParagraphs
)

// endOfChunk returns where the first chunk of text ends: the last of the strongest places in
// (limit/2, limit], or limit when there is none, as in bytes that are not UTF-8.
func endOfChunk(text string, limit int) int {
	best := limit
	strongest := 0
	for i := limit; i > limit/2; i-- {
		if s := scoreBreak(text, i); s > strongest {
			best = i
			strongest = s
			if s == betweenParagraphs {
				break
			}
		}
	}
	return best
}

// scoreBreak says how good a place between text[i-1] and text[i] is, 0 for none.
func scoreBreak(text string, i int) int {
	if !utf8.RuneStart(text[i]) {
		return 0
	}
	switch text[i-1] {
	case '\n':
		return lineStrength(text, i)
	case ' ', '\t':
		before := strings.TrimRight(text[max(0, i-8):i], " \t")
		if strings.ContainsAny(before[max(0, len(before)-1):], ".!?") {
			return afterSentence
		}
		return afterWord
	}
	if i >= 3 {
		switch text[i-3 : i] {
		case "。", "！", "？":
			return afterSentence
		}
	}
	return betweenRunes
}

// lineStrength is for a line that begins at i.
func lineStrength(text string, i int) int {
	before := strings.TrimRight(text[max(0, i-64):i-1], " \t\r")
	line := strings.TrimLeft(text[i:min(len(text), i+64)], " \t")
	switch {
	case before == "" || before[len(before)-1] == '\n', strings.HasPrefix(line, "#"):
		return betweenParagraphs
	case isListItem(line):
		return beforeListItem
	}
	return afterLine
}

// isListItem reports whether line begins as "- ", "* ", "+ ", "• ", "1. " or "1) " do.
func isListItem(line string) bool {
	for _, bullet := range [...]string{"- ", "* ", "+ ", "• "} {
		if strings.HasPrefix(line, bullet) {
			return true
		}
	}
	digits := 0
	for digits < min(len(line), 4) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	rest := line[digits:]
	return digits > 0 && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "))
}

// ChunksOf lists the chunks of an item and appends their texts, in step. The texts are
// those of the search text; the spans are in the content, or in the axis's attribute.
func ChunksOf(rec *schemas.Record, text string, texts *[]string) []Chunk {
	var chunks []Chunk
	offset := schemas.SearchOffset(&rec.MemoryItem)
	for _, span := range Split(text) {
		inContent := schemas.Span{Start: max(0, span.Start-offset), End: max(0, span.End-offset)}
		chunks = append(chunks, Chunk{Span: inContent})
		*texts = append(*texts, text[span.Start:span.End])
	}
	if rec.Kind != schemas.KindExperience || len(rec.Attributes) == 0 {
		return chunks
	}
	var axes struct {
		Strategy  string `json:"strategy"`
		Surprise  string `json:"surprise"`
		RootCause string `json:"root_cause"`
	}
	if json.Unmarshal(rec.Attributes, &axes) != nil {
		return chunks // validated at write: an attribute of another type has no axis
	}
	for _, axis := range []struct{ name, text string }{{"strategy", axes.Strategy}, {"surprise", axes.Surprise}, {"root_cause", axes.RootCause}} {
		if strings.TrimSpace(axis.text) == "" {
			continue
		}
		chunks = append(chunks, Chunk{Axis: axis.name, Span: schemas.Span{End: len(axis.text)}})
		*texts = append(*texts, axis.text)
	}
	return chunks
}
