// Package erasure takes the content of items away, everywhere, and proves it with a receipt.
//
// An erasure is an entry of the log, memory.erased, and goes in two steps. Begin deletes content and
// salt from the log in the transaction that appends the entry. Then, for as long as the Eraser runs,
// it finishes what was begun: it waits for the indexes, lets the requests end that searched before,
// takes along the summaries that were made meanwhile, scrubs the streams, the artifacts and every
// store, checks that nothing is left, and appends a second entry with the receipt.
//
//	begun ──► indexed ──► requests ended ──► scrubbed ──► checked ──► receipt
//
// An erasure without a receipt is pending. A crash at any point repeats steps that do no harm twice,
// and the next start finds what is pending. The list of erasures beside the log makes sure that a log
// restored from an older copy erases again: see [RepeatLost].
//
// Policy decides on every version of an item, and one denial refuses the erasure. So does a legal hold
// that covers a version; it is looked at again in the transaction that appends the entry. A receipt says of a
// store what a check after the scrub has found; a cache is emptied instead.
//
// Where several workers share the work, the owner of the tenant finishes an erasure; each of the others
// scrubs what it keeps for itself. A [Retainer] erases what the classes of a
// [Retention] keep no longer. Contents of artifacts that no item ever had are removed by the [Sweeper].
package erasure
