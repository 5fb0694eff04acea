// Package jetstream is Satchel on NATS: the subjects, the streams, the
// CloudEvents codec, and the adapters between JetStream and the worker. Of the packages
// that the worker is made of, it alone imports nats.go.
//
// # Subjects
//
//	mem.v1.<tenant>.evt.<agent>        stream MEMORY, memory events
//	mem.v1.<tenant>.put                request/reply, one write
//	mem.v1.<tenant>.plan               request/reply, what an erasure would take
//	ctx.v1.<tenant>.<verb>             request/reply, the engine's doors
//	ctx.v1.<tenant>.role.<role>        request/reply, one role
//	art.v1.<tenant>.{store,open,revoke} request/reply, an artifact by its handle
//	log.v1.<tenant>.<verb>             request/reply, heads, proofs, receipts, packs, entries
//	prov.v1.<tenant>.<kind>.<agent>    stream LEDGER, what the log holds
//	dlq.v1.<tenant>.<reason>           stream DLQ, rejected events with the cause
//
// A token matches [A-Za-z0-9_-]{1,64}.
//
// # Streams
//
// MEMORY stores an event under p.<partition>.<subject>, partition being a hash
// of the tenant; readers get the original subject back (OriginalSubject). It
// refuses new messages when full and is trimmed by the worker up to what the log
// holds. An erasure beside events that do not pause writes 8 MiB of padding to
// mem.v1.~.evt.padding, of no tenant and passed over by every reader, so that the
// server can drop the files with what is erased (Scrubber). LEDGER is a window: its oldest messages make way and the log can
// republish them. In DLQ, too, the oldest make way: one tenant that
// floods it must not stop the others.
//
// Artifacts are in the object store SATCHEL_ARTIFACTS, revoked handles in the bucket
// SATCHEL_REVOKED, replies over the payload limit in SATCHEL_REPLIES.
//
// # Promises
//
// A stream sequence is a hint, never an identity: every message carries the
// stream's epoch and its own hash so that a damaged or recreated stream is
// noticed. An ack is a hint too: an Inbox starts where its owner says (Seek).
// The relay's publisher checks the last sequence of the tenant, so repeating a
// publish after a crash stores nothing twice. EnsureStreams creates what is
// missing and alters nothing that is there, but that buckets with several copies are read from
// their leader.
package jetstream
