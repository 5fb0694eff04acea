package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"satchel/jetstream/cloudevent"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// errScanLost says that a scan did not get every message.
var errScanLost = errors.New("messages were lost on the way")

// scanConfig says what a scan reads.
type scanConfig struct {
	filters     []string
	from        uint64 // first sequence, 0 for all
	headersOnly bool
}

// scanStream visits the messages a stream holds now, in order, once.
func scanStream(ctx context.Context, nc *nats.Conn, stream jetstream.Stream, cfg scanConfig, visit func(stored) error) error {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubjects:    cfg.filters,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       max(cfg.from, 1),
		AckPolicy:         jetstream.AckNonePolicy,
		HeadersOnly:       cfg.headersOnly,
		InactiveThreshold: time.Minute,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		return fmt.Errorf("scan stream %q: %w", stream.CachedInfo().Config.Name, err)
	}
	err = scanAll(ctx, nc, consumer, consumer.CachedInfo().NumPending, visit)
	if cleanup := stream.DeleteConsumer(ctx, consumer.CachedInfo().Name); cleanup != nil && err == nil {
		err = cleanup
	}
	if err != nil {
		return fmt.Errorf("scan stream %q: %w", stream.CachedInfo().Config.Name, err)
	}
	return nil
}

// scanAhead is how many messages a scan has ready.
const scanAhead = 256

func scanAll(ctx context.Context, nc *nats.Conn, consumer jetstream.Consumer, left uint64, visit func(stored) error) error {
	// A consumer made on one server of a cluster is known to the others a moment later, and
	// a connection comes back.
	const limit, pause = 5 * time.Second, 10 * time.Millisecond
	unheard := time.Now().Add(limit)
	made := consumer.CachedInfo()
	order := uint64(0)
	for left > 0 {
		f, err := startFeed(nc, made.Stream, made.Name, int(min(left, scanAhead)), int(max(8<<20, 2*nc.MaxPayload())))
		if err != nil {
			return err
		}
		for err == nil && left > 0 {
			err = scanOne(ctx, f, limit, &order, visit)
			left--
		}
		f.unsubscribeFeed()
		switch {
		case errors.Is(err, errFeedEnded) && time.Now().Before(unheard):
			left++
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		case errors.Is(err, errScanEnded):
			info, err := consumer.Info(ctx)
			if err == nil && (info.NumPending > 0 || info.Delivered.Consumer != order) { // sent while nobody could be reached
				err = errScanLost
			}
			return err // nil: the rest has been removed meanwhile
		case err != nil:
			return err
		}
	}
	return nil
}

// errScanEnded says that no further message came for a while.
var errScanEnded = errors.New("no further message")

// scanOne visits the next message, which is the one behind order.
func scanOne(ctx context.Context, f *feed, within time.Duration, order *uint64, visit func(stored) error) error {
	msg, err := f.takeMessage(ctx, within, nil)
	if err != nil {
		return err
	}
	if msg == nil {
		return errScanEnded
	}
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	*order++
	if meta.Sequence.Consumer != *order {
		return errScanLost
	}
	return visit(stored{meta.Sequence.Stream, msg.Subject, msg.Header, msg.Data, meta.Timestamp})
}

// object is what a bucket holds under a name.
type object struct {
	name  string
	at    time.Time // when it was put there
	size  int64
	owner string // principal that it counts against
}

// objectsOf lists what a bucket holds. Unlike the list of its store it ends when messages
// get lost, and says so.
func objectsOf(ctx context.Context, js jetstream.JetStream, bucket string) ([]object, error) {
	stream, err := js.Stream(ctx, "OBJ_"+bucket)
	if err != nil {
		return nil, fmt.Errorf("list bucket %q: %w", bucket, err)
	}
	var list []object
	err = scanStream(ctx, js.Conn(), stream, scanConfig{filters: []string{"$O." + bucket + ".M.>"}}, func(m stored) error {
		var info jetstream.ObjectInfo
		if json.Unmarshal(m.data, &info) == nil && !info.Deleted { // what is no entry is no object
			list = append(list, object{info.Name, m.at, int64(info.Size), info.Metadata[ownerMark]})
		}
		return nil
	})
	return list, err
}

// identityOf returns source and id of a stored event, "" when it has none.
func identityOf(header nats.Header, data []byte) (source, id string) {
	e, err := cloudevent.Decode(header, data)
	if err == nil {
		return e.Source(), e.ID()
	}
	source, sourceErr := attributeHeader(header, "source")
	id, idErr := attributeHeader(header, "id")
	if sourceErr != nil || idErr != nil {
		return "", ""
	}
	return source, id
}

func attributeHeader(header nats.Header, name string) (string, error) {
	raw, err := cloudevent.HeaderValue(header, cloudevent.AttributePrefix+name)
	if err != nil {
		return "", err
	}
	return cloudevent.UnescapeHeader(raw)
}
