package embedded_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/embedded"
)

// damage is what happens to one file of a consumer while the server is down.
type damage struct {
	name, file string
	change     func(content []byte) []byte
}

// TestTornConsumer: files of a consumer that the server cannot read do not keep it from
// being made anew, and the stream keeps its messages.
func TestTornConsumer(t *testing.T) {
	t.Parallel()
	for _, d := range []damage{
		{"state torn", "o.dat", func(b []byte) []byte { return b[:4] }},
		{"state of another version", "o.dat", func(b []byte) []byte { b[1] = 99; return b }},
		{"description empty", "meta.inf", func([]byte) []byte { return nil }},
		{"description with an unknown name", "meta.inf", func(b []byte) []byte { return bytes.Replace(b, []byte(`"ack_policy"`), []byte(`"ack_pOlicx"`), 1) }},
		{"no checksum", "meta.sum", nil},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			withConsumer(ctx, t, dir, func(c jetstream.Consumer) {
				msg, err := c.Next()
				if err != nil {
					t.Fatal(err)
				}
				if err := msg.DoubleAck(ctx); err != nil {
					t.Fatal(err)
				}
			})
			found, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "S", "obs", "reader", d.file))
			if err != nil || len(found) != 1 {
				t.Fatalf("files of the consumer: %v, %v", found, err)
			}
			d.apply(t, found[0])
			withConsumer(ctx, t, dir, func(c jetstream.Consumer) {
				info, err := c.Info(ctx)
				if err != nil || info.NumPending != 2 { // its state is gone, both messages are there
					t.Errorf("consumer made anew: %+v, %v", info, err)
				}
			})
			withConsumer(ctx, t, dir, func(jetstream.Consumer) {}) // what was made is in order
		})
	}
}

func (d damage) apply(t *testing.T, path string) {
	t.Helper()
	if d.change == nil {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, d.change(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// withConsumer runs use over a server in dir with a stream of two messages and a durable.
func withConsumer(ctx context.Context, t *testing.T, dir string, use func(jetstream.Consumer)) {
	t.Helper()
	s, err := embedded.Start(embedded.Config{Dir: dir, NoListen: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	nc, err := nats.Connect("", s.InProcess())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	for stream.CachedInfo().State.Msgs < 2 {
		if _, err := js.Publish(ctx, "s", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Info(ctx); err != nil {
			t.Fatal(err)
		}
	}
	c, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: "reader", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	use(c)
}
