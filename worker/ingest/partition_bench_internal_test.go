package ingest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"satchel/pipeline/meter"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/write"
	"satchel/policies/opa"
	"satchel/schemas"
	"satchel/worker/authorship"
	"satchel/worker/metrics"
	"satchel/worker/transport"
)

// takingInbox takes acknowledgements.
type takingInbox struct{ transport.Inbox }

func (takingInbox) Name() string                        { return "p00" }
func (takingInbox) Ack(context.Context, uint64) error   { return nil }
func (takingInbox) Purge(context.Context, uint64) error { return nil }

// noLetters fails the benchmark when something is refused.
type noLetters struct{ b *testing.B }

func (n noLetters) Reject(_ context.Context, rejected []transport.Rejected) error {
	n.b.Fatalf("refused: %s", rejected[0].Cause)
	return nil
}

// BenchmarkAppend appends batches of 512 events to a log of 100,000: of new items, and of
// items that are there.
func BenchmarkAppend(b *testing.B) {
	for name, again := range map[string]bool{"new": false, "again": true} {
		b.Run(name, func(b *testing.B) {
			a := benchAppender(b)
			seq := uint64(0)
			ids := make([]string, 512)
			batch := func(anew bool) []transport.Message {
				messages := make([]transport.Message, len(ids))
				for i := range ids {
					if anew {
						ids[i] = uuid.NewString()
					}
					seq++
					ev := event.New()
					ev.SetID(fmt.Sprint(seq))
					ev.SetSource("urn:agent:planner")
					ev.SetType(schemas.TypeMemoryRecorded)
					ev.DataEncoded = fmt.Appendf(nil, `{"id":%q,"type":"episodic","kind":"memory","scope":{"tenant":"acme"},"created_at":"2026-03-01T10:00:00Z",`+
						`"security_label":["level:internal"],"content":"Ticket %d: the card gateway answered with a timeout, and the retry went through after the certificate was renewed."}`, ids[i], seq)
					messages[i] = transport.Message{Seq: seq, Epoch: "e", Hash: sha256.Sum256(ev.DataEncoded), Tenant: "acme", Agent: "planner", Event: ev}
				}
				return messages
			}
			for range 200 {
				if err := a.commitMessages(b.Context(), batch(true)); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				messages := batch(!again)
				b.StartTimer()
				if err := a.commitMessages(b.Context(), messages); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/event")
		})
	}
}

func benchAppender(b *testing.B) *partitionAppender {
	b.Helper()
	driver, err := sqlite.OpenLog(b.Context(), sqlite.LogConfig{Path: filepath.Join(b.TempDir(), "log.db")})
	if err != nil {
		b.Fatal(err)
	}
	log, err := eventlog.New(eventlog.Config{Driver: driver})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = log.Close() })
	writer, err := write.New(write.Config{})
	if err != nil {
		b.Fatal(err)
	}
	pdp, err := opa.New(b.Context(), opa.Config{})
	if err != nil {
		b.Fatal(err)
	}
	a := New(Config{Inboxes: []transport.Inbox{takingInbox{}}, Log: log, Writer: writer, DeadLetters: noLetters{b}, Failpoint: func(string) {}, Clock: time.Now,
		Metrics: metrics.New(meter.New()), Logger: slog.New(slog.DiscardHandler),
		Reviewer: authorship.New(authorship.Config{Log: log, PDP: pdp, Loopback: true, Clock: time.Now})}).partitions[0]
	if a.fence, _, err = log.TakeFence(b.Context(), a.checkpointName()); err != nil {
		b.Fatal(err)
	}
	return a
}
