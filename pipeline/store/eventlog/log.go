package eventlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/scope"
)

// Config is what a Log is made of. Only Driver is required.
type Config struct {
	// Driver stores the log. Log.Close closes it.
	Driver Driver
	// Clock tells when an entry is recorded; nil is time.Now.
	Clock func() time.Time
	// Rand gives the salts; nil is crypto/rand.Reader. Anything predictable lets a
	// reader of commitments guess erased content: for demonstrations and tests only.
	Rand io.Reader
	// Signer signs heads; nil refuses SignedHead.
	Signer note.Signer
	// VerifierKey is the signer's public key in note form, "name+hash+base64"; "" refuses
	// to keep and to open checkpoints.
	VerifierKey string
	// Origin names the log in checkpoints, followed by "/" and the tenant, and so the key that signs
	// them; "" is "satchel". Checkpoints that the key signed under another origin can still be opened.
	Origin string
	// Keep is a folder for the newest signed head of each tenant; "" keeps none.
	Keep string
	// Erasures is a folder for the signed list of erasures of each tenant, by which they are found
	// in a log that was restored from an older copy; "" keeps none.
	Erasures string
	// MaxGroup limits the drafts that share a transaction; 0 is 4096. A single batch
	// may be larger.
	MaxGroup int
	// Tail is how many bytes of the entries committed last are kept in memory for Read;
	// 0 keeps none. What a draft holds must then not be changed after Append.
	Tail int
}

// Log is the event log of every tenant in one database.
type Log struct {
	driver   Driver
	clock    func() time.Time
	signer   note.Signer
	verifier note.Verifier
	key      string
	origin   string
	keep     string
	erasures string
	group    int

	randMu sync.Mutex
	rand   io.Reader

	queueMu sync.Mutex
	waiting []*request
	busy    bool
	closed  bool

	edges map[string]edge // of the leader alone

	watch  watchers
	recent recentEntries
	known  known

	damaged damages

	trustMu sync.Mutex
	trusted map[string]Head // newest kept head, by tenant

	erasuresMu  sync.Mutex
	erasureEnds map[string]erasuresEnd // of the lists that were written to, by tenant
}

// New returns a Log over cfg.Driver.
func New(cfg Config) (*Log, error) {
	if cfg.Driver == nil {
		return nil, errors.New("open event log: no driver")
	}
	l := &Log{
		driver: cfg.Driver, clock: cfg.Clock, rand: cfg.Rand, signer: cfg.Signer, key: cfg.VerifierKey,
		origin: cfg.Origin, keep: cfg.Keep, erasures: cfg.Erasures, group: cfg.MaxGroup,
		edges: map[string]edge{}, trusted: map[string]Head{}, erasureEnds: map[string]erasuresEnd{},
	}
	if l.clock == nil {
		l.clock = time.Now
	}
	if l.rand == nil {
		l.rand = rand.Reader
	}
	l.origin = cmp.Or(l.origin, legacyOrigin)
	if l.group <= 0 {
		l.group = 4096
	}
	if l.key != "" {
		var err error
		if l.verifier, err = note.NewVerifier(l.key); err != nil {
			return nil, fmt.Errorf("open event log: verifier key: %w", err)
		}
	}
	if l.keep+l.erasures != "" && (l.signer == nil || l.verifier == nil) {
		return nil, errors.New("open event log: keeping checkpoints and erasures needs a signer and its verifier key")
	}
	l.watch.init()
	l.recent.limit = max(cfg.Tail, 0)
	l.recent.clearEntries()
	return l, nil
}

// Close ends every Await and Watch, waits for commits under way and closes the driver.
// Appends that still wait get ErrClosed.
func (l *Log) Close() error {
	l.queueMu.Lock()
	if l.closed {
		l.queueMu.Unlock()
		return nil
	}
	l.closed = true
	l.queueMu.Unlock()
	l.watch.closeWatchers()
	l.recent.stopKeepingEntries()
	return l.driver.Close()
}

// Tenants returns every tenant that has a log, sorted.
func (l *Log) Tenants(ctx context.Context) ([]string, error) {
	return view(ctx, l.driver, func(r Reader) ([]string, error) { return r.Tenants() })
}

// Head returns the log's present size and root; Size 0 for a tenant without a log.
func (l *Log) Head(ctx context.Context, s scope.Scope) (Head, error) {
	if err := s.Check(); err != nil {
		return Head{}, err
	}
	return view(ctx, l.driver, func(r Reader) (Head, error) { return headOf(r, s.Tenant()) })
}

// headOf reads a head; the root of an empty log is that of RFC 6962's empty tree.
func headOf(r Reader, tenant string) (Head, error) {
	h, err := r.Head(tenant)
	if err != nil {
		return Head{}, err
	}
	h.Tenant = tenant
	if h.Size == 0 && h.Root == (tlog.Hash{}) {
		h.Root = (&edge{}).computeRoot()
	}
	return h, nil
}

// Checkpoint returns a checkpoint as it stands, the zero one when there is none.
func (l *Log) Checkpoint(ctx context.Context, name string) (Checkpoint, error) {
	var cp Checkpoint
	err := l.driver.Update(ctx, nil, func(tx Tx) (err error) {
		cp, err = tx.Checkpoint(name)
		return err
	})
	return cp, err
}

// TakeFence makes the caller the owner of a checkpoint's name: it raises the fence and
// returns it with the checkpoint as it stands. Appends with an older fence get ErrFenced.
func (l *Log) TakeFence(ctx context.Context, name string) (int64, Checkpoint, error) {
	if name == "" {
		return 0, Checkpoint{}, errors.New("take fence: no name")
	}
	var cp Checkpoint
	err := l.driver.Update(ctx, nil, func(tx Tx) (err error) {
		if cp, err = tx.Checkpoint(name); err != nil {
			return err
		}
		cp.Name = name
		cp.Fence++
		return tx.PutCheckpoint(cp)
	})
	if err != nil {
		return 0, Checkpoint{}, err
	}
	return cp.Fence, cp, nil
}

// Restart makes a checkpoint that of a consumer that has read nothing of the stream that was
// created at epoch, which is another one than before, and raises its fence as TakeFence does:
// who still reads the former stream gets ErrFenced.
func (l *Log) Restart(ctx context.Context, name, epoch string) error {
	if name == "" {
		return errors.New("restart checkpoint: no name")
	}
	err := l.driver.Update(ctx, nil, func(tx Tx) error {
		cp, err := tx.Checkpoint(name)
		if err != nil {
			return err
		}
		return tx.PutCheckpoint(Checkpoint{Name: name, Fence: cp.Fence + 1, Epoch: epoch})
	})
	if err != nil {
		return fmt.Errorf("restart checkpoint %q: %w", name, err)
	}
	return nil
}
