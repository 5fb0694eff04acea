// Package pack fills a context pack: which candidates are shown, in which section,
// and the text the model reads.
//
// It promises that the text never takes more tokens than the budget by the tokenizer
// it was given; that the same candidates and request give the same bytes; that every
// candidate is afterwards either shown or dropped with a reason; and that nothing in
// an item's content is read as structure of the pack.
//
// The text is Markdown. Items are counted one by one, which is exact for tokenizers
// that never join tokens over a line break before a character that is no white space:
// every item and every heading begins with such a character and ends with a line feed.
//
//	# Context                what this is, how to cite; the policy preamble
//	## Task                  as declared in the request
//	## Tools                 [n] signature and safety notes, best first
//	## Knowledge             [n] text, best at both ends
//	## Memory                days in order, "31 January 2026:", the next one "1 February:"
//	[n] speaker: text
//	## Safety                what was withheld, how to read recalled text
//	## User                  the user's message, last, because it changes every turn
//
// [n] is the place of the item in the result's list, from 1. What changes least comes
// first, so that a model's prompt cache hits from turn to turn. A pack that keeps to the
// one before begins with items of it; then sections may begin again.
package pack
