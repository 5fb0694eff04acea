// Package worker runs what moves data through Satchel: appenders from the inbox to
// the event log, projectors from the log to the indexes, the relay from the log to
// the ledger, the eraser, and the context service. It decides what happens to an
// event that fails: retry, dead letter or stop.
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
// Entries are projected at once, or, while requests are answered and nobody waits for them,
// those of 25 ms together; for the ledger those of a tenant are gathered for up to 100 ms,
// counted from the last time.
//
// An appender stops its partition, with a named error, when the stream is not the
// one its checkpoint speaks of (StreamChangedError): resuming would skip or repeat
// events silently.
package worker
