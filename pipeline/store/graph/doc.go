// Package graph is who is linked to whom: items, the links between them, and the
// entities they name.
//
// The graph is a fold of the log, in order of position:
//
//	put     inserts the node, or replaces its facets, its own links and its entities.
//	        A version never replaces a newer one. Links that were added stay.
//	link    adds links from an id, whether its node is there already or not.
//	remove  removes the nodes and every link from them. Links to them stay with the
//	        nodes that hold them and lead nowhere.
//
// An edge is walked in both directions. A node that was not put, or whose facets do not
// pass the filter, is neither returned nor walked through. Entity nodes carry no facets:
// they are passed through and never returned. The walk counts edges, so two items that
// name the same entity are two hops apart.
//
// Of a node's edges a walk follows the first FanOut that lead to a node it may enter:
// those that leave it before those that reach it, the newest first (by the log position
// that wrote the edge, then by their order there, last first). Entities named by more
// than 50 items and more than a fifth of the items of the walk's population say little and are
// not followed. Other items, and those the walk excludes, are not counted.
//
// Graph is the portable type: it checks the scope, bounds what is asked and calls a
// Driver, which never sees a zero scope and never folds: Batch.Fold does. A driver MUST
// commit the nodes of a batch and the checkpoint in one transaction.
package graph
