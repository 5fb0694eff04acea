package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/schemas"
)

// TestBenchWorkers measures 1, 2 and 4 workers over one NATS cluster and one Postgres with
// 32 tenants: events into the log a second, then requests a second and their p95. It runs
// with SATCHEL_BENCH=1; the servers and the clients share the machine.
func TestBenchWorkers(t *testing.T) {
	if os.Getenv("SATCHEL_BENCH") == "" {
		t.Skip("SATCHEL_BENCH is not set")
	}
	table := "workers  events/s into the log  requests/s  p50 ms  p95 ms\n"
	for _, n := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f, tenants := newFleet(t, n), tenantsOf(32)
			nc, err := nats.Connect(f.nats.URL())
			must(t, err)
			defer nc.Close()
			conn, err := js.New(nc)
			must(t, err)
			const each = 320
			begun := time.Now()
			ingest(t, jetstream.NewOutbox(nc, conn), tenants, each)
			awaitLogged(t, nc, tenants, each)
			logged := time.Since(begun)
			rate, latencies := ask(t, nc, tenants, 5*time.Second)
			slices.Sort(latencies)
			table += fmt.Sprintf("%7d  %21.0f  %10.0f  %6d  %6d\n", n, float64(each*len(tenants))/logged.Seconds(), rate,
				latencies[len(latencies)/2].Milliseconds(), latencies[len(latencies)*95/100].Milliseconds())
			for _, w := range f.workers {
				w.stop()
			}
		})
	}
	t.Logf("%d tenants, three clustered NATS servers and Postgres on the same machine as the clients\n%s", 32, table)
}

// ingest publishes n events of each tenant in atomic batches, eight tenants at a time.
func ingest(t *testing.T, outbox *jetstream.Outbox, tenants []string, n int) {
	t.Helper()
	const batch = 80
	slots := make(chan struct{}, 8)
	var wait sync.WaitGroup
	for _, tenant := range tenants {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p := &producer{tenant: tenant, name: "p1", rand: rand.New(rand.NewPCG(1, 2))}
			for done := 0; done < n; done += batch {
				events := make([]event.Event, batch)
				for i := range events {
					events[i] = p.item()
				}
				if _, _, err := outbox.PublishAll(t.Context(), tenant, p.name, events); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

func awaitLogged(t *testing.T, nc *nats.Conn, tenants []string, n int) {
	t.Helper()
	for _, tenant := range tenants {
		poll(t, time.Minute, "everything is logged", func() bool {
			raw, err := jetstream.Request(t.Context(), nc, "log.v1."+tenant+".head", []byte("{}"))
			var h schemas.HeadReply
			return err == nil && json.Unmarshal(raw, &h) == nil && h.Size >= int64(n)
		})
	}
}

// ask sends requests over sixteen clients for a while.
func ask(t *testing.T, nc *nats.Conn, tenants []string, last time.Duration) (rate float64, latencies []time.Duration) {
	t.Helper()
	body := []byte(`{"meta":{"type":"ContextRequest","from":{"type":"agent","id":"p1","securityLevel":"internal"}},"payload":{"query":{"text":"what does the note say about the lake house?"},"token_budget":400}}`)
	ctx, cancel := context.WithTimeout(t.Context(), last)
	defer cancel()
	var mu sync.Mutex
	var failed atomic.Int64
	var wait sync.WaitGroup
	begun := time.Now()
	for c := range 16 {
		wait.Go(func() {
			for i := c; ctx.Err() == nil; i++ {
				at := time.Now()
				limited, done := context.WithTimeout(t.Context(), 10*time.Second)
				_, err := jetstream.Request(limited, nc, "ctx.v1."+tenants[i%len(tenants)]+".request", body)
				done()
				if err != nil {
					failed.Add(1)
					continue
				}
				mu.Lock()
				latencies = append(latencies, time.Since(at))
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if n := failed.Load(); n > 0 {
		t.Errorf("%d requests failed", n)
	}
	if len(latencies) == 0 {
		t.Fatal("no request was answered")
	}
	return float64(len(latencies)) / time.Since(begun).Seconds(), latencies
}
