package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Errors that every driver returns, for errors.Is.
var (
	// ErrFenced: another owner has taken the checkpoint's name; nothing was written.
	ErrFenced = errors.New("fenced: another owner holds this checkpoint")
	// ErrOvertaken: the log has what an erasure was not to follow; nothing was written.
	ErrOvertaken = errors.New("overtaken: the log has grown by what this depends on")
	// ErrNotFound: no such position, event or checkpoint.
	ErrNotFound = errors.New("not found")
	// ErrErased: the entry is in the log, its content was erased.
	ErrErased = errors.New("content was erased")
	// ErrCorrupt: the file or a row is damaged. Errors that wrap it name what.
	ErrCorrupt = errors.New("event log is damaged")
	// ErrOtherKey: a kept checkpoint bears no signature of the log's key. Errors that wrap it
	// name the file.
	ErrOtherKey = errors.New("this folder's key is not the one that signed")
	// ErrFull: the disk is full; nothing was written.
	ErrFull = errors.New("disk is full")
	// ErrUnavailable: the database is away or does not answer. What was under way may have
	// been written: append it again, and what is there is a Duplicate.
	ErrUnavailable = errors.New("event log is unavailable")
	// ErrInvalid: a draft cannot be a log row; nothing of its batch was written.
	ErrInvalid = errors.New("invalid draft")
	// ErrClosed: the log has been closed.
	ErrClosed = errors.New("event log is closed")
)

// Draft is an event to be appended. Tenant, Type, Source and ID are required.
type Draft struct {
	Tenant     string
	Agent      string
	Type       string
	Source     string
	ID         string
	Subject    string // memory id, or request id
	Time       time.Time
	Data       []byte            // of an agent's event, byte for byte; of Satchel's own, ids, figures and hashes alone
	Item       Derived           // instead of Data: a summary, whose derived_from links name its refs
	Extensions map[string]string // CloudEvent extensions and dataschema, datacontenttype
	Attachment Derived           // erasable bytes beside the data (a pack's stored result); its SHA-256 must be in Data
}

// Status is what became of a draft.
type Status int

// The statuses.
const (
	Appended   Status = iota // it is in the log now
	Duplicate                // same key and same content were there: a no-op
	IDConflict               // same key, other content: not written
	Erased                   // same key, content erased since: not written
	Absent                   // the tenant has no log, which the batch does not begin: not written
)

// Outcome is what became of one draft. Position and Leaf are those of the entry
// that holds the key, whatever the status; Absent has neither.
type Outcome struct {
	Status   Status
	Position int64
	Leaf     tlog.Hash
}

// Checkpoint is how far a named consumer has come in a stream. It is written in the
// transaction that commits what it covers.
type Checkpoint struct {
	Name      string // "append/p07"
	Fence     int64  // owner's token; lower than the stored one is ErrFenced
	Epoch     string // identity of the stream
	StreamSeq uint64
	Hash      [32]byte // of the message at StreamSeq
}

// Batch is what one Append commits: all or nothing. When a draft of the batch is an IDConflict
// its checkpoint is not written, so that the caller can dead-letter it first and then
// append the checkpoint alone; the fence is checked all the same.
type Batch struct {
	Drafts     []Draft
	Checkpoint *Checkpoint // nil: none
	// Quiet is set when it only records what was done: who watches the log may follow it a
	// fifth of a second later, together with what comes next.
	Quiet bool
	// Existing is set when the batch records what a tenant was answered: it begins no log. Where
	// there is none its drafts, which are of one tenant, are Absent. It has no Checkpoint.
	Existing bool
}

// Entry is a committed event. Positions of a tenant start at 1 and are dense; the
// Merkle leaf index is Position−1.
type Entry struct {
	Tenant     string
	Position   int64
	Agent      string
	Type       string
	Source     string
	ID         string
	Subject    string
	Time       time.Time
	RecordedAt time.Time
	Commitment [32]byte // over salt, extensions and data
	Attachment [32]byte // commitment over the attachment's salt, refs and bytes; zero: none
	Leaf       tlog.Hash
	Erased     bool // content and salt are gone; Data, Extensions are empty
	Attached   bool // an attachment belongs to it, which may have been erased

	Data       []byte
	Extensions map[string]string
}

// Head is a tenant's log at a size.
type Head struct {
	Tenant string
	Size   int64 // also the last position
	Root   tlog.Hash
}

// VerifyError names the first position at which a log is not what it must be.
// It wraps ErrCorrupt.
type VerifyError struct {
	Tenant   string
	Position int64
	Problem  string
}

// Error says tenant, position and problem.
func (e *VerifyError) Error() string {
	return fmt.Sprintf("tenant %q position %d: %s", e.Tenant, e.Position, e.Problem)
}

// Unwrap returns ErrCorrupt.
func (e *VerifyError) Unwrap() error { return ErrCorrupt }

// Progress is called now and then during long work with what is done and the total.
type Progress func(done, total int64)

// Appender is the writing side that workers and the engine need.
type Appender interface {
	// Append commits the batch durably in one transaction and returns an outcome a
	// draft, in order. Concurrent calls share a transaction (group commit).
	Append(ctx context.Context, b Batch) ([]Outcome, error)
	// Salt draws the salt of hashes that the data of an entry names. It MUST be beside what
	// is hashed alone, so that an erasure takes it away.
	Salt() ([32]byte, error)
}
