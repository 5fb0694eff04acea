// Package worker runs what moves data through Satchel, and puts its parts together:
//
//	ingest      from the stream to the log, or to the dead letters
//	projection  from the log to the indexes
//	relay       from the log to the ledger
//	erasure     content that goes, everywhere, with a receipt
//	service     requests and their replies
//
// It knows no NATS: jetstream implements the small interfaces of package transport, and
// cmd/internal/app wires them. The one direction is inbox → log → projections and ledger.
//
// Every follower keeps its checkpoint where its effects are: the appender's in the
// log (written in the transaction that commits the events, under a fence), a
// projector's in the store it feeds, the relay's in the ledger's last message, the
// eraser's in the log. A crash between any two steps repeats work that is idempotent
// by position and loses nothing; an acknowledgement to the stream is only a hint.
//
// Entries are projected at once; while requests are answered, every 25 ms, unless somebody waits for
// them. The ledger gets a tenant's entries at most every 100 ms.
//
// The worker decides what happens to a follower that fails: it tries again, it stops the partition
// whose stream or log is not what it was, or it ends, so that its process starts it anew.
package worker
