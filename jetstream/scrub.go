package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"satchel/worker/transport"
)

// ErrVacuumPending is returned by Vacuum when bytes of trimmed messages may still be
// on the disk, because messages wait for the log. Try again later.
var ErrVacuumPending = errors.New("trimmed messages may still be on the disk")

// Scrubber erases events from the streams and their bytes from the disk.
type Scrubber struct {
	Patience time.Duration // how long a Vacuum waits for the log; 10 s

	js          jetstream.JetStream
	checkpoints Checkpoints

	vacuum sync.Mutex // guards what follows, and lets one Vacuum run at a time
	epoch  string     // of MEMORY, when clean and padded were noted
	clean  uint64     // nothing up to this sequence of MEMORY is on the disk
	padded uint64     // the last padding
}

// Checkpoints returns, by partition name, the MEMORY sequence up to which the log
// holds everything of that partition.
type Checkpoints func(ctx context.Context) (map[string]uint64, error)

var _ transport.StreamScrubber = (*Scrubber)(nil)

// NewScrubber returns a Scrubber. With checkpoints a Scrub also vacuums MEMORY; nil
// leaves out Vacuum.
func NewScrubber(js jetstream.JetStream, checkpoints Checkpoints) *Scrubber {
	return &Scrubber{Patience: 10 * time.Second, js: js, checkpoints: checkpoints}
}

// Scrub overwrites and removes every copy of the events in MEMORY and DLQ, and the
// tenant's kept replies. LEDGER stays as it is: it refers to memories and never holds
// their content, and its positions are dense. It returns how many messages it removed,
// by stream.
// Copies that MEMORY dropped earlier can still be on the disk: when they may be, the
// counts come with ErrVacuumPending.
func (s *Scrubber) Scrub(ctx context.Context, tenant string, copies []transport.Copy) (map[string]int, error) {
	if !ValidToken(tenant) {
		return nil, fmt.Errorf("scrub streams of %q: %w", clip(tenant), ErrSubject)
	}
	wanted := make(map[transport.Copy]struct{}, len(copies))
	for _, c := range copies {
		wanted[c] = struct{}{}
	}
	removed := make(map[string]int)
	for name, filter := range map[string]string{
		MemoryStream: "p.*.mem.v1." + tenant + ".>",
		DLQStream:    "dlq.v1." + tenant + ".>",
	} {
		n, err := s.scrubStream(ctx, name, filter, wanted)
		removed[name] = n
		if err != nil {
			return removed, fmt.Errorf("scrub streams of %q: %w", tenant, err)
		}
	}
	n, err := s.scrubReplies(ctx, tenant)
	removed[RepliesBucket] = n
	if err != nil {
		return removed, fmt.Errorf("scrub replies of %q: %w", tenant, err)
	}
	return removed, s.Vacuum(ctx)
}

func (s *Scrubber) scrubStream(ctx context.Context, name, filter string, wanted map[transport.Copy]struct{}) (int, error) {
	stream, err := s.js.Stream(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("open stream %q: %w", name, err)
	}
	var found []uint64
	err = scan(ctx, stream, scanConfig{filters: []string{filter}}, func(m stored) error {
		source, id := identityOf(m.header, m.data)
		_, copied := wanted[transport.Copy{Source: source, ID: id}]
		if copied || name == DLQStream && aboutItem(m, wanted) {
			found = append(found, m.seq)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, seq := range found {
		gone, err := erase(ctx, stream, seq)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

// aboutItem reports whether a rejected event is about one of the wanted items: its
// subject or its data say so, as far as they can be read.
func aboutItem(m stored, wanted map[transport.Copy]struct{}) bool {
	ev, err := Decode(m.header, m.data)
	if err != nil {
		return false
	}
	if _, ok := wanted[transport.Copy{Item: ev.Subject()}]; ok && ev.Subject() != "" {
		return true
	}
	var item struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(ev.Data(), &item) != nil || item.ID == "" {
		return false
	}
	_, ok := wanted[transport.Copy{Item: item.ID}]
	return ok
}

// erase overwrites a message and removes it; false means that it was not there.
func erase(ctx context.Context, stream jetstream.Stream, seq uint64) (bool, error) {
	err := stream.SecureDeleteMsg(ctx, seq)
	if err == nil {
		return true, nil
	}
	if _, missing := stream.GetMsg(ctx, seq); errors.Is(missing, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return false, fmt.Errorf("erase message %d of %q: %w", seq, stream.CachedInfo().Config.Name, err)
}

// scrubReplies drops the tenant's replies. They are in memory only.
func (s *Scrubber) scrubReplies(ctx context.Context, tenant string) (int, error) {
	store, err := s.js.ObjectStore(ctx, RepliesBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) { // the server forgot it when it ended, and all that was in it
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	objects, err := objectsOf(ctx, s.js, RepliesBucket)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, object := range objects {
		if !strings.HasPrefix(object.name, tenant+"/") {
			continue
		}
		if err := store.Delete(ctx, object.name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// Vacuum removes from MEMORY everything the log holds, files included. The server
// deletes a file only when no message in it is left. While none waits and none arrives,
// one purge empties the stream; otherwise Vacuum writes as much padding as fills a file,
// so that what came before shares none with what comes after, waits until the log has
// come so far, and purges up to there. It returns ErrVacuumPending when the log does not
// come so far in time. The messages at the checkpoints go, too: the guard then has the
// stream's epoch and last sequence only.
func (s *Scrubber) Vacuum(ctx context.Context) error {
	if s.checkpoints == nil {
		return nil
	}
	s.vacuum.Lock()
	defer s.vacuum.Unlock()
	if err := s.vacuumMemory(ctx); err != nil {
		return fmt.Errorf("vacuum %q: %w", MemoryStream, err)
	}
	return nil
}

func (s *Scrubber) vacuumMemory(ctx context.Context) error {
	stream, err := s.js.Stream(ctx, MemoryStream)
	if err != nil {
		return err
	}
	last, epoch := stream.CachedInfo().State.LastSeq, epochOf(stream.CachedInfo())
	if s.epoch != epoch {
		s.epoch, s.clean, s.padded = epoch, 0, 0
	}
	if last <= s.clean { // another erasure has seen to it
		return nil
	}
	floor, err := s.purgeHeld(ctx, stream, last)
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return err
	}
	if floor == last && info.State.LastSeq == last && info.State.Msgs == 0 { // such a purge replaces the whole folder
		s.clean = last
		return nil
	}
	room := info.Config.MaxBytes - int64(info.State.Bytes)
	if floor < s.padded || info.Config.MaxBytes > 0 && room < 3*blockSize/2 { // padding would only fill the stream
		return ErrVacuumPending
	}
	first, err := s.pad(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrVacuumPending, err)
	}
	if err := s.purgeBehind(ctx, stream, s.padded); err != nil {
		return err
	}
	s.clean = first - 1
	return nil
}

// purgeHeld removes what the log holds of MEMORY up to last, up to the first message that
// it does not hold, and returns up to where.
func (s *Scrubber) purgeHeld(ctx context.Context, stream jetstream.Stream, last uint64) (uint64, error) {
	checkpoints, err := s.checkpoints(ctx)
	if err != nil {
		return 0, fmt.Errorf("read checkpoints: %w", err)
	}
	floor := last
	for partition := range Partitions {
		held := checkpoints[PartitionName(partition)]
		if held >= floor {
			continue
		}
		next, err := stream.GetMsg(ctx, held+1, jetstream.WithGetMsgSubject(partitionFilter(partition)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		floor = min(floor, next.Sequence-1)
	}
	if floor == 0 {
		return 0, nil
	}
	return floor, stream.Purge(ctx, jetstream.WithPurgeSequence(floor+1))
}

// purgeBehind waits until the log holds everything up to seq and purges so far.
func (s *Scrubber) purgeBehind(ctx context.Context, stream jetstream.Stream, seq uint64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Patience, ErrVacuumPending)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		floor, err := s.purgeHeld(ctx, stream, seq)
		if err == nil && floor >= seq {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Padding is written to a subject of no tenant: no token is valid that has a tilde.
const paddingSubject = "mem.v1.~.evt.padding"

// blockSize is the size of the largest file of a stream's messages.
const blockSize = 8 << 20

// pad writes more than a file holds to MEMORY, notes where it ends, and returns where it
// begins.
func (s *Scrubber) pad(ctx context.Context) (first uint64, err error) {
	padding := make([]byte, min(MaxEventSize, int(s.js.Conn().MaxPayload()))-1024)
	for written := 0; written <= blockSize; written += len(padding) {
		ack, err := s.js.Publish(ctx, paddingSubject, padding)
		if err != nil {
			return 0, fmt.Errorf("write padding: %w", err)
		}
		if s.padded = ack.Sequence; first == 0 {
			first = ack.Sequence
		}
	}
	return first, nil
}
