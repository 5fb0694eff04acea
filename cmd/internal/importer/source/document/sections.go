package document

import (
	"regexp"
	"strings"
)

// maxLevel is how deep Markdown's headings go.
const maxLevel = 6

// heading is a title of a text.
type heading struct {
	level int
	title string
	lines int // that it takes
	skip  int // of them before the title
}

// Sections splits the text of the file called name at its headings, but for those in code
// fences. A heading with nothing under it is in the paths of those below it, and a section
// of its own only when there are none. A file without any text has none.
func Sections(name, text string) []Section {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var heads map[int]heading
	if Language(name) == "rst" {
		heads = rstHeadings(lines)
	} else {
		heads = markdownHeadings(lines)
	}
	s := splitter{lines: lines, places: map[string]int{}}
	for i := 0; i < len(lines); i++ {
		h, ok := heads[i]
		if !ok {
			continue
		}
		s.end(i, len(s.levels) > 0 && h.level > s.levels[len(s.levels)-1])
		for len(s.levels) > 0 && s.levels[len(s.levels)-1] >= h.level {
			s.path, s.levels = s.path[:len(s.path)-1], s.levels[:len(s.levels)-1]
		}
		s.path, s.levels = append(s.path, h.title), append(s.levels, h.level)
		s.start, s.body = i+h.skip, i+h.lines
		i += h.lines - 1
	}
	s.end(len(lines), false)
	return s.out
}

// splitter collects sections.
type splitter struct {
	lines  []string
	path   []string
	levels []int
	start  int // line of the heading, from 0
	body   int // first line after it
	places map[string]int
	out    []Section
}

// end adds the section up to a line; one without text is left out where a heading of a
// deeper level follows, which above says.
func (s *splitter) end(at int, above bool) {
	last := at
	for last > s.body && strings.TrimSpace(s.lines[last-1]) == "" {
		last--
	}
	start := s.start
	if len(s.path) == 0 {
		for start < last && strings.TrimSpace(s.lines[start]) == "" {
			start++
		}
		if start == last {
			return
		}
	} else if last == s.body && above {
		return
	}
	section := Section{Path: append([]string(nil), s.path...), Line: start + 1, EndLine: max(last, start+1)}
	if len(s.path) == 0 {
		section.Text = strings.Join(s.lines[start:last], "\n")
	} else if last > s.body {
		// An underline is an empty line, so that each line of the content is one of the file.
		section.Text = strings.Repeat("\n", s.body-start-1) + strings.Join(s.lines[s.body:last], "\n")
	}
	if strings.TrimSpace(section.Content()) == "" {
		return // a heading without words
	}
	key := strings.Join(s.path, "\x00")
	section.Place = s.places[key]
	s.places[key]++
	s.out = append(s.out, section)
}

// markdownHeadings finds the headings by the line on which they start. The title of a
// front matter is one of the first level where the text has no other. The lines of a front
// matter, but for its description, are emptied.
func markdownHeadings(lines []string) map[int]heading {
	heads := map[int]heading{}
	front, at := -1, frontMatter(lines, heads)
	for i := range heads {
		front = i
	}
	fence, tag := "", ""
	for i := at; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		if fence == "" && tag == "" {
			tag = verbatimTag(trimmed)
		}
		if tag != "" {
			if strings.Contains(strings.ToLower(trimmed), tag) {
				tag = ""
			}
			continue
		}
		if mark := fenceMark(trimmed); mark != "" && (fence == "" || strings.HasPrefix(mark, fence) && mark == trimmed) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		level, text := headingOf(lines[i])
		head := heading{level: level, title: text, lines: 1}
		if level == 0 && i+1 < len(lines) && (i == at || strings.TrimSpace(lines[i-1]) == "") && paragraph(lines[i]) {
			head = heading{level: underline(lines[i+1]), title: title(trimmed), lines: 2}
		}
		if head.level == 0 {
			continue
		}
		if head.level == 1 {
			delete(heads, front)
		}
		heads[i] = head
		i += head.lines - 1
	}
	return heads
}

// verbatimTag is what ends a block of HTML whose lines are no Markdown, "" for a line that begins none.
func verbatimTag(line string) string {
	lower := strings.ToLower(line)
	for _, name := range []string{"pre", "script", "style", "textarea"} {
		if rest, ok := strings.CutPrefix(lower, "<"+name); ok && (rest == "" || strings.ContainsAny(rest[:1], " >\t")) {
			return "</" + name + ">"
		}
	}
	if strings.HasPrefix(lower, "<!--") {
		return "-->"
	}
	return ""
}

// frontMatter reads what stands between two lines of three hyphens at the beginning, and
// returns the line after it.
func frontMatter(lines []string, heads map[int]heading) int {
	if strings.TrimRight(lines[0], " \t") != "---" {
		return 0
	}
	for end := 1; end < len(lines) && end < 200; end++ {
		if strings.TrimRight(lines[end], " \t") != "---" {
			continue
		}
		for i := 0; i <= end; i++ {
			name, value, _ := strings.Cut(lines[i], ":")
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			lines[i] = ""
			switch {
			case name == "title" && value != "":
				heads[i] = heading{level: 1, title: title(value), lines: 1}
			case name == "description" || name == "summary":
				lines[i] = value
			}
		}
		return end + 1
	}
	return 0
}

// paragraph reports whether a line may be a title that the next line underlines.
func paragraph(line string) bool {
	trimmed := strings.TrimSpace(line)
	return trimmed != "" && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t") && !strings.ContainsAny(trimmed[:1], ">|-*+<#=`~")
}

// underline is the level that a line of equals signs or hyphens gives the line above it.
func underline(line string) int {
	line = strings.TrimSpace(line)
	switch {
	case len(line) < 3:
		return 0
	case strings.Trim(line, "=") == "":
		return 1
	case strings.Trim(line, "-") == "":
		return 2
	}
	return 0
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
	if level == 0 || level > maxLevel || indent > 3 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	return level, title(strings.TrimRight(strings.TrimSpace(rest), "#"))
}

var (
	linked = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()]*\)`)
	marked = regexp.MustCompile(`</?[a-zA-Z][^<>]*>|\{#[^{}]*\}|\{\{<?[^{}]*>?\}\}|<!--.*?-->`)
)

// title is a heading without the targets of its links, its markup and its anchors.
func title(text string) string {
	plain := strings.TrimSpace(marked.ReplaceAllString(linked.ReplaceAllString(text, "$1"), ""))
	if plain == "" {
		return strings.TrimSpace(text)
	}
	return plain
}

// rstHeadings finds the headings of reStructuredText: a line with a line of one mark below
// it, and above it perhaps. The levels are those of the marks, as they first appear.
func rstHeadings(lines []string) map[int]heading {
	heads := map[int]heading{}
	levels := map[string]int{}
	for i := 0; i+1 < len(lines); i++ {
		over := rstMark(lines[i])
		at := i
		if over != "" {
			at++
		}
		if at+1 >= len(lines) || strings.TrimSpace(lines[at]) == "" || rstMark(lines[at]) != "" {
			continue
		}
		under := rstMark(lines[at+1])
		text := strings.TrimSpace(lines[at])
		short := len(strings.TrimSpace(lines[at+1])) < len([]rune(text))
		if under == "" || over != "" && over != under || short || over == "" && lines[at][0] == ' ' || over == "" && i > 0 && strings.TrimSpace(lines[i-1]) != "" {
			continue
		}
		style := over + under
		if levels[style] == 0 {
			levels[style] = len(levels) + 1
		}
		heads[i] = heading{level: levels[style], title: text, lines: at + 2 - i, skip: at - i}
		i = at + 1
	}
	return heads
}

// rstMark is the mark that a line repeats at least three times, and nothing else.
func rstMark(line string) string {
	line = strings.TrimRight(line, " \t")
	if len(line) < 3 || !strings.ContainsAny(line[:1], "=-~^\"'`#*+.:_<>") || strings.Trim(line, line[:1]) != "" {
		return ""
	}
	return line[:1]
}
