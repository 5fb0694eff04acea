// Package witness is a witness of transparency logs, as C2SP tlog-witness has it: a log sends each
// signed head to it, and it cosigns the head if that continues the one it cosigned before. Whoever
// trusts the witness then knows that nobody was shown another history.
//
// It promises that of two heads, neither of which continues the other, it cosigns one. Its database
// has the newest head of each log. A head is compared with that and takes its place in one
// transaction, which is on the disk before the cosignature is made. So a crash at any moment costs
// at most the reply: the log asks again. The database MUST NOT be replaced by an older copy.
//
// Cosignatures are Ed25519 cosignature/v1 (C2SP tlog-cosignature).
package witness
