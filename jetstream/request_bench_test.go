package jetstream_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/jetstream/embedded"
)

// BenchmarkRequest is a request over TCP that is answered at once: "bare" by a subscription
// of nats.go, over the pipe into the server or over TCP, and "served" by Serve.
func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{100, 90 << 10} {
		body := bytes.Repeat([]byte("a"), size)
		answer := func(m *nats.Msg) {
			if err := m.Respond(body); err != nil {
				b.Error(err)
			}
		}
		for _, on := range []string{"bare-pipe", "bare-tcp", "served"} {
			b.Run(fmt.Sprintf("%s/%d", on, size), func(b *testing.B) {
				s := begin(b, true)
				var err error
				switch on {
				case "bare-pipe":
					_, err = s.nc.Subscribe("ctx.v1.acme.request", answer)
				case "bare-tcp":
					operator, oerr := operatorOption(s)
					if oerr != nil {
						b.Fatal(oerr)
					}
					var over *nats.Conn
					if over, err = jetstream.Connect(context.Background(), jetstream.ConnectConfig{URL: s.server.ClientURL(), User: operator}, nil); err != nil {
						b.Fatal(err)
					}
					defer over.Close()
					if _, err = over.Subscribe("ctx.v1.acme.request", answer); err == nil {
						err = over.Flush()
					}
				case "served":
					var svc *jetstream.Service
					svc, err = jetstream.Serve(context.Background(), s.nc, s.js, jetstream.ServiceConfig{}, []jetstream.Endpoint{{Name: "request", Subject: "ctx.v1.*.request",
						Handler: func(context.Context, jetstream.Call) (jetstream.Reply, error) { return jetstream.Reply{Data: body}, nil }}})
					defer svc.Stop(context.Background())
				}
				if err == nil {
					err = s.nc.Flush()
				}
				if err != nil {
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
			})
		}
	}
}

func operatorOption(s *bundle) (nats.Option, error) { return embedded.Operator(s.dir) }
