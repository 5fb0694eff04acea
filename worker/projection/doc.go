// Package projection keeps the indexes up with the log: items, keywords, vectors and the graph.
//
// A [Projector] reads a tenant's log from after the lowest checkpoint on, turns the entries into changes,
// which are a pure function of entries, model and detector of personal data, and applies them to each
// store together with the store's new checkpoint. A crash repeats entries that a store skips by their
// position. A store that fails stays where it is while the others go on.
//
//	entries ──► changes ──► items, keyword, vector, graph: each with its own checkpoint
//
// Requests enter through the Projector. After a start, a rebuild, or a switch to another vector index
// the first request notes the log's head, and nobody searches a tenant's indexes before they have
// passed it: what was acknowledged is found, and what was erased is not.
//
// A [Reindexer] fills a vector index by another model meanwhile; SwitchIndex then makes it the one
// that is fed. Where several workers share a store, the owner of the tenant feeds it and the others
// wait for it.
package projection
