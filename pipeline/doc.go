// Package pipeline is the engine: it takes a context request through the stages and
// commits what happened to the log before anything leaves.
//
//	validate → wait for min_position → relevance → selection → policy slice → defend →
//	pack → compaction → isolation → log → result
//
// It promises:
//
//   - No log commit, no reply. The pack, the drop report and the decisions of a request
//     are one Append: context.packed, context.dropped, policy.decided.
//   - No verdict, no item. A policy that cannot answer ends the request with a typed
//     error and a request.refused entry; nothing of any item leaves. A policy that
//     denies everything gives the minimal pack: the user and policy sections.
//   - The log's data holds ids, scores, verdicts and hashes, never content, query or
//     message. What the caller saw is the attachment of context.packed, which an
//     erasure of one of its items takes away.
//   - The same stores, request, now and as_of give the same text.
//
// Errors are [*schemas.Error]. An Engine is safe for concurrent use; it starts no
// goroutine that outlives a call.
package pipeline
