package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"satchel/test/testenv"
)

// benchMemory is SATCHEL_MEMORY_MB of the measured process.
const benchMemory = 1536

// phases of the bench, in the order of a round.
const (
	quiet  = "quiet"
	beside = "beside the flood"
	loaded = "beside its clients alone" // which send as much to a NATS that serves nobody
)

// neighbour is an honest principal that is measured: it asks, and puts one event for each four
// questions.
type neighbour struct {
	asker
	took    map[string][]time.Duration // by phase
	refused int
	stored  []string
}

// run asks until ctx ends.
func (n *neighbour) run(ctx context.Context, t *testing.T, phase string) {
	const pause = 200 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if i%4 == 3 {
			id := fmt.Sprintf("%s-%d", n.id, len(n.stored))
			if out := n.remember(t, id, "walrus lamp "+id, "logged"); out["level"] == "logged" {
				n.stored = append(n.stored, id)
			} else {
				t.Errorf("%s of %s: put: %v", n.id, n.tenant, out)
			}
			continue
		}
		began := time.Now()
		code := n.context(t)
		n.took[phase] = append(n.took[phase], time.Since(began))
		if code != "" {
			n.refused++
		}
	}
}

// quantiles returns the median and the 95th percentile of a phase in ms.
func (n *neighbour) quantiles(phase string) (median, high float64) {
	took := slices.Sorted(slices.Values(n.took[phase]))
	if count := len(took); count > 0 {
		median, high = took[count/2].Seconds()*1000, took[count*95/100].Seconds()*1000
	}
	return median, high
}

// lost counts what was acknowledged and is not in the log.
func (n *neighbour) lost(t *testing.T) (count int) {
	for _, id := range n.stored {
		_, out := n.ask(t, "log.v1."+n.tenant+".receipt", map[string]any{"source": "attack", "id": id, "level": "logged", "timeout_ms": 1000})
		if out["level"] != "logged" {
			count++
		}
	}
	return count
}

// resident is the memory of the process, in MiB.
func (w *world) resident(t *testing.T) (mb float64) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.Process.Process.Pid))
	must(t, err)
	for line := range strings.Lines(string(raw)) {
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &mb); n == 1 {
			return mb / 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// processor is how many seconds of processor the process has used.
func (w *world) processor(t *testing.T) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.Process.Process.Pid))
	must(t, err)
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	var user, system float64
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	must(t, err)
	const ticks = 100 // a second
	return (user + system) / ticks
}

// ownProcessor is how many seconds of processor the clients, this process, have used.
func ownProcessor(t *testing.T) float64 {
	var usage syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// subscribe makes so many subscriptions, on another connection when one is closed.
func (w *world) subscribe(ctx context.Context, t *testing.T, a asker, count int) {
	for i := 0; i < count && ctx.Err() == nil; {
		a := w.again(t, a)
		for range 1000 {
			if _, err := a.nc.SubscribeSync(fmt.Sprint("flood.", i)); err != nil {
				break
			}
			i++
		}
		if err := a.nc.FlushWithContext(ctx); err != nil {
			a.nc.Close()
		}
		a.nc.Close()
	}
}

// bare starts a NATS without Satchel in this process, where the flood's clients cost what they cost by themselves, and
// what NATS costs. It returns a world with the principals of w there.
func (w *world) bare(t *testing.T) *world {
	t.Helper()
	users := make([]*server.NkeyUser, 0, len(w.seeds))
	for _, pair := range w.seeds {
		public, err := pair.PublicKey()
		must(t, err)
		users = append(users, &server.NkeyUser{Nkey: public})
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, Nkeys: users})
	must(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("nats-server is not ready")
	}
	return &world{Satchel: &testenv.Satchel{URL: s.ClientURL()}, seeds: w.seeds}
}

// send publishes so many requests a second to a subject that nobody serves.
func (a asker) send(ctx context.Context, t *testing.T, perSecond float64, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
	}
	inbox := a.nc.NewInbox()
	sub, err := a.nc.Subscribe(inbox, func(*nats.Msg) {})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = sub.Unsubscribe() }()
	const pause = 10 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	began, sent := time.Now(), 0
	for ctx.Err() == nil {
		for ; float64(sent) < perSecond*time.Since(began).Seconds(); sent++ {
			if err := a.nc.PublishRequest("flood.none", inbox, raw); err != nil {
				t.Error(err)
				return
			}
		}
		<-tick.C
	}
}

// readWithoutEnd asks for large pages of the ledger.
func readWithoutEnd(ctx context.Context, t *testing.T, a asker) {
	raw, err := json.Marshal(map[string]any{"from": a.from(), "limit": 200})
	if err != nil {
		t.Error(err)
	}
	for ctx.Err() == nil {
		if _, err := a.nc.RequestWithContext(ctx, "log.v1."+a.tenant+".entries", raw); err != nil && ctx.Err() == nil && !errors.Is(err, nats.ErrTimeout) {
			t.Error(err)
		}
	}
}

// beFlooded is the flood of a hostile principal, until ctx ends. It returns how many questions
// and receipts it sent a second.
func (w *world) beFlooded(ctx context.Context, t *testing.T, hostile asker, subscriptions int, questions, receipts *flood) (asked, awaited float64) {
	before := [2]int64{questions.replies(), receipts.replies()}
	began := time.Now()
	questions.begin(t, w.again(t, hostile), 400, "ctx.v1.main.request", func(int64) any { return hostile.question(40) })
	receipts.begin(t, w.again(t, hostile), 1500, "log.v1.main.receipt", receipt)
	var running sync.WaitGroup
	running.Go(func() { w.subscribe(ctx, t, hostile, subscriptions) })
	running.Go(func() { readWithoutEnd(ctx, t, w.again(t, hostile)) })
	<-ctx.Done()
	questions.stop()
	receipts.stop()
	running.Wait()
	lasted := time.Since(began).Seconds()
	return float64(questions.replies()-before[0]) / lasted, float64(receipts.replies()-before[1]) / lasted
}

// TestBenchFlood measures honest principals beside one that has 400 questions under way, keeps
// 1,500 receipts waiting, makes 100,000 subscriptions and reads large replies without end, and
// prints a table. It runs with SATCHEL_BENCH set to how long the flood lasts, as 10m, in four
// parts. Each has a quarter as long of quiet before and of the clients' own load behind, so that
// what else the machine does weighs on all alike. Clients and server share the machine.
func TestBenchFlood(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("SATCHEL_BENCH"))
	if err != nil {
		t.Skip("SATCHEL_BENCH is not set to a duration")
	}
	const rounds, subscriptions = 4, 100000
	w := newWorld(t, "main", "bank")
	all := []*neighbour{{asker: w.asker("main", "internal")}, {asker: w.asker("bank", "internal")}}
	for _, n := range all {
		n.took = map[string][]time.Duration{}
		for i := range 200 {
			n.remember(t, fmt.Sprint("i", i), fmt.Sprintf("walrus lamp %d: %s", i, strings.Repeat(fmt.Sprintf("shelf %d. ", i), 20)), "logged")
		}
		for range 20 { // warm
			n.context(t)
		}
	}
	type use struct{ seconds, server, clients float64 }
	most, used := w.resident(t), map[string]use{}
	phase := func(name string, lasts time.Duration, also func(ctx context.Context)) {
		ctx, cancel := context.WithTimeout(t.Context(), lasts)
		defer cancel()
		began, server, clients := time.Now(), w.processor(t), ownProcessor(t)
		var running sync.WaitGroup
		for _, n := range all {
			running.Go(func() { n.run(ctx, t, name) })
		}
		running.Go(func() { also(ctx) })
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
				most = max(most, w.resident(t))
			}
		}
		running.Wait()
		u := used[name]
		used[name] = use{u.seconds + time.Since(began).Seconds(), u.server + w.processor(t) - server, u.clients + ownProcessor(t) - clients}
	}
	hostile, bare := w.asker("main", "public"), w.bare(t)
	var questions, receipts flood
	for range rounds {
		phase(quiet, lasts/rounds/4, func(context.Context) {})
		var asked, awaited float64
		phase(beside, lasts/rounds, func(ctx context.Context) {
			asked, awaited = w.beFlooded(ctx, t, hostile, subscriptions/rounds, &questions, &receipts)
		})
		phase(loaded, lasts/rounds/4, func(ctx context.Context) {
			var running sync.WaitGroup
			running.Go(func() { bare.again(t, hostile).send(ctx, t, asked, hostile.question(40)) })
			running.Go(func() { bare.again(t, hostile).send(ctx, t, awaited, receipt(0)) })
			running.Go(func() { bare.subscribe(ctx, t, hostile, subscriptions/rounds/4) })
			running.Wait()
		})
	}

	table := fmt.Sprintf("%-15s %-25s %9s %7s %7s %6s %7s\n", "who", "when", "questions", "p50 ms", "p95 ms", "ratio", "at most")
	for i, n := range all {
		who, bound := [2]string{"same tenant", "another tenant"}[i], [2]float64{2, 1.2}[i]
		_, base := n.quantiles(quiet)
		for _, name := range []string{quiet, loaded, beside} {
			median, high := n.quantiles(name)
			table += fmt.Sprintf("%-15s %-25s %9d %7.1f %7.1f %6.2f %7.1f\n", who, name, len(n.took[name]), median, high, high/base, bound)
		}
		_, high := n.quantiles(beside)
		if lost := n.lost(t); high/base > bound || n.refused > 0 || lost > 0 {
			t.Errorf("%s: p95 is %.2f times the quiet one, %d refused, %d of %d lost", who, high/base, n.refused, lost, len(n.stored))
		}
	}
	table += fmt.Sprintf("flood: %d answers, %d refused; receipts: %d answers, %d refused\n", questions.answered.Load(), questions.refused.Load(), receipts.answered.Load(), receipts.refused.Load())
	for _, name := range []string{quiet, loaded, beside} {
		table += fmt.Sprintf("processors %s: server %.2f, clients %.2f\n", name, used[name].server/used[name].seconds, used[name].clients/used[name].seconds)
	}
	table += fmt.Sprintf("resident memory at most %.0f MiB, bound %.0f\n", most, benchMemory*1.5)
	if most > benchMemory*1.5 {
		t.Errorf("resident memory %.0f MiB", most)
	}
	t.Log("\n" + table)
}
