package pack

import (
	"maps"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// Said names who said an item: its speaker and, behind it, the agent that wrote the item where that
// is another and nothing before the items says so.
func Said(r *candidate.Candidate) string {
	name := makeLabel(r.Speaker)
	author := r.OtherAuthor()
	switch r.Credit {
	case candidate.CreditAbove:
		return name
	case candidate.CreditBeside:
		author = r.Author
	}
	return schemas.WrittenBy(name, makeLabel(author))
}

// Writer names the agent that wrote an item which is shown without its speaker, with a space behind it, where a registry says who
// writes and nothing before the items names it.
func Writer(r *candidate.Candidate) string {
	if r.Credit == candidate.CreditAbove || r.Author == "" {
		return ""
	}
	return schemas.WrittenBy("", makeLabel(r.Author)) + " "
}

// Credit returns the agent that wrote most of the items that do not name it as their speaker, "" where
// none wrote two of them. Its items are credited above, so that what one agent imported
// costs a line; every other item names its author beside it.
func Credit(cs []candidate.Candidate) string {
	wrote := map[string]int{}
	most := ""
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
	return writtenBy.formatRemark(makeLabel(author)) + "\n"
}
