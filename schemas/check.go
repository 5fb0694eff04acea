package schemas

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// checker collects issues. Messages and pointers are built on failure only.
type checker struct{ issues []Issue }

func (c *checker) addIssue(pointer, message string) {
	c.issues = append(c.issues, Issue{Pointer: pointer, Message: message})
}

// ValidID reports whether s can be an id: [A-Za-z0-9._:-]{1,128}.
func ValidID(s string) bool { return isMadeOf(s, 128, "._:-") }

// ValidToken reports whether s can be a subject token (tenant, agent, role):
// [A-Za-z0-9_-]{1,64}.
func ValidToken(s string) bool { return isMadeOf(s, 64, "_-") }

// ValidLabel reports whether s is an ABAC label name:value with a name of
// [a-z][a-z0-9_-]{0,63} and a value of [A-Za-z0-9._:@/+-]{1,128}.
func ValidLabel(s string) bool {
	name, value, _ := strings.Cut(s, ":")
	if !isMadeOf(name, 64, "_-") || !validLabelValue(value) {
		return false
	}
	return isLower(name[0]) && name == strings.ToLower(name)
}

func validLabelValue(s string) bool { return isMadeOf(s, 128, "._:@/+-") }

// isMadeOf reports whether s has 1 to most letters, digits and characters of others.
func isMadeOf(s string, most int, others string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= most
}

// isHex reports whether s has least to most hex digits in lower case.
func isHex(s string, least, most int) bool {
	return len(s) >= least && len(s) <= most && strings.Trim(s, "0123456789abcdef") == ""
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isAlnum(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) }

const (
	wantID    = "must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -"
	wantToken = "must be 1 to 64 of the characters A-Z a-z 0-9 _ -"
	wantRel   = "must be caused_by, supersedes, mentions, part_of, follows or derived_from"
	required  = "is required"
)

func (c *checker) checkID(pointer, s string) {
	if !ValidID(s) {
		c.addIssue(pointer, orRequired(s, wantID))
	}
}

func (c *checker) checkOptionalID(pointer, s string) {
	if s != "" {
		c.checkID(pointer, s)
	}
}

// checkEachID checks the ids of a list.
func (c *checker) checkEachID(pointer string, ids []string) {
	for i, id := range ids {
		if !ValidID(id) {
			c.checkID(pointerAt(pointer, i), id)
		}
	}
}

func (c *checker) checkToken(pointer, s string) {
	if !ValidToken(s) {
		c.addIssue(pointer, orRequired(s, wantToken))
	}
}

func (c *checker) checkOptionalToken(pointer, s string) {
	if s != "" {
		c.checkToken(pointer, s)
	}
}

// checkGiven refuses a text that is blank.
func (c *checker) checkGiven(pointer, s string) {
	if isBlank(s) {
		c.addIssue(pointer, required)
	}
}

// checkPresent refuses what has a length of 0.
func (c *checker) checkPresent(pointer string, length int) {
	if length == 0 {
		c.addIssue(pointer, required)
	}
}

// checkWord refuses a text that is none of words, "" among them where the text is optional.
func (c *checker) checkWord(pointer, s, message string, words ...string) {
	if !slices.Contains(words, s) {
		c.addIssue(pointer, orRequired(s, message))
	}
}

// checkCount refuses more than most of something.
func (c *checker) checkCount(pointer string, n, most int, of string) {
	if n > most {
		c.addIssue(pointer, "must have at most "+strconv.Itoa(most)+" "+of)
	}
}

func (c *checker) checkNotNegative(pointer string, n int64) {
	if n < 0 {
		c.addIssue(pointer, "must not be negative")
	}
}

func orRequired(s, message string) string {
	if s == "" {
		return required
	}
	return message
}

// checkShort checks an optional text of at most limit characters without control characters.
func (c *checker) checkShort(pointer, s string, limit int) {
	if len(s) > limit && utf8.RuneCountInString(s) > limit {
		c.addIssue(pointer, "must have at most "+strconv.Itoa(limit)+" characters")
	}
	if hasControl(s) {
		c.addIssue(pointer, "must not hold control characters")
	}
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// checkName checks a text of at most MaxName characters. The pointer is built on failure only.
func (c *checker) checkName(pointer, name, s string) {
	if len(s) > MaxName || hasControl(s) {
		c.checkShort(pointer+name, s, MaxName)
	}
}

// checkShorts checks a list of short, non-empty texts.
func (c *checker) checkShorts(pointer string, list []string, most int) {
	c.checkCount(pointer, len(list), most, "entries")
	for i, s := range list {
		if s == "" {
			c.addIssue(pointerAt(pointer, i), "must not be empty")
		} else if len(s) > MaxName || hasControl(s) {
			c.checkShort(pointerAt(pointer, i), s, MaxName)
		}
	}
}

// checkUnit checks an optional number between 0 and 1. NaN fails.
func (c *checker) checkUnit(pointer string, p *float64) {
	if p != nil && !(*p >= 0 && *p <= 1) {
		c.addIssue(pointer, "must be a number between 0 and 1")
	}
}

func (c *checker) checkRange(pointer string, v, least, most int64) {
	if v < least || v > most {
		c.addIssue(pointer, "must be between "+strconv.FormatInt(least, 10)+" and "+strconv.FormatInt(most, 10))
	}
}

// checkSame refuses two texts that differ.
func (c *checker) checkSame(pointer, a, b, message string) {
	if a != "" && b != "" && a != b {
		c.addIssue(pointer, message)
	}
}

func (c *checker) checkOrder(pointer string, late, early time.Time, message string) {
	if !late.IsZero() && !early.IsZero() && late.Before(early) {
		c.addIssue(pointer, message)
	}
}

// pointerAt returns the pointer of element i.
func pointerAt(pointer string, i int) string { return pointer + "/" + strconv.Itoa(i) }

// escapePointer escapes one name for a JSON pointer (RFC 6901) and bounds its length.
func escapePointer(name string) string {
	if len(name) > 64 {
		cut := 64
		for cut > 0 && !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + "…"
	}
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
