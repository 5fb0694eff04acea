package pack

import (
	"maps"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
)

// Said names who said an item: its speaker and, behind it, the agent that wrote the item where that
// is another and nothing before the items says so.
func Said(r *candidate.Candidate) string {
	name, author := label(r.Speaker), r.OtherAuthor()
	switch r.Credit {
	case candidate.CreditAbove:
		return name
	case candidate.CreditBeside:
		author = r.Author
	}
	return candidate.WrittenBy(name, label(author))
}

// Writer names the agent that wrote an item without a speaker, with a space behind it, where the text begins as if it had
// one and a registry says who writes. So it does where any item has an author. Where the agent is the one that is named
// above, there is nothing to add: it vouches for what it wrote as for the speakers that it names.
func Writer(r *candidate.Candidate, text string) string {
	if r.Abbreviated {
		_, text, _ = strings.Cut(text, ") ")
	}
	if r.Speaker != "" || r.Credit != candidate.CreditBeside || r.Visible.Writer == "" || !beginsWithName(text) {
		return ""
	}
	return writtenBy(r.Visible.Writer) + " "
}

// writtenBy stands before a text without a speaker.
func writtenBy(agent string) string { return strings.TrimSpace(candidate.WrittenBy("", label(agent))) }

// CreditEach names each author beside its items, where nothing stands before them.
func CreditEach(cs []candidate.Candidate) {
	known := registered(cs)
	for i := range cs {
		if cs[i].Credit = candidate.CreditOther; known && cs[i].Speaker == "" {
			cs[i].Credit = candidate.CreditBeside
		}
	}
}

// registered reports whether a registry says who writes.
func registered(cs []candidate.Candidate) bool {
	return slices.ContainsFunc(cs, func(c candidate.Candidate) bool { return c.Author != "" })
}

// Credit returns the agent that wrote most of the items that name another as their speaker, "" where
// none wrote two of them. Its items are credited above, so that a conversation which one agent imported
// costs a line; every other item names its author beside it.
func Credit(cs []candidate.Candidate) string {
	wrote, most := map[string]int{}, ""
	for i := range cs {
		if author := cs[i].OtherAuthor(); author != "" && cs[i].Kept() {
			wrote[author]++
		}
	}
	for _, author := range slices.Sorted(maps.Keys(wrote)) {
		if wrote[author] > max(1, wrote[most]) {
			most = author
		}
	}
	if most == "" {
		CreditEach(cs)
		return ""
	}
	for i := range cs {
		switch c := &cs[i]; {
		case c.Author == most, c.Speaker == "" && c.Visible.Writer == most:
			c.Credit = candidate.CreditAbove
		default:
			c.Credit = candidate.CreditBeside
		}
	}
	return most
}

// AuthorLine says who wrote the items that are credited above, "" where none is.
func AuthorLine(author string) string {
	if author == "" {
		return ""
	}
	return namedBy.say(label(author)) + "\n"
}
