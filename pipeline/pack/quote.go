package pack

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// quotation shows passages behind the place that they stand at. Code of several lines stands in
// a fence; of links in other texts their words alone are shown.
func quotation(c *candidate.Candidate) string {
	content := c.Content.Text()
	head := label(c.Quote.Head)
	if c.Kind != schemas.KindCode {
		text := sanitise(Unlinked(content))
		if head == "" {
			return text
		}
		return head + " " + text
	}
	if c.Quote.Signature != "" {
		head = strings.TrimSpace(head + " " + label(c.Quote.Signature))
	}
	if c.Quote.Comment != "" {
		head += "\n" + sanitise(c.Quote.Comment)
	}
	content = strings.TrimRight(content, " \t\n")
	if strings.Contains(content, "\n") {
		return fenced(strings.TrimPrefix(head, "\n"), content)
	}
	between := " "
	if c.Quote.Comment != "" {
		between = "\n"
	}
	return strings.TrimSpace(head + between + sanitise(content))
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
var links = regexp.MustCompile(`!?\[([^\[\]]+)\]\((?:[^()\s]|\([^()\s]*\))*(?: "[^"]*")?\)`)

// Unlinked returns a text with the words of its links alone.
func Unlinked(text string) string {
	if !strings.Contains(text, "](") {
		return text
	}
	return links.ReplaceAllString(text, "$1")
}

// Cost returns the tokens that a candidate takes as it is shown, without its heading.
func (b *Builder) Cost(by token.Counter, c *candidate.Candidate) int {
	text, verbatim := body(c)
	return referenceTokens + b.costs.line(by, c, text, verbatim)
}

// Room returns the tokens that a pack has for items, under one heading.
func (b *Builder) Room(req Request, cs []candidate.Candidate) int {
	w := &packer{b: b, req: &req, cs: cs}
	w.fixed = w.fixedTexts()
	w.say()
	var demand [parts]float64
	for part, tokens := range w.said {
		if tokens > 0 {
			demand[part] = float64(tokens + 4)
		}
	}
	demand[partRecall] = float64(cmp.Or(req.Recall, req.Budget))
	w.limits = allot(req.Budget, b.shares.list(), demand)
	w.trim()
	w.say()
	return max(0, w.room(partRecall)-w.count(heading(slices.Index(sections[:], schemas.SectionKnowledge))))
}
