package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"satchel/schemas"
)

// section is what stands under one heading of a Markdown file.
type section struct {
	path  []string // of headings, the section's own last; empty before the first
	text  string   // without the heading
	place int      // which of those of its path it is, from 0
}

// mostLevels is how deep Markdown's headings go.
const mostLevels = 6

// sections splits Markdown at its headings (# and no underlines), but for those in code
// fences. A heading with nothing under it is in the paths of those below it, and a
// section of its own only when there are none.
func sections(text string) []section {
	var out []section
	var path []string
	var levels []int
	var body strings.Builder
	fence, headed := "", false
	places := map[string]int{}
	end := func() {
		content := strings.TrimSpace(body.String())
		body.Reset()
		if content == "" && !headed {
			return
		}
		s := section{path: append([]string(nil), path...), text: content}
		key := strings.Join(path, "\x00")
		s.place = places[key]
		places[key]++
		out = append(out, s)
	}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if mark := fenceMark(trimmed); mark != "" && (fence == "" || strings.HasPrefix(mark, fence) && mark == trimmed) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
		}
		level, title := headingOf(line)
		if level == 0 || fence != "" {
			body.WriteString(line)
			continue
		}
		above := len(levels) > 0 && level > levels[len(levels)-1]
		headed = headed && !(above && strings.TrimSpace(body.String()) == "")
		end()
		for len(levels) > 0 && levels[len(levels)-1] >= level {
			path, levels = path[:len(path)-1], levels[:len(levels)-1]
		}
		path, levels, headed = append(path, title), append(levels, level), true
	}
	end()
	return out
}

// fenceMark returns the backquotes or tildes that a fence begins with.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// headingOf returns the level and the title of a line that is a heading, 0 for another.
func headingOf(line string) (int, string) {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	if level == 0 || level > mostLevels || indent > 3 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	return level, strings.TrimSpace(strings.TrimRight(strings.TrimSpace(rest), "#"))
}

// title is the path in words.
func (s *section) title() string { return strings.Join(s.path, pathMark) }

// pathMark stands between the headings of a path.
const pathMark = " › "

// content is what is remembered of a section: its path on a line, and the text.
func (s *section) content() string {
	switch {
	case len(s.path) == 0:
		return s.text
	case s.text == "":
		return s.title()
	}
	return s.title() + "\n" + s.text
}

// uri is where a section is: the file, and its heading as web pages of Markdown name it.
func (s *section) uri(file string) string {
	if len(s.path) == 0 {
		return file
	}
	var b strings.Builder
	for _, r := range strings.ToLower(s.path[len(s.path)-1]) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			b.WriteRune(r)
		}
	}
	if s.place > 0 {
		b.WriteString("-" + strconv.Itoa(s.place))
	}
	return file + "#" + b.String()
}

// id is the file's for its first section, and otherwise made from file and path, so that
// a section keeps it wherever in the file it stands.
func (s *section) id(file string, first bool) string {
	if first {
		return file
	}
	sum := sha256.Sum256([]byte(file + "\x00" + strings.Join(s.path, "\x00") + "\x00" + strconv.Itoa(s.place)))
	return markdownID + hex.EncodeToString(sum[:12])
}

// markdown makes an item of each section of a file, all but their ids, sources and texts
// as in item.
func markdown(where, text string, item schemas.MemoryItem, add func(string, schemas.MemoryItem, []schemas.Issue)) {
	list := sections(text)
	if len(list) == 0 {
		list = []section{{text: text}}
	}
	file, uri := item.ID, item.Provenance.SourceURI
	for i := range list {
		s := &list[i]
		item.ID = s.id(file, i == 0)
		if i > 0 {
			item.Provenance.SourceURI = s.uri(uri)
		}
		item.Content = schemas.TextContent(s.content())
		at := where
		if len(s.path) > 0 {
			at = fmt.Sprintf("%s (%s)", where, s.title())
		}
		add(at, item, item.Validate())
	}
}
