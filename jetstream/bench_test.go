package jetstream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
)

func reportEach(b *testing.B, messages int) {
	b.ReportMetric(float64(messages)*float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

func BenchmarkPublishSingle(b *testing.B) {
	s := setup(b)
	outbox := jetstream.NewOutbox(s.nc, s.js)
	e := sample("1")
	b.ResetTimer()
	for range b.N {
		if _, _, err := outbox.PublishMemory(context.Background(), "acme", "a", e); err != nil {
			b.Fatal(err)
		}
	}
	reportEach(b, 1)
}

func BenchmarkPublishBatch(b *testing.B) {
	for _, size := range []int{1, 3, 10, 100, 500} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := setup(b)
			outbox := jetstream.NewOutbox(s.nc, s.js)
			events := make([]event.Event, size)
			for i := range events {
				events[i] = sample(fmt.Sprint(i))
			}
			b.ResetTimer()
			for range b.N {
				if _, _, err := outbox.PublishAll(context.Background(), "acme", "a", events); err != nil {
					b.Fatal(err)
				}
			}
			reportEach(b, size)
		})
	}
}

// BenchmarkLedgerOne is what a single message costs as a plain publish with the same
// check, to be compared with a batch of one.
func BenchmarkLedgerOne(b *testing.B) {
	s := setup(b)
	seq := uint64(0)
	b.ResetTimer()
	for range b.N {
		header, data, err := cloudevent.Encode(sample("1"), cloudevent.Binary)
		if err != nil {
			b.Fatal(err)
		}
		header.Set("Nats-Expected-Last-Subject-Sequence", fmt.Sprint(seq))
		header.Set("Nats-Expected-Last-Subject-Sequence-Subject", "prov.v1.acme.>")
		ack, err := s.js.PublishMsg(context.Background(), &nats.Msg{Subject: "prov.v1.acme.memory.a", Header: header, Data: data})
		if err != nil {
			b.Fatal(err)
		}
		seq = ack.Sequence
	}
	reportEach(b, 1)
}

func BenchmarkLedgerPublish(b *testing.B) {
	for _, size := range []int{1, 10, 100, 500} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := setup(b)
			l := openLedger(b, s)
			position := int64(1)
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				messages := entries(position, position+int64(size)-1)
				b.StartTimer()
				if err := l.Publish(context.Background(), "acme", messages); err != nil {
					b.Fatal(err)
				}
				position += int64(size)
			}
			reportEach(b, size)
		})
	}
}

func BenchmarkFetchAck(b *testing.B) {
	s := setup(b)
	const total = 10000
	s.publishAll(b, "acme", "e", total)
	i := s.inbox(b, "acme")
	ctx := within(b, time.Minute)
	b.ResetTimer()
	for range b.N {
		if err := i.Seek(ctx, 1); err != nil {
			b.Fatal(err)
		}
		for got := 0; got < total; {
			batch, err := i.Fetch(ctx, 500)
			if err != nil {
				b.Fatal(err)
			}
			got += len(batch)
			if err := i.Ack(ctx, batch[len(batch)-1].Seq); err != nil {
				b.Fatal(err)
			}
		}
	}
	reportEach(b, total)
}

// BenchmarkPublishToFetch is the way of one event from the publisher to the owner of
// its partition.
func BenchmarkPublishToFetch(b *testing.B) {
	s := setup(b)
	s.publish(b, "acme", "a", sample("0"))
	i := s.inbox(b, "acme")
	ctx := within(b, time.Minute)
	fetch(b, i, 1)
	outbox := jetstream.NewOutbox(s.nc, s.js)
	b.ResetTimer()
	for range b.N {
		if _, _, err := outbox.PublishMemory(ctx, "acme", "a", sample("1")); err != nil {
			b.Fatal(err)
		}
		batch, err := i.Fetch(ctx, 10)
		if err != nil {
			b.Fatal(err)
		}
		if err := i.Ack(ctx, batch[len(batch)-1].Seq); err != nil {
			b.Fatal(err)
		}
	}
}
