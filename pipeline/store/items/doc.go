// Package items is the current state of every item of a tenant: what a search result is
// hydrated from, who is beside whom in a session, what is recent, and the figures
// the ranking needs about a tenant.
//
// Items are a fold of the log, in order of position:
//
//	recorded    inserts the item, or replaces the one with that id: content, labels and
//	            its own links. A version never replaces a newer one. The id keeps its
//	            access count, the links added to it and its place among the items of
//	            the same session; it counts as current again.
//	linked      adds links to an id, whether the item is there already or not.
//	superseded  names the item that replaces this one; unknown ids are ignored.
//	accessed    adds one to the access count of the ids that are there.
//	novelty     keeps what was computed of ids. A new version takes it away; an item's own
//	            novelty goes before it.
//	erased      removes every trace of the ids.
//
// Items is the portable type: it checks the scope, drops what makes no sense and calls a
// Driver, which never sees a zero scope and never folds: Batch.Fold does. A driver MUST
// commit the rows of a batch and the checkpoint in one transaction.
//
// A row is (tenant, id, tokens, head, body). Metadata.Append and AppendPayload define the two
// encoded columns: the metadata is what changes after writing and what a directory of all
// items needs; the payload is the rest of the record. Times come back in UTC.
package items
