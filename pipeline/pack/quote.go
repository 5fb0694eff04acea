package pack

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// formatQuotation shows passages behind their place. Code of several lines is in
// a fence; of links in other texts their words alone are shown.
func formatQuotation(c *candidate.Candidate) string {
	content := c.Content.Text()
	head := makeLabel(c.Quote.Head)
	if c.Kind != schemas.KindCode {
		text := withCode(content)
		if c.Speaker != "" && c.Kind == schemas.KindMemory {
			head = strings.TrimSpace(head + " " + Said(c) + ":")
		}
		switch {
		case strings.HasPrefix(text, "```"): // behind a reference it would be no fence
			return head + "\n" + text
		case head == "":
			return Opening(c, text) + text
		}
		return head + " " + text
	}
	if c.Quote.Signature != "" {
		head = strings.TrimSpace(head + " " + makeLabel(c.Quote.Signature))
	}
	if c.Quote.Comment != "" {
		head += "\n" + sanitiseText(c.Quote.Comment)
	}
	content = strings.TrimRight(content, " \t\n")
	if strings.Contains(content, "\n") {
		return fenceText(strings.TrimPrefix(head, "\n"), content)
	}
	between := " "
	if c.Quote.Comment != "" {
		between = "\n"
	}
	return strings.TrimSpace(head + between + sanitiseText(content))
}

// fenceLine finds a line that begins or ends a block of code in Markdown, with its language. In a list it is indented, or begins
// behind the marks of the entry.
var fenceLine = regexp.MustCompile("^((?:[ \\t]|[-*+][ \\t]|[0-9]{1,9}[.)][ \\t])*)(`{3,}|~{3,}) *([\\w+#.-]{0,20})[^`\n]*\n?$")

// withCode is a text without links and structure, but that its blocks of code stay as they are.
func withCode(text string) string {
	return WithCode(text, func(prose string, first bool) string {
		prose = Unlinked(prose)
		if first {
			return sanitiseText(prose)
		}
		return sanitiseLines(prose, false)
	})
}

// WithCode is a text with its blocks of code as they are, each in a fence that nothing in it ends and without the indentation
// of that, and what clean makes of the prose between them, of which the first is at the beginning.
func WithCode(text string, clean func(prose string, first bool) string) string {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return clean(text, true)
	}
	var out []string
	lines := slices.Collect(strings.Lines(text))
	prose := 0
	unclosed := map[byte]int{} // by mark, from which length no fence has an end
	add := func(to int) {
		if shown := clean(strings.Join(lines[prose:to], ""), len(out) == 0); shown != "" {
			out = append(out, shown)
		}
	}
	for i := 0; i < len(lines); i++ {
		opens := fenceLine.FindStringSubmatch(lines[i])
		if opens == nil || unclosed[opens[2][0]] > 0 && len(opens[2]) >= unclosed[opens[2][0]] {
			continue
		}
		end := slices.IndexFunc(lines[i+1:], func(line string) bool {
			closes := fenceLine.FindStringSubmatch(line)
			return closes != nil && strings.HasPrefix(closes[2], opens[2]) && strings.TrimSpace(line) == closes[2]
		})
		if end < 0 {
			unclosed[opens[2][0]] = len(opens[2])
			continue
		}
		add(i)
		code := lines[i+1 : i+1+end]
		indent := opens[1]
		if strings.TrimSpace(indent) != "" {
			indent = strings.Repeat(" ", len(indent))
		}
		for n := range code {
			code[n] = strings.TrimPrefix(code[n], indent)
		}
		shown := language.Shown(strings.Join(code, ""))
		fence := Fence(shown)
		out = append(out, fence+opens[3]+"\n"+strings.TrimRight(shown, " \t\n")+"\n"+fence)
		i += 1 + end
		prose = i + 1
	}
	add(len(lines))
	return strings.Join(out, "\n")
}

// shownBytes is the size of what a result shows of an item: its content and its comment.
func shownBytes(c *candidate.Candidate) int {
	n := len(c.Content.Text())
	if c.Quote != nil {
		n += len(c.Quote.Comment)
	}
	return n
}

// links finds links of Markdown.
var links = regexp.MustCompile(`!?\[([^\[\]]+)\]\(((?:[^()\s]|\([^()\s]*\))*)(?: "[^"]*")?\)`)

// Unlinked returns a text with the words of its links, and the address where it is one of the web.
func Unlinked(text string) string {
	if !strings.Contains(text, "](") {
		return text
	}
	return links.ReplaceAllStringFunc(text, func(link string) string {
		parts := links.FindStringSubmatch(link)
		if target := parts[2]; link[0] != '!' && (strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")) {
			return parts[1] + " (" + target + ")"
		}
		return parts[1]
	})
}

// Cost returns the tokens that a candidate takes as it is shown, with the heading of its day.
func (b *Builder) Cost(by token.Counter, c *candidate.Candidate, zone *time.Location) int {
	text, verbatim := wholeText(c, zone)
	cost := referenceTokens + b.costs.countLineTokens(by, c, text, verbatim)
	if sectionOf(c) == schemas.SectionMemory && !c.CreatedAt.IsZero() {
		days := newDates(by, b.costs, zone)
		at := days.findDayIndex(c.CreatedAt)
		cost += days.list[at].cost + days.list[at].more
	}
	return cost
}

// Room returns the tokens that a pack has for items, under one heading.
func (b *Builder) Room(req Request, cs []candidate.Candidate) int {
	w := &packer{b: b, req: &req, cs: cs}
	w.fixed = w.fixedTexts()
	w.countFixedTexts()
	var demand [parts]float64
	for part, tokens := range w.said {
		if tokens > 0 {
			demand[part] = float64(tokens + 4)
		}
	}
	demand[partRecall] = float64(req.Budget)
	w.divideBudget(demand)
	room := w.countRemaining() - w.countTokens(findSectionHeading(slices.Index(sections[:], schemas.SectionKnowledge)))
	if req.Doubtful && req.Farther > 0 {
		room = min(room, doubtfulRoom(&req))
	}
	return max(0, room)
}
