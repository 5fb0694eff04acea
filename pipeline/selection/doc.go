// Package selection chooses what a context pack may hold: it retrieves, fuses,
// ranks, slices by policy and defends.
//
// The way of a request through it:
//
//	retrieve   keyword, vector, graph and recency retrievers, in parallel, each with
//	           a deadline; a late or failed one degrades the result and is named
//	fuse       weighted z-scores of the channels, each damped with its neighbours
//	           in the conversation; a score a retriever did not return is looked up
//	features   cues from query and item that add to the fused score
//	signals    the eight H4R signals; a profile weighs them into the final score
//	slice      the full policy on every survivor, in one decision; redaction
//	defend     expired, superseded and repeated items are dropped, with the reason
//
// It promises that an item the policy denies is never named in a drop with another
// reason, that a verdict that is missing is a denial, and that the same stores, query
// and time give the same ranking: ties are broken by id.
//
// Every ingredient is a no-op where the data lack what it needs: no sessions, no
// speakers, no dates, no vectors, one item.
package selection
