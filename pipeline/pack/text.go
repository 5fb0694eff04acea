package pack

import "strings"

// Plain returns text as a pack shows it: without control and direction-changing
// characters and empty lines, and with a backslash before every line but the first
// that would be read as structure.
func Plain(text string) string { return sanitise(text) }

// Printable returns text without control characters, invalid bytes and characters
// that change the direction of text or hide in it. Lines stay as they are.
func Printable(text string) string { return printable(text) }

// Fence returns a code fence that is longer than any run of backquotes in text.
func Fence(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}
