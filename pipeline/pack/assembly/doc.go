// Package assembly puts context of several kinds of source into one Markdown text:
// memories, code, experiences, values and commits, and the warnings of a premortem.
//
// It owns the format and the metadata of each source, the adjustment of relevance by
// source, what counts as the same thing in two sources, the share of the token budget
// each source gets, and the cap of a single item.
//
// It promises that the text takes at most max_tokens by the tokenizer it was given,
// and up to a tenth more only where a source that has results would otherwise have
// none, which it reports; that no item takes more than a quarter of its source's share
// (or 150 tokens, where a quarter is less), but for a quotation, and for an item that is shown
// alone, since nothing fits beside it; that a source without results has no
// heading; and that nothing in an item is read as structure of the text.
//
//	relevance   × tier of an experience: gold 1, silver .95, bronze .9, other .8
//	            × importance of a memory: .8 + .2·importance
//	            × age of an experience: .95 + .05/(1 + days/30)
//	budget      memories 1, code 2, experiences 3, values 1, commits 2, of what title,
//	            headings and footer leave; what a source can't use goes to the others
//	            by the same weights, then to sources whose share is too small for any
//	            of their items, and at last to the most relevant items that fit; where
//	            nothing fits beside the other sources' headings, fewer are written
//	same        one GHAP id in experiences and values: the more relevant item stays
//	quotations  documents, code and commits are shown by the passages that were chosen
//	            for the question, and are not cut again; their relevance is not adjusted
package assembly
