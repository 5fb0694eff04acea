package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/schemas"
	"satchel/test/testenv/natstest"
)

// TestBenchWorkers measures 1, 2 and 4 workers over one NATS cluster and one Postgres with
// 32 tenants: events into the log a second, then requests a second and their p95. It runs
// with SATCHEL_BENCH=1; the servers and the clients share the machine.
func TestBenchWorkers(t *testing.T) {
	if os.Getenv("SATCHEL_BENCH") == "" {
		t.Skip("SATCHEL_BENCH is not set")
	}
	table := "workers  events/s into the log  CPU ms an event  indexed everywhere s  CPU ms an event  requests/s  p50 ms  p95 ms  CPU ms a request\n"
	for _, n := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f, tenants := newFleet(t, n, natstest.Config{}), tenantsOf(32)
			nc, err := nats.Connect(f.nats.URL())
			must(t, err)
			defer nc.Close()
			conn, err := js.New(nc)
			must(t, err)
			const each = 320
			events := float64(each * len(tenants))
			begun, before := time.Now(), f.cpu(t)
			ingest(t, jetstream.NewOutbox(nc, conn), tenants, each)
			awaitLogged(t, nc, tenants, each)
			logged, used := time.Since(begun), f.cpu(t)-before
			f.awaitIndexed(t)
			indexed, usedIndexed := time.Since(begun), f.cpu(t)-before
			before = f.cpu(t)
			rate, latencies := ask(t, nc, tenants, 5*time.Second)
			usedAsking := (f.cpu(t) - before) / float64(len(latencies))
			slices.Sort(latencies)
			table += fmt.Sprintf("%7d  %21.0f  %15.2f  %20.1f  %15.2f  %10.0f  %6d  %6d  %16.1f\n", n, events/logged.Seconds(), 1000*used/events, indexed.Seconds(), 1000*usedIndexed/events,
				rate, latencies[len(latencies)/2].Milliseconds(), latencies[len(latencies)*95/100].Milliseconds(), 1000*usedAsking)
			for _, w := range f.workers {
				w.stop()
			}
		})
	}
	t.Logf("%d tenants, three clustered NATS servers and Postgres on the same machine as the clients\n%s", 32, table)
}

var cpuLine = regexp.MustCompile(`(?m)^process_cpu_seconds_total (\S+)$`)

// cpu returns the seconds of CPU that the workers have used together.
func (f *fleet) cpu(t *testing.T) (seconds float64) {
	t.Helper()
	for _, w := range f.workers {
		resp, err := http.Get("http://" + w.http + "/metrics")
		must(t, err)
		raw, err := io.ReadAll(resp.Body)
		must(t, errors.Join(err, resp.Body.Close()))
		found := cpuLine.FindSubmatch(raw)
		if found == nil {
			t.Fatal("a worker does not say how much CPU it has used")
		}
		one, err := strconv.ParseFloat(string(found[1]), 64)
		must(t, err)
		seconds += one
	}
	return seconds
}

// awaitIndexed waits until the workers have nothing more to index: they rest.
func (f *fleet) awaitIndexed(t *testing.T) {
	t.Helper()
	const look, rests = 250 * time.Millisecond, .1 // of a processor, all together
	tick := time.NewTicker(look)
	defer tick.Stop()
	for before := f.cpu(t); ; {
		<-tick.C
		now := f.cpu(t)
		if now-before < rests*look.Seconds() {
			return
		}
		before = now
	}
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
