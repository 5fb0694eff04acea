package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"satchel/worker/transport"
)

// ErrVacuumPending is returned by Vacuum when bytes of trimmed messages may still be
// on the disk, because messages arrive or wait. Try again later.
var ErrVacuumPending = errors.New("trimmed messages may still be on the disk")

// Scrubber erases events from the streams and their bytes from the disk.
type Scrubber struct {
	js          jetstream.JetStream
	checkpoints Checkpoints
}

// Checkpoints returns, by partition name, the MEMORY sequence up to which the log
// holds everything of that partition.
type Checkpoints func(ctx context.Context) (map[string]uint64, error)

var _ transport.StreamScrubber = (*Scrubber)(nil)

// NewScrubber returns a Scrubber. With checkpoints a Scrub also vacuums MEMORY; nil
// leaves that to whoever calls Vacuum.
func NewScrubber(js jetstream.JetStream, checkpoints Checkpoints) *Scrubber {
	return &Scrubber{js: js, checkpoints: checkpoints}
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
	if s.checkpoints == nil {
		return removed, nil
	}
	checkpoints, err := s.checkpoints(ctx)
	if err != nil {
		return removed, fmt.Errorf("scrub streams of %q: read checkpoints: %w", tenant, err)
	}
	return removed, s.Vacuum(ctx, checkpoints)
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
// deletes its files only when nothing in them is alive; that is so when no message
// waits and none arrives meanwhile, otherwise Vacuum removes what it can and returns
// ErrVacuumPending. The messages at the checkpoints go, too: the guard then has the
// stream's epoch and last sequence only.
func (s *Scrubber) Vacuum(ctx context.Context, checkpoints map[string]uint64) error {
	stream, err := s.js.Stream(ctx, MemoryStream)
	if err != nil {
		return fmt.Errorf("vacuum %q: %w", MemoryStream, err)
	}
	last := stream.CachedInfo().State.LastSeq
	floor := last
	for partition := range Partitions {
		msg, err := stream.GetLastMsgForSubject(ctx, partitionFilter(partition))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("vacuum %q: %w", MemoryStream, err)
		}
		if held := checkpoints[PartitionName(partition)]; msg.Sequence > held {
			floor = min(floor, held)
		}
	}
	if floor > 0 {
		if err := stream.Purge(ctx, jetstream.WithPurgeSequence(floor+1)); err != nil {
			return fmt.Errorf("vacuum %q: %w", MemoryStream, err)
		}
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("vacuum %q: %w", MemoryStream, err)
	}
	// The whole folder is replaced only by a purge behind the last message.
	if floor != last || info.State.LastSeq != last || info.State.Msgs != 0 {
		return fmt.Errorf("vacuum %q: %w", MemoryStream, ErrVacuumPending)
	}
	return nil
}
