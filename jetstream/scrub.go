package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/cloudevent"
	"satchel/worker/transport"
)

// ErrVacuumPending is returned by Vacuum when bytes of trimmed messages may still be
// on the disk, because messages wait for the log. Try again later.
var ErrVacuumPending = errors.New("trimmed messages may still be on the disk")

// Scrubber erases events from the streams and their bytes from the disk.
type Scrubber struct {
	Patience time.Duration   // how long a Vacuum waits while the log does not get on; 10 s
	Replies  *Replies        // of the service of this process, so that it refuses replies under way
	Still    func() []string // partitions that are known to stand still, by name; nil: none are

	js          jetstream.JetStream
	checkpoints Checkpoints

	vacuum sync.Mutex        // guards what follows, and lets one Vacuum run at a time
	epoch  string            // of MEMORY, when clean was noted
	clean  uint64            // nothing up to this sequence of MEMORY is on the disk
	stood  map[string]uint64 // checkpoints of the partitions that were last waited for in vain
}

// Checkpoints returns, by partition name, the sequence up to which the log holds
// everything of that partition from MEMORY as it was created at epoch; nothing of a
// partition whose checkpoint is on another stream.
type Checkpoints func(ctx context.Context, epoch string) (map[string]uint64, error)

var _ transport.StreamScrubber = (*Scrubber)(nil)

// NewScrubber returns a Scrubber. With checkpoints a Scrub also vacuums MEMORY; nil
// leaves out Vacuum.
func NewScrubber(js jetstream.JetStream, checkpoints Checkpoints) *Scrubber {
	return &Scrubber{Patience: 10 * time.Second, Replies: NewReplies(js, Config{}), js: js, checkpoints: checkpoints}
}

// Scrub overwrites and removes every copy of the events in MEMORY and DLQ, and the
// tenant's kept replies. It also removes the dead letters that name an erased item, and counts
// those that do not name their items. LEDGER stays as it is: it refers to memories and
// never holds their content, and its positions are dense.
// Copies that MEMORY dropped earlier can still be on the disk: when they may be, the
// counts come with ErrVacuumPending.
func (s *Scrubber) Scrub(ctx context.Context, tenant string, copies []transport.Copy) (map[string]transport.Scrubbed, error) {
	if !ValidToken(tenant) {
		return nil, fmt.Errorf("scrub streams of %q: %w", cloudevent.Clip(tenant), ErrSubject)
	}
	wanted := newMentions(tenant, copies)
	found := make(map[string]transport.Scrubbed)
	for _, part := range []struct {
		stream  string
		filters []string
		relate  func(stored) relation
	}{
		{MemoryStream, []string{"p.*.mem.v1." + tenant + ".>"}, func(m stored) relation {
			if wanted.isErasedCopy(m) {
				return related
			}
			return unrelated
		}},
		{DLQStream, []string{"dlq.v1." + tenant + ".>", "dlq.v1." + NoTenant + ".>"}, wanted.findRelation},
		// An event of this tenant that was published under another's subject.
		{DLQStream, []string{"dlq.v1.*." + wrongTenant}, func(m stored) relation {
			if own, _, err := ParseDLQ(m.subject); err != nil || own == tenant || own == NoTenant {
				return unrelated // it was looked at
			}
			return wanted.findRelation(m)
		}},
	} {
		n, err := s.scrubStream(ctx, part.stream, part.filters, part.relate)
		n.Removed += found[part.stream].Removed
		n.Undecided += found[part.stream].Undecided
		found[part.stream] = n
		if err != nil {
			return found, fmt.Errorf("scrub streams of %q: %w", tenant, err)
		}
	}
	replies, err := s.Replies.dropReplies(ctx, tenant)
	found[RepliesBucket] = replies
	if err != nil {
		return found, fmt.Errorf("scrub replies of %q: %w", tenant, err)
	}
	return found, s.Vacuum(ctx)
}

// wrongTenant is the reason of dead letters whose data names another tenant than their subject.
const wrongTenant = "wrong_tenant"

// scrubStream removes the related messages of a stream and counts the undecided ones.
func (s *Scrubber) scrubStream(ctx context.Context, name string, filters []string, relate func(stored) relation) (transport.Scrubbed, error) {
	var out transport.Scrubbed
	stream, err := s.js.Stream(ctx, name)
	if err != nil {
		return out, fmt.Errorf("open stream %q: %w", name, err)
	}
	var found []uint64
	err = scanStream(ctx, s.js.Conn(), stream, scanConfig{filters: filters}, func(m stored) error {
		switch relate(m) {
		case related:
			found = append(found, m.seq)
		case undecided:
			out.Undecided++
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	for _, seq := range found {
		gone, err := eraseMessage(ctx, s.js.Conn(), stream, seq)
		if err != nil {
			return out, err
		}
		if gone {
			out.Removed++
		}
	}
	return out, nil
}

// eraseMessage overwrites a message and removes it; false means that it was not there.
func eraseMessage(ctx context.Context, nc *nats.Conn, stream jetstream.Stream, seq uint64) (bool, error) {
	err := stream.SecureDeleteMsg(ctx, seq)
	if err == nil {
		return true, nil
	}
	name := stream.CachedInfo().Config.Name
	if _, missing := readStored(ctx, nc, name, lookup{Seq: seq}); errors.Is(missing, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return false, fmt.Errorf("erase message %d of %q: %w", seq, name, err)
}

// Vacuum removes from MEMORY everything the log holds, files included. The server
// deletes a file only when no message in it is left. Vacuum waits until the log holds what
// MEMORY has, and purges it. While none arrives, that empties the stream; otherwise Vacuum
// writes as much padding as fills a file, so that what came before shares none with what
// comes after, waits for the log again, and purges up to there. It returns
// ErrVacuumPending when the log does not get on. The messages at the checkpoints go, too:
// the guard then has the stream's epoch and last sequence only.
func (s *Scrubber) Vacuum(ctx context.Context) error {
	if s.checkpoints == nil {
		return nil
	}
	asked, err := s.js.Stream(ctx, MemoryStream)
	if err == nil {
		s.vacuum.Lock()
		defer s.vacuum.Unlock()
		err = s.vacuumMemory(ctx, asked.CachedInfo())
	}
	if err != nil {
		return fmt.Errorf("vacuum %q: %w", MemoryStream, err)
	}
	return nil
}

// vacuumMemory sees to what was in MEMORY when it was asked.
func (s *Scrubber) vacuumMemory(ctx context.Context, asked *jetstream.StreamInfo) error {
	stream, err := s.js.Stream(ctx, MemoryStream)
	if err != nil {
		return err
	}
	last := stream.CachedInfo().State.LastSeq
	epoch := epochOf(stream.CachedInfo())
	if s.epoch != epoch {
		s.epoch = epoch
		s.clean = 0
	}
	if epochOf(asked) == epoch && asked.State.LastSeq <= s.clean { // another erasure has seen to it
		return nil
	}
	if err := s.purgeMemory(ctx, stream, last); err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return err
	}
	if info.State.LastSeq == last && info.State.Msgs == 0 { // such a purge replaces the whole folder
		s.clean = last
		return nil
	}
	if info.Config.MaxBytes > 0 && info.Config.MaxBytes-int64(info.State.Bytes) < 3*blockSize/2 {
		return fmt.Errorf("%w: beside events that do not pause it takes 12 MiB of room in the stream", ErrVacuumPending)
	}
	first, end, err := s.writePadding(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrVacuumPending, err)
	}
	if err := s.purgeMemory(ctx, stream, end); err != nil {
		return err
	}
	s.clean = first - 1
	return nil
}

// purgeMemory removes MEMORY up to a sequence. It waits until the log holds all that, as long as
// the log gets on. It does not wait again for partitions that it waited for in vain, until they
// get on.
func (s *Scrubber) purgeMemory(ctx context.Context, stream jetstream.Stream, upTo uint64) error {
	wait := 10 * time.Millisecond
	end := time.Now().Add(s.Patience)
	last := map[string]uint64(nil)
	for {
		behind, err := s.purgeHeld(ctx, stream, upTo)
		switch {
		case err != nil:
			return err
		case len(behind) == 0:
			return nil
		case s.isStandingStill(behind), time.Now().After(end) && maps.Equal(behind, last):
			s.stood = behind
			return &transport.BehindError{Stream: MemoryStream, Partitions: slices.Sorted(maps.Keys(behind)), Err: ErrVacuumPending}
		case !maps.Equal(behind, last):
			end = time.Now().Add(s.Patience)
			last = behind
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, 250*time.Millisecond)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isStandingStill reports whether each of the partitions is known to stand still, or has its checkpoint
// where it was waited for in vain.
func (s *Scrubber) isStandingStill(behind map[string]uint64) bool {
	var still []string
	if s.Still != nil {
		still = s.Still()
	}
	for name, held := range behind {
		if at, stood := s.stood[name]; (!stood || at != held) && !slices.Contains(still, name) {
			return false
		}
	}
	return true
}

// purgeHeld removes MEMORY up to the first message that the log does not hold, or up to a
// sequence, and returns the checkpoints of the partitions that have such a message before it.
func (s *Scrubber) purgeHeld(ctx context.Context, stream jetstream.Stream, upTo uint64) (behind map[string]uint64, err error) {
	checkpoints, err := s.checkpoints(ctx, s.epoch)
	if err != nil {
		return nil, fmt.Errorf("read checkpoints: %w", err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	if epochOf(info) != s.epoch {
		return nil, ErrVacuumPending
	}
	floor := upTo
	behind = map[string]uint64{}
	for partition := range Partitions {
		name := PartitionName(partition)
		held := checkpoints[name]
		if held > info.State.LastSeq { // a checkpoint from before the stream lost its tail
			held = 0
		}
		if held >= upTo {
			continue
		}
		next, err := FirstWaiting(ctx, s.js.Conn(), partition, held)
		if err != nil {
			return nil, err
		}
		if next > 0 && next <= upTo {
			floor = min(floor, next-1)
			behind[name] = held
		}
	}
	if floor == 0 {
		return behind, nil
	}
	return behind, stream.Purge(ctx, jetstream.WithPurgeSequence(floor+1))
}

// Padding is written to a subject of no tenant: no token is valid that has a tilde.
const paddingSubject = "mem.v1.~.evt.padding"

// blockSize is the size of the largest file of a stream's messages.
const blockSize = 8 << 20

// writePadding writes more than a file holds to MEMORY and returns where it begins and ends.
func (s *Scrubber) writePadding(ctx context.Context) (first, last uint64, err error) {
	const overhead, least = 1 << 10, 64 << 10
	size := min(MaxEventSize, int(s.js.Conn().MaxPayload())) - overhead
	if size < least {
		return 0, 0, fmt.Errorf("write padding: the server's max_payload of %d bytes is too small", s.js.Conn().MaxPayload())
	}
	padding := make([]byte, size)
	for written := 0; written <= blockSize; written += size {
		ack, err := s.js.Publish(ctx, paddingSubject, padding)
		if err != nil {
			return 0, 0, fmt.Errorf("write padding: %w", err)
		}
		last = ack.Sequence
		if first == 0 {
			first = last
		}
	}
	return first, last, nil
}

// isPadding reports whether a message is what pad wrote: anything else there is somebody's.
func isPadding(subject string, header nats.Header, data []byte) bool {
	return subject == paddingSubject && len(header) == 0 && len(bytes.Trim(data, "\x00")) == 0
}
