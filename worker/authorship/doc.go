// Package authorship decides whether an event may touch items that are there: record one again,
// hide it, link from it.
//
// A version of an item belongs to the key that signed it, else to the agent that published it. Policy
// decides on every version whose content the log has, given that owner, so that an agent changes what
// is its own and, where policy says so, what is others'. An event's claims narrow what it may touch:
// nothing above the clearance that it claims.
//
// A [Reviewer] promises one answer for a batch: a draft counts for those behind it only when the log
// will take it. When policy gives no verdict nothing is decided, and the error wraps [ErrNoVerdict].
package authorship
