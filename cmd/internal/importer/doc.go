// Package importer publishes memories from files, documentation, git histories, source code and experiences, and the
// values that experiences have in common.
//
// It promises that importing again stores nothing twice: an event's id is made from the item. What is malformed is named,
// counted and left out, what the worker refuses is counted with its reason, and both end in a FoundError. What is gone from
// a repository or a folder ends. The readers are in the package source and those below it; they do not publish.
package importer
