// Package eventlog is the truth: one append-only Merkle log per tenant. Everything
// that must be believed later is in it; every index can be rebuilt from it.
//
// [Log] is the portable type: hashing, salts, group commit, proofs, verification. It
// works over a [Driver], which stores rows, hashes, heads and checkpoints in
// transactions and knows nothing of what they mean. Package eventlogtest holds the suite
// that every driver passes. A Log is safe for concurrent use.
//
// # Promises
//
//   - Positions of a tenant start at 1 and are dense; a leaf never changes.
//   - A batch commits in one transaction with its tree hashes, the head and the
//     checkpoint. A batch whose checkpoint carries an outdated fence writes nothing.
//   - (tenant, source, id) is unique. The same key with the same type and content is
//     a [Duplicate], with other content it is [IDConflict], with erased content [Erased].
//   - Every read recomputes the leaf and the commitment of what it returns. A flipped
//     bit is a [*VerifyError], never a silently different entry.
//   - Content can be erased while the tree stays whole: the leaf covers a salted
//     commitment, content and salt are apart.
//
// # Leaf preimage
//
// The leaf hash of an entry is SHA-256(0x00 ‖ preimage) (RFC 6962, section 2.1). The
// preimage is text: the line "satchel log leaf v1", then a line for each column, in
// this order,
//
//	name SP length SP value LF
//
// where length is the number of bytes of value, in decimal. Value may hold any byte.
//
//	tenant       the tenant
//	position     decimal, from 1; the leaf index is position − 1
//	agent        the agent, may be empty
//	type         CloudEvents type
//	source       CloudEvents source
//	id           CloudEvents id
//	subject      CloudEvents subject, may be empty
//	time         event time, UTC, 2006-01-02T15:04:05.000000000Z; empty when there is none
//	recorded_at  when the log took it, same form
//	commitment   64 lower-case hex digits
//	attachment   64 lower-case hex digits, or empty when nothing is attached
//
// # Commitments
//
//	commitment = SHA-256(salt ‖ SHA-256(extensions) ‖ SHA-256(data))
//	attachment = SHA-256(salt ‖ SHA-256(refs) ‖ SHA-256(bytes))
//
// A salt is 32 random bytes, another one for each commitment. Extensions are the
// lines "name SP length SP value LF" of every extension in the byte order of their
// names; refs are the lines "ref SP length SP value LF" in the order given. The log stores no hash
// of content without its salt. Hashes in an entry's data are salted by who wrote it, with [Log.Salt];
// those of artifacts, which name them, are not.
//
// # Heads and checkpoints
//
// Stored tree hashes are those of golang.org/x/mod/sumdb/tlog, at its stored hash
// index. A signed head is a C2SP checkpoint (tlog-checkpoint) inside a signed note:
//
//	<origin>/<tenant> LF
//	<size> LF
//	<root, base64> LF
//
// The key that signs it is named <origin>/<tenant>, too, as C2SP wants it.
//
// With Config.Keep the newest signed head of each tenant is kept in a file,
// <tenant>.checkpoint, which betrays a log that was rolled back or rewritten.
//
// # Erasures
//
// [Derived] names the items that bytes are made from. An erasure finds an attachment by these refs
// and a summary by its derived_from links. With Config.Erasures the log keeps every erasure in a
// signed list, the file <tenant>. [Log.LostErasures] compares the list with a log that was restored
// from an older copy. A record is a signed note,
//
//	satchel/<tenant>/erasures LF
//	<number, from 1> LF
//	<SHA-256 of the record before, hex; zeros for the first> LF
//	<KeptErasure, JSON> LF
//
// an empty line and the line of one signature. The last record's signature is over all of them.
package eventlog
