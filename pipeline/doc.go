// Package pipeline is the engine: it takes a request through the stages and commits the outcome to
// the log before anything leaves.
//
// Every operation takes the way that run.go shows, but Status, which reads no item. Each stage takes
// values and returns a value; it has a file named after the stage or its value:
//
//	stage      value       promise
//	request    Request     the request is valid and has its times; a context request has no limit above the engine's
//	await      Snapshot    the indexes have applied min_position
//	plan       Plan        nothing is looked for that policy or relevance leaves out beforehand
//	retrieve   Retrieved   candidates; nothing may show them yet
//	authorize  Authorized  every candidate has a verdict; denied ones are dropped, redacted ones are changed
//	rank       Ranked      the final order; harmful items are dropped, with the reason
//	pack       Packed      a text within the limits, and why it is empty where it is
//	account    Report      shown, dropped and denied items add up to the candidates, or nothing leaves
//	expose     []Exposed   only fields of a list leave
//	commit     Outcome     the log has the pack, the drop report and the decision
//	refuse                 an error without content; the log has the refusal
//
// A context request is retried once, from its plan, where policy leaves too few candidates.
// The files op_*.go have the operations. An operation fills in plan, retrieve, rank and pack; its
// Spec has the other differences:
//
//	operation       candidates from          order           text                 besides
//	Context         one query                the query's     pack builder         relevance, reranker, history, TL;DR, retry
//	Search          one query, links         score           none                 results with relationships
//	Build, Preview  one query, links         ranker          template             Preview has the scores, too
//	Assemble        a query for each source  adjusted score  Markdown             duplicates between sources
//	Premortem       axes of experiences      adjusted score  Markdown             only items of the domain
//	Compact         a pack or a session      score           pack builder         extracts, summaries that are kept
//	Recover         ids                      the client's    pack builder         duplicates stay
//	Items           ids, or a filter         the ids, time   none                 pages
//
// The package promises:
//
//   - No log commit, no reply. The pack, the drop report and the decisions of a request
//     are one Append: context.packed, context.dropped, policy.decided.
//   - No verdict, no item. A policy that cannot answer ends the request with a typed
//     error and a request.refused entry; nothing of any item leaves. A policy that
//     denies everything gives the minimal pack: the user and policy sections.
//   - The log's data holds ids, scores, verdicts and hashes, never content, query or
//     message. The result as the client saw it is the attachment of context.packed, which an
//     erasure of one of its items takes away.
//   - The same stores, request, now and as_of give the same text.
//
// Errors are [*schemas.Error]. An Engine is safe for concurrent use. It starts no goroutine that
// outlives a call.
package pipeline
