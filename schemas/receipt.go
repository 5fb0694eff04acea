package schemas

import (
	"encoding/json"
	"time"
)

// ReceiptLevel is how far a write has come.
type ReceiptLevel string

// The levels, weakest first.
const (
	ReceiptQueued   ReceiptLevel = "queued"   // is in the emitter's outbox, on its disk only: NATS is away
	ReceiptAccepted ReceiptLevel = "accepted" // is in JetStream, synced to disk
	ReceiptLogged   ReceiptLevel = "logged"   // has a position and a leaf hash in the log
	ReceiptIndexed  ReceiptLevel = "indexed"  // can be found: every index is past that position
	ReceiptProved   ReceiptLevel = "proved"   // is proved by a signed head and an inclusion proof
)

// Receipt says how far the event (Source, ID) has come.
type Receipt struct {
	Level      ReceiptLevel    `json:"level"`
	Tenant     string          `json:"tenant"`
	Source     string          `json:"source"`
	ID         string          `json:"id"`
	Duplicate  bool            `json:"duplicate,omitempty"` // the log had it already
	Stream     string          `json:"stream,omitempty"`
	StreamSeq  uint64          `json:"stream_seq,omitempty"` // a hint, never an identity
	Position   int64           `json:"position,omitempty"`
	Leaf       string          `json:"leaf,omitempty"`       // hex
	Checkpoint string          `json:"checkpoint,omitempty"` // signed C2SP checkpoint
	Inclusion  *InclusionProof `json:"inclusion,omitempty"`
	Warnings   []string        `json:"warnings,omitempty"` // why the level is lower than the one asked for, or the trust than the one claimed
}

// InclusionProof proves that leaf Position−1 is in the tree of Size leaves (RFC 6962).
type InclusionProof struct {
	Position int64    `json:"position"`
	Size     int64    `json:"size"`
	Leaf     string   `json:"leaf"`   // hex
	Hashes   []string `json:"hashes"` // hex, leaf to root
	Root     string   `json:"root"`   // hex
}

// ConsistencyProof proves that the tree of Old leaves is a prefix of the tree of New leaves.
type ConsistencyProof struct {
	Old     int64    `json:"old"`
	New     int64    `json:"new"`
	OldRoot string   `json:"old_root"`
	NewRoot string   `json:"new_root"`
	Hashes  []string `json:"hashes"`
}

// ErasureReceipt says, store by store, what an erasure removed.
type ErasureReceipt struct {
	Items     []string       `json:"items"`
	Positions []int64        `json:"positions"` // entries whose content and salt are gone
	Packs     []int64        `json:"packs"`     // packs whose rendered bytes are gone
	Stores    []StoreErasure `json:"stores"`
	Holds     []string       `json:"holds,omitempty"` // legal holds that had kept the items and were released before
	ErasedAt  time.Time      `json:"erased_at"`

	Reason       string `json:"reason,omitempty"`        // why, as far as the reader may know; never in the log
	ReasonSHA256 string `json:"reason_sha256,omitempty"` // hex, of what the erasure's entry has attached: the reason and a salt
}

// StoreErasure is what one store removed.
type StoreErasure struct {
	Store     string   `json:"store"`
	Removed   int      `json:"removed"`
	Absent    bool     `json:"absent"`              // checked afterwards: nothing is left
	Kept      int      `json:"kept,omitempty"`      // artifacts: contents that stay, as items that are not erased have them too
	Undecided int      `json:"undecided,omitempty"` // dead letters that stay: they do not name their items
	Missing   []string `json:"missing,omitempty"`   // partitions that stand still: until they get on, bytes may stay on the disk; another receipt follows then
}

// Missing returns the partitions that an erasure is not finished for, none when it is.
func (r *ErasureReceipt) Missing() []string {
	var list []string
	for i := range r.Stores {
		list = append(list, r.Stores[i].Missing...)
	}
	return list
}

// HeadReply answers log.v1.<tenant>.head.
type HeadReply struct {
	Size       int64  `json:"size"`
	Root       string `json:"root"`
	Checkpoint string `json:"checkpoint"`          // signed
	PublicKey  string `json:"public_key"`          // note verifier key "name+hash+base64"
	Witnessed  string `json:"witnessed,omitempty"` // newest head that enough witnesses cosigned
}

// ProveRequest asks log.v1.<tenant>.prove for the inclusion of Position, and, with
// OldSize, for the consistency of an earlier head with the present one. Of an entry of a kind that
// policy does not let the caller follow the reply has no preimage; by its id it is not found.
type ProveRequest struct {
	From     *Agent `json:"from,omitempty"` // who asks; without it, the principal of the connection's key, or nobody known
	Position int64  `json:"position,omitempty"`
	Source   string `json:"source,omitempty"` // with ID, instead of Position
	ID       string `json:"id,omitempty"`
	OldSize  int64  `json:"old_size,omitempty"`
}

// ProveReply answers ProveRequest. Preimage is the leaf preimage; its commitment
// can be checked against salt and content, see the package of the event log.
type ProveReply struct {
	Checkpoint  string            `json:"checkpoint"`
	Preimage    string            `json:"preimage,omitempty"`
	Inclusion   *InclusionProof   `json:"inclusion,omitempty"`
	Consistency *ConsistencyProof `json:"consistency,omitempty"`
}

// ReceiptRequest waits on log.v1.<tenant>.receipt until (Source, ID) has Level.
type ReceiptRequest struct {
	Source  string       `json:"source"`
	ID      string       `json:"id"`
	Level   ReceiptLevel `json:"level"`
	Timeout int          `json:"timeout_ms,omitempty"` // default 5000, at most 60000
}

// PackRequest fetches a pack again on log.v1.<tenant>.pack. The caller must be the
// principal the pack was made for, or hold the auditor role.
type PackRequest struct {
	PackID   string `json:"pack_id,omitempty"`
	Position int64  `json:"position,omitempty"`
	From     *Agent `json:"from,omitempty"`
}

// EntriesRequest asks log.v1.<tenant>.entries for entries of the log as the ledger shows them:
// without before and after the newest, newest first. A kind that policy does not let the caller
// follow is refused.
type EntriesRequest struct {
	From   *Agent       `json:"from,omitempty"`   // who asks
	Kinds  []LedgerKind `json:"kinds,omitempty"`  // of these kinds; empty: of those that policy lets the caller follow
	Before int64        `json:"before,omitempty"` // only entries before this log position, newest first
	After  int64        `json:"after,omitempty"`  // only entries after this log position, oldest first; not with before
	Limit  int          `json:"limit,omitempty"`  // entries of a page; default 50, at most 200
}

// EntriesReply answers an EntriesRequest. A page may be shorter than the limit: next tells whether there is more.
type EntriesReply struct {
	Entries []LedgerEntry `json:"entries"`        // in the order that was asked for
	Next    int64         `json:"next,omitempty"` // gives the next page, as before or after; absent at the end
}

// LedgerEntry is an entry of the log as the ledger shows it: memories by reference, never by content.
type LedgerEntry struct {
	Position   int64           `json:"position"`          // in the log
	Kind       LedgerKind      `json:"kind"`              // of the ledger
	Agent      string          `json:"agent"`             // who wrote it
	Type       string          `json:"type"`              // of the event
	Source     string          `json:"source"`            // of the event
	ID         string          `json:"id"`                // of the event
	Subject    string          `json:"subject,omitempty"` // an item or a request
	Time       time.Time       `json:"time,omitzero"`     // of the event
	RecordedAt time.Time       `json:"recorded_at"`       // when the log took it
	Leaf       string          `json:"leaf"`              // hex
	Data       json.RawMessage `json:"data"`              // as the ledger has it
	Reason     string          `json:"reason,omitempty"`  // of an erasure, for its agent and for who may follow decisions
}

// LedgerReference is the data of a memory event as the ledger publishes it: what
// proves the entry, never its content.
type LedgerReference struct {
	Position   int64            `json:"position"`
	RecordedAt time.Time        `json:"recorded_at"`        // when the log took the entry
	Leaf       string           `json:"leaf"`               // hex
	Commitment string           `json:"commitment"`         // hex, over salt, extensions and data
	Erased     bool             `json:"erased,omitempty"`   // whether the content was erased
	Items      []string         `json:"items,omitempty"`    // of an erasure
	Original   *ErasureOriginal `json:"original,omitempty"` // of an erasure that a restored log has again
	Receipt    *ErasureReceipt  `json:"receipt,omitempty"`  // of a finished erasure
}
