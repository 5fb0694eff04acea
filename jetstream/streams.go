package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Partitions is into how many partitions MEMORY splits its tenants.
const Partitions = 16

// The streams and the object-store bucket.
const (
	MemoryStream  = "MEMORY"
	LedgerStream  = "LEDGER"
	DLQStream     = "DLQ"
	RepliesBucket = "SATCHEL_REPLIES"
)

// MaxEventSize is the largest message MEMORY takes, headers included, in bytes.
// A larger body travels by dataref.
const MaxEventSize = 768 << 10

// ErrStreamDiffers is wrapped when a stream exists with another configuration.
var ErrStreamDiffers = errors.New("stream differs from what Satchel needs")

// Config sizes the streams. The zero value is for one embedded server.
type Config struct {
	Replicas      int           // copies of every stream, default 1; see Copies
	External      bool          // the server is another's: what is there may be larger, or have more copies
	MemoryBytes   int64         // MEMORY refuses beyond it, default 4 GiB
	LedgerBytes   int64         // LEDGER drops its oldest beyond it, default 4 GiB
	DLQBytes      int64         // DLQ drops its oldest beyond it, default 512 MiB
	ArtifactBytes int64         // disk for artifacts, beyond which a new one is refused; default 1 GiB
	RepliesBytes  int64         // memory for replies over the payload limit, default 128 MiB
	RepliesTTL    time.Duration // how long such a reply can be fetched, default 5 minutes
}

// withDefaults fills what is zero.
func (c Config) withDefaults() Config {
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.MemoryBytes == 0 {
		c.MemoryBytes = 4 << 30
	}
	if c.LedgerBytes == 0 {
		c.LedgerBytes = 4 << 30
	}
	if c.DLQBytes == 0 {
		c.DLQBytes = 512 << 20
	}
	if c.ArtifactBytes == 0 {
		c.ArtifactBytes = 1 << 30
	}
	if c.RepliesBytes == 0 {
		c.RepliesBytes = 128 << 20
	}
	if c.RepliesTTL == 0 {
		c.RepliesTTL = 5 * time.Minute
	}
	return c
}

// Validate reports what in c cannot work.
func (c Config) Validate() error {
	if c.Replicas < 0 || c.MemoryBytes < 0 || c.LedgerBytes < 0 || c.DLQBytes < 0 || c.ArtifactBytes < 0 || c.RepliesBytes < 0 || c.RepliesTTL < 0 {
		return errors.New("stream config: a limit is negative")
	}
	return nil
}

// EnsureStreams creates the streams and the bucket that are missing. What is there
// it compares, and it refuses with ErrStreamDiffers and every differing field: it
// never alters a stream.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	cfg = cfg.withDefaults()
	return whileAway(ctx, js.Conn(), func(ctx context.Context) error {
		for _, want := range streamConfigs(cfg) {
			if err := ensureStream(ctx, js, want, cfg.External); err != nil {
				return err
			}
		}
		if err := EnsureArtifacts(ctx, js, cfg); err != nil {
			return err
		}
		return ensureReplies(ctx, js, cfg)
	})
}

// Copies is how many copies of a stream the promise needs on this server: three in a
// cluster, one on a server alone. A leaf node without a cluster gives its own name for that of one.
func Copies(nc *nats.Conn) int {
	if cluster := nc.ConnectedClusterName(); cluster == "" || cluster == nc.ConnectedServerName() {
		return 1
	}
	return 3
}

// streamConfigs returns what the streams have to be. The duplicate window of MEMORY
// and LEDGER is the shortest there is: nobody may rely on it, and a message id could
// make one tenant suppress another's event.
func streamConfigs(cfg Config) []jetstream.StreamConfig {
	memory := jetstream.StreamConfig{
		Name:               MemoryStream,
		Description:        "memory events as agents publish them, trimmed to what the log holds",
		Subjects:           []string{"mem.v1.*.evt.*"},
		Discard:            jetstream.DiscardNew,
		MaxBytes:           cfg.MemoryBytes,
		MaxMsgSize:         MaxEventSize,
		Duplicates:         100 * time.Millisecond,
		AllowAtomicPublish: true,
		SubjectTransform: &jetstream.SubjectTransformConfig{
			Source:      "mem.v1.*.evt.*",
			Destination: "p.{{partition(" + strconv.Itoa(Partitions) + ",1)}}.mem.v1.{{wildcard(1)}}.evt.{{wildcard(2)}}",
		},
	}
	// LEDGER is not compressed: a server of a cluster that was killed may be left with a block
	// that it cannot read, answer that a tenant has no message, and then have no leader.
	ledger := jetstream.StreamConfig{
		Name:               LedgerStream,
		Description:        "a window on the log: memory, packs, drops, decisions, proofs",
		Subjects:           []string{"prov.v1.>"},
		Discard:            jetstream.DiscardOld,
		MaxBytes:           cfg.LedgerBytes,
		MaxMsgSize:         -1,
		Duplicates:         100 * time.Millisecond,
		AllowAtomicPublish: true,
	}
	dlq := jetstream.StreamConfig{
		Name:        DLQStream,
		Description: "rejected events, whole, with the cause",
		Subjects:    []string{"dlq.v1.>"},
		Discard:     jetstream.DiscardOld, // a full DLQ must not stop the partitions of every tenant
		MaxBytes:    cfg.DLQBytes,
		MaxMsgSize:  -1,
		Duplicates:  time.Hour,
	}
	list := []jetstream.StreamConfig{memory, ledger, dlq}
	for i := range list {
		list[i].Retention = jetstream.LimitsPolicy
		list[i].Storage = jetstream.FileStorage
		list[i].Replicas = cfg.Replicas
		list[i].MaxMsgs = -1
		list[i].MaxMsgsPerSubject = -1
		list[i].MaxConsumers = -1
	}
	return list
}

func ensureStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, external bool) error {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
			stream, err = js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("ensure stream %q: %w", want.Name, streamError(err))
	}
	if differences := diffStream(want, stream.CachedInfo().Config, external); len(differences) > 0 {
		return fmt.Errorf("ensure stream %q: %w: %s", want.Name, ErrStreamDiffers, strings.Join(differences, "; "))
	}
	return nil
}

// The reasons for which a server does not make a stream.
var (
	// ErrNoRoom: the servers or the account have less room than asked for.
	ErrNoRoom = errors.New("NATS has less disk for streams than asked for: lower SATCHEL_STREAM_MB, or raise its max_file_store or the account's limit")
	// ErrFewServers: there are fewer servers with JetStream than copies.
	ErrFewServers = errors.New("the cluster has fewer servers with JetStream than copies are asked for: add servers, or see NATS_REPLICAS")
)

// streamError names what a user can do about a stream that was not made.
func streamError(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case 10047, 10023, 10002, 10028: // storage, resources, account resources, memory
			return fmt.Errorf("%w: %w", ErrNoRoom, err)
		case 10005, 10074: // no suitable peers, replicas not supported
			return fmt.Errorf("%w: %w", ErrFewServers, err)
		}
	}
	return err
}

// leastBytes is the smallest limit of a stream on another's server.
const leastBytes = 16 << 20

// diffStream lists the fields that matter and differ, in words. On another's server a
// stream may be of any size from leastBytes, and have more copies.
func diffStream(want, have jetstream.StreamConfig, external bool) []string {
	var list []string
	field := func(name string, want, have any) {
		if fmt.Sprint(want) != fmt.Sprint(have) {
			list = append(list, fmt.Sprintf("%s is %v, want %v", name, have, want))
		}
	}
	slices.Sort(have.Subjects)
	field("subjects", want.Subjects, have.Subjects)
	field("retention", want.Retention, have.Retention)
	field("storage", want.Storage, have.Storage)
	field("discard", want.Discard, have.Discard)
	switch {
	case !external:
		field("max_bytes", want.MaxBytes, have.MaxBytes)
	case have.MaxBytes >= 0 && have.MaxBytes < min(want.MaxBytes, leastBytes):
		list = append(list, fmt.Sprintf("max_bytes is %d, want at least %d", have.MaxBytes, min(want.MaxBytes, leastBytes)))
	}
	field("max_msgs", want.MaxMsgs, have.MaxMsgs)
	field("max_msgs_per_subject", want.MaxMsgsPerSubject, have.MaxMsgsPerSubject)
	field("max_msg_size", want.MaxMsgSize, have.MaxMsgSize)
	field("max_age", want.MaxAge, have.MaxAge)
	if !external || have.Replicas < want.Replicas {
		field("num_replicas", want.Replicas, have.Replicas)
	}
	field("duplicate_window", want.Duplicates, have.Duplicates)
	if want.Name == MemoryStream && have.Replicas > 1 { // a copy that lags may not say what waits
		field("allow_direct", want.AllowDirect, have.AllowDirect)
	}
	field("allow_atomic", want.AllowAtomicPublish, have.AllowAtomicPublish)
	field("subject_transform", transformText(want.SubjectTransform), transformText(have.SubjectTransform))
	field("sealed", false, have.Sealed)
	field("deny_delete", false, have.DenyDelete)
	field("deny_purge", false, have.DenyPurge)
	field("no_ack", false, have.NoAck)
	field("persist_mode", want.PersistMode, have.PersistMode)
	field("mirror", false, have.Mirror != nil)
	return list
}

func transformText(t *jetstream.SubjectTransformConfig) string {
	if t == nil {
		return "none"
	}
	return t.Source + " to " + t.Destination
}

// ensureReplies makes the bucket for replies over the payload limit. It is held in
// memory: what passes through it is content, and nothing of it may stay on a disk.
func ensureReplies(ctx context.Context, js jetstream.JetStream, cfg Config) error {
	store, err := js.ObjectStore(ctx, RepliesBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		store, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket:      RepliesBucket,
			Description: "replies over the payload limit, by SHA-256",
			TTL:         cfg.RepliesTTL,
			MaxBytes:    cfg.RepliesBytes,
			Storage:     jetstream.MemoryStorage,
			Replicas:    cfg.Replicas,
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			store, err = js.ObjectStore(ctx, RepliesBucket)
		}
	}
	if err != nil {
		return fmt.Errorf("ensure bucket %q: %w", RepliesBucket, err)
	}
	status, err := store.Status(ctx)
	if err != nil {
		return fmt.Errorf("ensure bucket %q: %w", RepliesBucket, err)
	}
	if status.Storage() != jetstream.MemoryStorage {
		return fmt.Errorf("ensure bucket %q: %w: storage is %v, want %v", RepliesBucket, ErrStreamDiffers,
			status.Storage(), jetstream.MemoryStorage)
	}
	return readLeader(ctx, js, "OBJ_"+RepliesBucket)
}

// readLeader has the bucket behind a stream read from the stream's leader alone, where it
// has several copies: another copy may not have yet what was just written, and the library
// makes buckets that are read from any.
func readLeader(ctx context.Context, js jetstream.JetStream, name string) error {
	stream, err := js.Stream(ctx, name)
	if err == nil {
		if cfg := stream.CachedInfo().Config; cfg.AllowDirect && cfg.Replicas > 1 {
			cfg.AllowDirect = false
			_, err = js.UpdateStream(ctx, cfg)
		}
	}
	if err != nil {
		return fmt.Errorf("have %q read from its leader: %w", name, streamError(err))
	}
	return nil
}

// epochOf is the identity of a stream: a recreated stream has another one.
func epochOf(info *jetstream.StreamInfo) string {
	return strconv.FormatInt(info.Created.UnixNano(), 36)
}
