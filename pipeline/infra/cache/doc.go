// Package cache has the caches in memory: a [Cache] of byte strings by tenant and id, without work for
// the garbage collector, and a [Memo] of what was read of texts.
//
// It promises that each stays within its bound, that no one gets what was put under another tenant or
// id, that what is deleted is wiped, and that a Memo keeps no text. Any package may import it.
package cache
