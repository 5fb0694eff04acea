package eventlog

import (
	"strconv"
	"strings"
)

// ErasureSubject is the subject of every memory.erased entry, so that they are found without
// reading the whole log.
const ErasureSubject = "erasure"

// ErasedAttachments is the extension of an erasure's entry that lists the positions whose attachments
// went with it, as JoinPositions writes them: they cannot be found by item afterwards. Verify takes a
// missing attachment that a later erasure lists for erased.
const ErasedAttachments = "satchelpacks"

// JoinPositions writes positions as decimals with commas between.
func JoinPositions(positions []int64) string {
	text := make([]string, len(positions))
	for i, p := range positions {
		text[i] = strconv.FormatInt(p, 10)
	}
	return strings.Join(text, ",")
}

// SplitPositions reads what JoinPositions wrote; what is no number is left out.
func SplitPositions(text string) []int64 {
	positions := []int64{}
	for part := range strings.SplitSeq(text, ",") {
		if p, err := strconv.ParseInt(part, 10, 64); err == nil {
			positions = append(positions, p)
		}
	}
	return positions
}
