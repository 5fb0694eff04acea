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
	name, author := label(r.Speaker), r.OtherAuthor("")
	switch r.Credit {
	case candidate.CreditAbove:
		return name
	case candidate.CreditBeside:
		author = r.Author
	}
	return candidate.WrittenBy(name, label(author))
}

// Writer names the agent that wrote an item without a speaker, with a space behind it, where the text begins as if it had
// one and a registry says who writes. Where the agent is the one that is named above, there is nothing to add: it vouches
// for what it wrote as for the speakers that it names.
func Writer(r *candidate.Candidate, text string) string {
	if r.Abbreviated {
		_, text, _ = strings.Cut(text, ") ")
	}
	author := r.OtherAuthor(text)
	if r.Speaker != "" || r.Credit == candidate.CreditAbove || author == "" {
		return ""
	}
	return candidate.WrittenBy("", label(author)) + " "
}

// Credit returns the agent that wrote most of the items that name another as their speaker, "" where
// none wrote two of them. Its items are credited above, so that a conversation which one agent imported
// costs a line; every other item names its author beside it.
func Credit(cs []candidate.Candidate) string {
	wrote, most := map[string]int{}, ""
	for i := range cs {
		if author := cs[i].OtherAuthor(""); author != "" && cs[i].Kept() {
			wrote[author]++
		}
	}
	for _, author := range slices.Sorted(maps.Keys(wrote)) {
		if wrote[author] > max(1, wrote[most]) {
			most = author
		}
	}
	for i := range cs {
		switch c := &cs[i]; {
		case most == "":
			c.Credit = candidate.CreditOther
		case c.Author == most:
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
