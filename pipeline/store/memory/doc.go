// Package memory keeps indexes in memory, with snapshots on disk: [Keyword] (BM25) and [Vector] (a flat
// scan over 8-bit vectors), the drivers of the embedded mode. What they share is in shared.go: tenants
// that are loaded, evicted and written back.
//
// It promises that a search is exact, that the same changes give the same index, and that a snapshot
// which is missing, damaged or of another version leaves the tenant empty at checkpoint 0, so that it is
// folded from the log again.
package memory
