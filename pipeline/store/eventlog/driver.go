package eventlog

import (
	"context"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Driver stores logs in one database. It MUST be safe for concurrent use, MUST wrap
// damage in ErrCorrupt and a full disk in ErrFull, and MUST NOT put content into errors.
// Log calls it with a checked scope's tenant only.
type Driver interface {
	// Update runs fn in one durable read-write transaction that holds the heads of
	// tenants (sorted, no duplicates) against every other writer. An error of fn rolls
	// back and is returned. fn may be run again after a serialization failure.
	Update(ctx context.Context, tenants []string, fn func(Tx) error) error
	// View runs fn on one consistent snapshot.
	View(ctx context.Context, fn func(Reader) error) error
	// Scrub removes the remains of erased content from journals and free space.
	Scrub(ctx context.Context) error
	// Check examines the database's own structure and indexes.
	Check(ctx context.Context) error
	// DropCaches makes later reads come from the database.
	DropCaches()
	// Close waits for running calls and closes the database.
	Close() error
}

// Reader reads one snapshot. What is not there is a zero value, not an error.
type Reader interface {
	// Tenants returns every tenant with a log, sorted.
	Tenants() ([]string, error)
	// Head returns the stored head; Size 0 and a zero Root for an unknown tenant.
	Head(tenant string) (Head, error)
	// Rows returns at most limit rows with positions above after, in order.
	Rows(tenant string, after int64, limit int) ([]Row, error)
	// Hashes returns the hashes at the stored hash indexes; a missing one is ErrCorrupt.
	Hashes(tenant string, indexes []int64) ([]tlog.Hash, error)
	// Attachment returns the attachment of a position, nil when it has none or it was erased.
	Attachment(tenant string, position int64) (*Attachment, error)
	// Positions returns the positions that match every part of q that is set, in order.
	Positions(tenant string, q Query) ([]int64, error)
	// Latest returns the position of the last row about each of subjects, in their order; 0
	// for none, and for the empty subject.
	Latest(tenant string, subjects []string) ([]int64, error)
}

// Tx is a read-write transaction.
type Tx interface {
	Reader
	// Find returns what holds each key, in the order of keys; Position 0 for a free key.
	Find(tenant string, keys []Key) ([]Held, error)
	// Append writes rows, hashes and the head.
	Append(a Addition) error
	// Checkpoint returns the named checkpoint, the zero one when there is none, and
	// locks its name against other writers.
	Checkpoint(name string) (Checkpoint, error)
	// PutCheckpoint writes or replaces a checkpoint.
	PutCheckpoint(c Checkpoint) error
	// Erase overwrites and removes content, salts and extensions of the positions in
	// content, and attachments with their refs of those in attachments. It returns how
	// many contents and attachments were there.
	Erase(tenant string, content, attachments []int64) (contents, attached int, err error)
}

// Row is a stored entry.
type Row struct {
	Position   int64
	Agent      string
	Type       string
	Source     string
	ID         string
	Subject    string
	Time       time.Time // zero: none
	RecordedAt time.Time
	Commitment [32]byte
	Content    *Content // nil: erased
	// Attachment is the attachment's commitment, zero for none.
	Attachment [32]byte
	Attached   *Attachment // only in an Addition; nil there, with an Attachment: erased
}

// Content is what a commitment covers. Extensions are in canonical form.
type Content struct {
	Salt       [32]byte // never zero
	Extensions []byte
	Data       []byte
}

// Attachment is erasable bytes beside an entry's data.
type Attachment struct {
	Salt [32]byte // never zero
	Refs []string
	Data []byte
}

// Addition is what one transaction adds to one tenant's log.
type Addition struct {
	Head      Head  // afterwards
	Rows      []Row // positions follow the old head
	FirstHash int64 // stored hash index of Hashes[0]
	Hashes    []tlog.Hash
}

// Key is a dedupe key within a tenant.
type Key struct {
	Source string
	ID     string
}

// Held is the entry that holds a key.
type Held struct {
	Position   int64
	Type       string
	Salt       [32]byte // zero when Erased
	Commitment [32]byte
	Erased     bool
}

// Query selects positions. Zero fields do not restrict.
type Query struct {
	Key      Key      // both fields or none
	Subject  string   //
	Types    []string // any of them
	Items    []string // attachments that refer to any of them
	Position int64    // this one only
	After    int64    // positions above it
}
