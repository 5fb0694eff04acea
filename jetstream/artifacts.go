package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/cloudevent"
	"satchel/schemas"
	"satchel/worker/transport"
)

// The buckets of artifacts: an object store of contents, <tenant>/<sha256>, and what was
// revoked, by tenant.
const (
	ArtifactsBucket = "SATCHEL_ARTIFACTS"
	RevokedBucket   = "SATCHEL_REVOKED"
)

// artifactsStream is the stream of the object store.
const artifactsStream = "OBJ_" + ArtifactsBucket

// revokedStream is the stream of the revocations.
const revokedStream = "KV_" + RevokedBucket

// uploads are under this name of the tenant until their hash is known.
const uploads = "/upload/"

// uploadLimit is how long an upload can take; what is older was given up.
const uploadLimit = 24 * time.Hour

// claimLimit is how long after a content was stored an item that has it must be in the log.
const claimLimit = 7 * 24 * time.Hour

// revokedTTL is how long a revocation is kept: longer than a handle is good.
const revokedTTL = 25 * time.Hour

// Artifacts keeps heavy contents, by tenant and SHA-256, and the revocations of their
// handles. Contents pass through as streams: memory does not grow with them. It is safe
// for concurrent use.
type Artifacts struct {
	js    jetstream.JetStream
	guard Guard

	mu      sync.Mutex
	kept    []object  // what the bucket had, and what was stored since
	counted time.Time // when kept was read
	store   jetstream.ObjectStore
	revoked jetstream.KeyValue
}

var (
	_ transport.Artifacts       = (*Artifacts)(nil)
	_ transport.ArtifactSweeper = (*Artifacts)(nil)
)

// NewArtifacts returns the artifacts on js. The buckets are opened when they are needed.
func NewArtifacts(js jetstream.JetStream) *Artifacts { return &Artifacts{js: js} }

// Guarded returns artifacts that refuse to store and to revoke, with the reason, while the
// server takes nothing.
func (a *Artifacts) Guarded(guard Guard) *Artifacts { return &Artifacts{js: a.js, guard: guard} }

func (a *Artifacts) openObjectStore(ctx context.Context) (jetstream.ObjectStore, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.store == nil {
		store, err := a.js.ObjectStore(ctx, ArtifactsBucket)
		if err != nil {
			return nil, fmt.Errorf("open bucket %q: %w", ArtifactsBucket, err)
		}
		a.store = store
	}
	return a.store, nil
}

// Put stores what r has for the tenant and returns its hash and size. The same content is stored
// once. It counts against owner, who gets transport.ErrArtifactQuota when others need the room
// that is left; "" is nobody, and has all of it.
func (a *Artifacts) Put(ctx context.Context, tenant, owner string, r io.Reader) (sum string, size int, err error) {
	guarded, done := a.guard.guardContext(ctx)
	defer done()
	sum, size, err = a.storeArtifact(guarded, tenant, owner, r)
	return sum, size, a.guard.explainError(ctx, guarded, err)
}

func (a *Artifacts) storeArtifact(ctx context.Context, tenant, owner string, r io.Reader) (sum string, size int, err error) {
	if !ValidToken(tenant) {
		return "", 0, fmt.Errorf("store artifact of %q: %w", cloudevent.Clip(tenant), ErrSubject)
	}
	store, err := a.openObjectStore(ctx)
	if err != nil {
		return "", 0, err
	}
	upload := tenant + uploads + rand.Text()
	hash := sha256.New()
	stream, err := a.js.Stream(ctx, artifactsStream)
	if err != nil {
		return "", 0, fmt.Errorf("store artifact: %w", err)
	}
	read := &limited{ctx: ctx, r: io.TeeReader(r, hash), left: schemas.MaxArtifact, over: transport.ErrArtifactTooLarge, stream: stream}
	if most := stream.CachedInfo().Config.MaxBytes; owner != "" && most > 0 {
		room, err := a.countFreeBytes(ctx, tenant, owner, most)
		if err != nil {
			return "", 0, err
		}
		if room < read.left {
			read.left = room
			read.over = transport.ErrArtifactQuota
		}
	}
	info, err := store.Put(ctx, jetstream.ObjectMeta{Name: upload}, read)
	if err == nil && info.Size == 0 {
		err = transport.ErrArtifactEmpty
	}
	if err == nil {
		sum = hex.EncodeToString(hash.Sum(nil))
		size = int(info.Size)
		named := jetstream.ObjectMeta{Name: schemas.ArtifactObject(tenant, sum), Metadata: map[string]string{ownerMark: owner}}
		err = a.nameUpload(ctx, store, upload, named)
	}
	if isFull(err) {
		err = transport.ErrArtifactQuota
	}
	if err != nil {
		rest, done := a.guard.guardContext(context.WithoutCancel(ctx))
		defer done()
		return "", 0, errors.Join(fmt.Errorf("store artifact: %w", err), a.dropObject(rest, store, upload))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = append(a.kept, object{name: schemas.ArtifactObject(tenant, sum), size: int64(size), owner: owner})
	return sum, size, nil
}

// recount is how long it is known what the bucket holds.
const recount = time.Minute

// countFreeBytes is how many bytes more a principal may store of a bucket of so many. What other workers
// stored, and what was erased, is seen a minute late.
func (a *Artifacts) countFreeBytes(ctx context.Context, tenant, owner string, most int64) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.counted) > recount {
		kept, err := objectsOf(ctx, a.js, ArtifactsBucket)
		if err != nil {
			return 0, fmt.Errorf("count artifacts: %w", err)
		}
		a.kept, a.counted = kept, time.Now()
	}
	return usageOf(a.kept, tenant, owner).computeRoom(most - most/16), nil // chunks have headers
}

// nameUpload gives an upload its name, or drops it when the content is there already, which is
// then as young as the upload.
func (a *Artifacts) nameUpload(ctx context.Context, store jetstream.ObjectStore, upload string, named jetstream.ObjectMeta) error {
	if info, err := store.GetInfo(ctx, named.Name); err == nil {
		return errors.Join(store.UpdateMeta(ctx, named.Name, info.ObjectMeta), a.dropObject(ctx, store, upload))
	}
	err := store.UpdateMeta(ctx, upload, named)
	if errors.Is(err, jetstream.ErrObjectAlreadyExists) {
		return a.dropObject(ctx, store, upload)
	}
	return err
}

func (a *Artifacts) dropObject(ctx context.Context, store jetstream.ObjectStore, name string) error {
	if err := store.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("drop object: %w", err)
	}
	return nil
}

// ahead is how many chunks may be on their way to the disk: the client would send
// thousands, and the server holds what it has not written in memory, and refuses when
// that is too much.
const ahead = 32

// limited refuses what goes beyond left bytes, and waits for the stream to have what was
// read before: the object store sends a chunk for every read.
type limited struct {
	ctx    context.Context // of the Put that it lives in
	r      io.Reader
	left   int64
	over   error // of what goes beyond
	stream jetstream.Stream
	chunks uint64
	base   uint64 // last sequence before the first chunk
}

// Read reads on.
func (l *limited) Read(p []byte) (int, error) {
	if l.chunks%ahead == 0 {
		if err := l.waitForChunks(); err != nil {
			return 0, err
		}
	}
	n, err := l.r.Read(p)
	if n > 0 {
		l.chunks++
	}
	l.left -= int64(n)
	if l.left < 0 {
		return 0, l.over
	}
	return n, err
}

// waitForChunks returns when all but the last chunks are in the stream. Others write there, too,
// so it may return a little early.
func (l *limited) waitForChunks() error {
	for {
		info, err := l.stream.Info(l.ctx)
		if err != nil {
			return fmt.Errorf("look at the object store: %w", err)
		}
		if l.chunks == 0 {
			l.base = info.State.LastSeq
			return nil
		}
		if info.State.LastSeq+ahead >= l.base+l.chunks {
			return nil
		}
	}
}

// Open returns a tenant's content as a stream, transport.ErrNoArtifact when there is
// none. A byte that differs from what the hash says is an error at the end, at the latest.
func (a *Artifacts) Open(ctx context.Context, tenant, sum string) (io.ReadCloser, error) {
	store, err := a.openObjectStore(ctx)
	if err != nil {
		return nil, err
	}
	want, err := hex.DecodeString(sum)
	if err != nil || len(want) != sha256.Size || !ValidToken(tenant) {
		return nil, transport.ErrNoArtifact
	}
	object, err := store.Get(ctx, schemas.ArtifactObject(tenant, sum))
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, transport.ErrNoArtifact
	}
	if err != nil {
		return nil, fmt.Errorf("open artifact: %w", err)
	}
	info, err := object.Info()
	if err == nil && info.Digest != "SHA-256="+base64.URLEncoding.EncodeToString(want) { // its stream is held to that
		err = errors.New("its content is another")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open artifact: %w", err), object.Close())
	}
	return object, nil
}

// Delete erases a tenant's content: its bytes are overwritten in the stream. It reports
// whether there was any.
func (a *Artifacts) Delete(ctx context.Context, tenant, sum string) (bool, error) {
	store, err := a.openObjectStore(ctx)
	if err != nil {
		return false, err
	}
	name := schemas.ArtifactObject(tenant, sum)
	info, err := store.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("erase artifact: %w", err)
	}
	stream, err := a.js.Stream(ctx, artifactsStream)
	if err != nil {
		return false, fmt.Errorf("erase artifact: %w", err)
	}
	var parts []uint64
	chunks := "$O." + ArtifactsBucket + ".C." + info.NUID
	if err := scanStream(ctx, a.js.Conn(), stream, scanConfig{filters: []string{chunks}, headersOnly: true}, func(m stored) error {
		parts = append(parts, m.seq)
		return nil
	}); err != nil {
		return false, fmt.Errorf("erase artifact: %w", err)
	}
	for _, seq := range parts {
		if _, err := eraseMessage(ctx, a.js.Conn(), stream, seq); err != nil {
			return false, fmt.Errorf("erase artifact: %w", err)
		}
	}
	return true, a.dropObject(ctx, store, name)
}

// StoredArtifact names a content that is kept.
type StoredArtifact struct {
	Tenant string `json:"tenant"`
	SHA256 string `json:"sha256"`
}

// List returns every content that is kept, sorted; none where there is no bucket.
func (a *Artifacts) List(ctx context.Context) ([]StoredArtifact, error) {
	objects, err := objectsOf(ctx, a.js, ArtifactsBucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []StoredArtifact
	for _, o := range objects {
		if tenant, sum, ok := strings.Cut(o.name, "/"); ok && schemas.ArtifactObject(tenant, sum) == o.name && !strings.Contains(o.name, uploads) {
			list = append(list, StoredArtifact{tenant, sum})
		}
	}
	slices.SortFunc(list, func(a, b StoredArtifact) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.SHA256, b.SHA256))
	})
	return list, nil
}

// Sweep drops uploads that were given up a day ago, and contents that are a week old and
// not claimed: nobody can open them.
func (a *Artifacts) Sweep(ctx context.Context, now time.Time, claimed func(ctx context.Context, tenant, sum string) (bool, error)) (int, error) {
	store, err := a.openObjectStore(ctx)
	if err != nil {
		return 0, err
	}
	objects, err := objectsOf(ctx, a.js, ArtifactsBucket)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, o := range objects {
		tenant, sum, ok := strings.Cut(o.name, "/")
		switch age := now.Sub(o.at); {
		case !ok || age <= uploadLimit:
		case strings.Contains(o.name, uploads):
			if err := a.dropObject(ctx, store, o.name); err != nil {
				return removed, err
			}
		case age > claimLimit:
			gone, err := a.sweepUnclaimed(ctx, store, o.at, tenant, sum, claimed)
			if err != nil {
				return removed, err
			}
			removed += gone
		}
	}
	return removed, nil
}

// sweepUnclaimed removes a content that nobody claims, unless it was stored again since at.
func (a *Artifacts) sweepUnclaimed(ctx context.Context, store jetstream.ObjectStore, at time.Time, tenant, sum string, claimed func(ctx context.Context, tenant, sum string) (bool, error)) (int, error) {
	if ok, err := claimed(ctx, tenant, sum); ok || err != nil {
		return 0, err
	}
	info, err := store.GetInfo(ctx, schemas.ArtifactObject(tenant, sum))
	if errors.Is(err, jetstream.ErrObjectNotFound) || err == nil && info.ModTime.After(at) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look at artifact: %w", err)
	}
	if gone, err := a.Delete(ctx, tenant, sum); !gone || err != nil {
		return 0, err
	}
	return 1, nil
}

func (a *Artifacts) openRevocations(ctx context.Context) (jetstream.KeyValue, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.revoked == nil {
		kv, err := a.js.KeyValue(ctx, RevokedBucket)
		if err != nil {
			return nil, fmt.Errorf("open bucket %q: %w", RevokedBucket, err)
		}
		a.revoked = kv
	}
	return a.revoked, nil
}

// revokedKey is a key that any text can be under.
func revokedKey(tenant, what string) string {
	sum := sha256.Sum256([]byte(what))
	return tenant + "." + hex.EncodeToString(sum[:])
}

// Revoke notes that what was given out under a name until at is void.
func (a *Artifacts) Revoke(ctx context.Context, tenant, what string, at time.Time) error {
	guarded, done := a.guard.guardContext(ctx)
	defer done()
	kv, err := a.openRevocations(guarded)
	if err == nil {
		_, err = kv.PutString(guarded, revokedKey(tenant, what), strconv.FormatInt(at.UnixNano(), 10))
	}
	if err != nil {
		return fmt.Errorf("revoke handles: %w", a.guard.explainError(ctx, guarded, err))
	}
	return nil
}

// RevokedAt returns until when what was given out under a name is void; the zero time
// when nothing is. Where somebody else wrote there, it fails.
func (a *Artifacts) RevokedAt(ctx context.Context, tenant, what string) (time.Time, error) {
	entry, err := readStored(ctx, a.js.Conn(), revokedStream, lookup{Last: "$KV." + RevokedBucket + "." + revokedKey(tenant, what)})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("look for a revocation: %w", err)
	}
	ns, err := strconv.ParseInt(string(entry.data), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read revocation: %w", err)
	}
	return time.Unix(0, ns), nil
}

// EnsureArtifacts makes the buckets of artifacts that are not there, and no other stream.
func EnsureArtifacts(ctx context.Context, js jetstream.JetStream, cfg Config) error {
	_, err := js.ObjectStore(ctx, ArtifactsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: ArtifactsBucket, Description: "heavy contents by tenant and SHA-256",
			MaxBytes: cfg.ArtifactBytes, Storage: jetstream.FileStorage, Replicas: cfg.Replicas,
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("ensure bucket %q: %w", ArtifactsBucket, streamError(err))
	}
	if err := readLeader(ctx, js, artifactsStream); err != nil {
		return err
	}
	_, err = js.KeyValue(ctx, RevokedBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: RevokedBucket, Description: "revoked artifact handles",
			TTL: revokedTTL, MaxBytes: revokedBytes, Storage: jetstream.FileStorage, Replicas: cfg.Replicas,
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("ensure bucket %q: %w", RevokedBucket, streamError(err))
	}
	return readLeader(ctx, js, revokedStream)
}

// revokedBytes holds some hundred thousand revocations.
const revokedBytes = 32 << 20
