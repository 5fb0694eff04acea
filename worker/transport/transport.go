// Package transport is what the worker needs of a message system: an inbox with a
// single owner, dead letters, a ledger, an outbox, a scrubber. jetstream implements
// it. It stands apart from package worker so that an agent's binary, which uses
// jetstream too, does not carry the worker.
package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Message is one event of a partition of the MEMORY stream, in stream order.
type Message struct {
	Seq       uint64
	Epoch     string    // identity of the stream, from its creation
	Hash      [32]byte  // SHA-256 over subject, headers and data
	Published time.Time // when the stream took it; zero: unknown
	Subject   string    // as published, mem.v1.<tenant>.evt.<agent>
	Tenant    string
	Agent     string
	Event     event.Event
	Err       error               // why it could not be decoded; Event is then empty
	Header    map[string][]string // as published, for the dead letter
	Data      []byte              // as published, for the dead letter
	Padding   bool                // written by the StreamScrubber: no event, and of no tenant
}

// StreamState is what the guard needs of a stream before resuming at a checkpoint.
type StreamState struct {
	Epoch   string
	LastSeq uint64
	Hash    [32]byte // of the message at the asked sequence; zero when it is gone
	Found   bool     // the message at the asked sequence is still there
}

// ErrRecreated is returned by an Inbox whose stream was made anew since it was opened:
// its sequences mean other messages now.
var ErrRecreated = errors.New("the stream was created anew")

// Remover removes messages of a partition that the log has, or shall not have.
type Remover interface {
	// Purge removes what is at or before seq from the stream. A copy of the stream that is behind may deliver it for a
	// moment.
	Purge(ctx context.Context, seq uint64) error
	// Erase overwrites the message at seq and removes it. One that is not there is no error.
	Erase(ctx context.Context, seq uint64) error
}

// Inbox is one partition of the MEMORY stream with a single owner.
type Inbox interface {
	// Name is the partition's, "p07"; part of the checkpoint's name.
	Name() string
	// Fetch waits for at least one message and returns at most limit, in order.
	Fetch(ctx context.Context, limit int) ([]Message, error)
	// Ack says that everything up to seq is in the log. A hint: the checkpoint decides.
	Ack(ctx context.Context, seq uint64) error
	// Seek makes seq the next message to be fetched.
	Seek(ctx context.Context, seq uint64) error
	Remover
	// State describes the stream and its message at seq.
	State(ctx context.Context, seq uint64) (StreamState, error)
	// Waits reports whether the stream holds a message of the partition behind seq.
	Waits(ctx context.Context, seq uint64) (bool, error)
	// Rest stops reading until the next Seek, so that another owner may read.
	Rest()
}

// Membership shares the partitions of MEMORY, and with them the tenants, among the processes
// that run at the moment. Two may think for a while that a partition is theirs: what
// they do meanwhile MUST be harmless, by a fence or by being idempotent.
type Membership interface {
	// Owned returns which partitions are this process's, by number, and a channel that is
	// closed when that may have changed.
	Owned() (owned []bool, changed <-chan struct{})
	// Partition returns the partition of a tenant.
	Partition(tenant string) int
	// Ready returns nil while this process has its share, ErrStarting until it has its
	// first, and otherwise why it has none.
	Ready() error
}

// ErrStarting is returned by Membership.Ready until the first share is taken.
var ErrStarting = errors.New("starting")

// Rejected is a message that may not enter the log.
type Rejected struct {
	Message Message
	Reason  string   // a subject token: malformed, unlabelled, wrong_tenant, id_reuse, …
	Pointer string   // failing JSON pointer, "" for the whole event
	Cause   string   // in words, without content
	Holds   []string // ids of the legal holds for which an erasure is refused
	At      time.Time
}

// DeadLetters takes rejected events, whole, with the cause. Reject is idempotent by
// the message's epoch and sequence.
type DeadLetters interface {
	Reject(ctx context.Context, rejected []Rejected) error
}

// LedgerMessage is one log entry as the ledger publishes it.
type LedgerMessage struct {
	Position int64
	Kind     string // ledger kind
	Agent    string
	Request  string // request id, "" for none
	Event    event.Event
}

// Ledger publishes a tenant's log entries, in position order, exactly once.
type Ledger interface {
	// LastPosition returns the position of the tenant's last message, 0 for none.
	LastPosition(ctx context.Context, tenant string) (int64, error)
	// LastSequence returns a number that grows with each message of any tenant, whoever published it.
	LastSequence(ctx context.Context) (uint64, error)
	// Publish appends messages; it fails without effect when somebody else has
	// published for this tenant since the last call of LastPosition or Publish.
	Publish(ctx context.Context, tenant string, messages []LedgerMessage) error
}

// Outbox publishes one event to the MEMORY stream for a caller of put.
type Outbox interface {
	PublishMemory(ctx context.Context, tenant, agent string, ev event.Event) (stream string, seq uint64, err error)
}

// Copy names an event whose copies in the streams are to be erased, or, with Item
// alone, every rejected event about an item.
type Copy struct {
	Source string
	ID     string
	Item   string
}

// The errors of Artifacts.
var (
	ErrNoArtifact       = errors.New("there is no such artifact")
	ErrArtifactTooLarge = errors.New("content is too large for an artifact")
	ErrArtifactQuota    = errors.New("artifacts take as much room as they may")
	ErrArtifactEmpty    = errors.New("there is no content")
)

// Artifacts keeps heavy contents by tenant and hex SHA-256, and revocations by tenant and
// name.
type Artifacts interface {
	// Put stores what r has and returns its hash and size. The same content is stored
	// once. It counts against owner, a principal, "" for none. It returns ErrArtifactTooLarge,
	// ErrArtifactQuota, ErrArtifactEmpty, or an error that wraps r's.
	Put(ctx context.Context, tenant, owner string, r io.Reader) (sha256 string, size int, err error)
	// Open returns a content as a stream, ErrNoArtifact when there is none. Bytes that do
	// not match the hash MUST end in an error.
	Open(ctx context.Context, tenant, sha256 string) (io.ReadCloser, error)
	// Delete erases a content and reports whether there was one.
	Delete(ctx context.Context, tenant, sha256 string) (bool, error)
	// Revoke notes that what was given out under a name until at is void.
	Revoke(ctx context.Context, tenant, what string, at time.Time) error
	// RevokedAt returns until when that is; the zero time when nothing is revoked.
	RevokedAt(ctx context.Context, tenant, what string) (time.Time, error)
}

// ArtifactSweeper removes heavy contents that are nobody's.
type ArtifactSweeper interface {
	// Sweep removes, by the time now, uploads that were given up and old contents for which
	// claimed, asked once for each, says no. It returns how many contents it removed.
	Sweep(ctx context.Context, now time.Time, claimed func(ctx context.Context, tenant, sha256 string) (bool, error)) (int, error)
}

// StreamScrubber removes every copy of events from the streams, overwriting the bytes, and checks
// that none is left. It returns its counts by stream, with a *BehindError when only bytes on the
// disk are left.
type StreamScrubber interface {
	Scrub(ctx context.Context, tenant string, copies []Copy) (map[string]Scrubbed, error)
}

// Scrubbed counts messages of a stream.
type Scrubbed struct {
	Removed   int // by the scrubber
	Undecided int // rejected events that stay, because they do not name their items
	Left      int // messages that were to go and are still there
}

// BehindError says that bytes of messages that a stream had before may be on the disk until the
// log has what waits in partitions of it, which stand still.
type BehindError struct {
	Stream     string
	Partitions []string
	Err        error
}

// Error names the partitions.
func (e *BehindError) Error() string {
	return fmt.Sprintf("%v: nothing is logged of what waits in %s", e.Err, strings.Join(e.Partitions, ", "))
}

// Unwrap returns what it is about.
func (e *BehindError) Unwrap() error { return e.Err }
