package jetstream_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"satchel/jetstream"
)

// BenchmarkRequest is a request over TCP that is answered at once: by a bare subscription
// and by Serve, both on the pipe into the server. Their difference is what Serve costs.
func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{100, 90 << 10} {
		body := bytes.Repeat([]byte("a"), size)
		b.Run(fmt.Sprintf("bare/%d", size), func(b *testing.B) {
			s := begin(b, true)
			if _, err := s.nc.Subscribe("ctx.v1.acme.request", func(m *nats.Msg) {
				if err := m.Respond(body); err != nil {
					b.Error(err)
				}
			}); err != nil {
				b.Fatal(err)
			}
			ask(b, s)
		})
		b.Run(fmt.Sprintf("served/%d", size), func(b *testing.B) {
			s := begin(b, true)
			svc, err := jetstream.Serve(context.Background(), s.nc, s.js, jetstream.ServiceConfig{}, []jetstream.Endpoint{{Name: "request", Subject: "ctx.v1.*.request",
				Handler: func(context.Context, jetstream.Call) (jetstream.Reply, error) {
					return jetstream.Reply{Data: body}, nil
				}}})
			if err != nil {
				b.Fatal(err)
			}
			ask(b, s)
			if err := svc.Stop(context.Background()); err != nil {
				b.Error(err)
			}
		})
	}
}

// ask sends the requests of a benchmark, one after the other.
func ask(b *testing.B, s *bundle) {
	b.Helper()
	if err := s.nc.Flush(); err != nil {
		b.Fatal(err)
	}
	client, err := jetstream.Connect(context.Background(), jetstream.ConnectConfig{URL: s.server.ClientURL()}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := jetstream.Request(context.Background(), client, "ctx.v1.acme.request", nil); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
}
