package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"satchel/cmd/satchel/internal/corpus"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

type benchCmd struct {
	Items    []int  `help:"Corpus sizes." default:"1000,100000"`
	Requests int    `help:"Requests a run." default:"200"`
	Runs     int    `help:"Runs of each measurement; their median counts." default:"3"`
	Rate     int    `help:"Events a second beside the loaded requests." default:"1000"`
	Seed     uint64 `help:"Seed of the corpus." default:"1"`
	Profile  string `help:"Folder for CPU profiles of ingest, of idle and of loaded requests, for go tool pprof." type:"path"`
	Servers  bool   `help:"Use the servers that the settings name for log, items, graph and vectors, in a place of its own that is dropped afterwards; without it the embedded engines."`
	Beside   bool   `help:"Measure each size on the embedded engines and then on the servers, and print the ratio of each figure and each stage."`
	Text     bool   `name:"natural" help:"Questions of 8 to 14 words with frequent ones among them, instead of 3 to 6 rarer ones."`
}

// Help says what is measured.
func (benchCmd) Help() string {
	return `Everything runs in this process on a temporary folder: requests go over a TCP connection to
the embedded NATS server, policy decides on every candidate, and pack, drop report and
decisions are committed to the log before each reply. The corpus is generated (see the
package comment of cmd/satchel/internal/corpus). A million items take some minutes.

Examples:
  satchel bench
  satchel bench --items 1000,100000,1000000 --json
  satchel bench --items 5000 --beside`
}

// benchResult is one corpus size. Times are in milliseconds.
type benchResult struct {
	Items      int                `json:"items"`
	On         string             `json:"on"`                  // embedded or servers
	IngestRate float64            `json:"ingest_events_per_s"` // publish to indexed everywhere and logged
	Searchable latency            `json:"publish_to_searchable_ms"`
	Idle       latency            `json:"request_idle_ms"`
	Loaded     latency            `json:"request_loaded_ms"`
	LoadedRate float64            `json:"loaded_events_per_s"`
	IngestCPU  float64            `json:"ingest_cpu_us_per_event"` // of the whole process, publisher included
	RequestCPU float64            `json:"request_cpu_ms"`          // of the whole process, client, projections and relay included
	Stages     map[string]float64 `json:"stage_mean_ms"`
	RestartMS  float64            `json:"restart_ms"`
	RSSMiB     float64            `json:"rss_mib"`
	Load       string             `json:"machine_load"`
}

type latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Run measures each size and prints a table.
func (c *benchCmd) Run(ctx context.Context, a *app) error {
	if c.Beside {
		if _, err := a.apart(a.Dir, true); err != nil { // before minutes go by
			return err
		}
	}
	var results []benchResult
	for _, size := range c.Items {
		if size <= 0 {
			return usagef("--items must be positive")
		}
		for _, servers := range c.sides() {
			r, err := c.measure(ctx, a, size, servers)
			if err != nil {
				return fmt.Errorf("measure %d items: %w", size, err)
			}
			results = append(results, r)
		}
	}
	if a.JSON {
		return a.printJSON(results)
	}
	if err := printBench(a, results); err != nil || !c.Beside {
		return err
	}
	return printRatios(a.out, results)
}

// sides are what is measured, one after the other: true for the servers.
func (c *benchCmd) sides() []bool {
	if c.Beside {
		return []bool{false, true}
	}
	return []bool{c.Servers}
}

// bencher measures one size.
type bencher struct {
	*benchCmd
	app *app
	n   *node
	gen *corpus.Generator
	r   benchResult
}

const benchTenant = "bench"

func (c *benchCmd) measure(ctx context.Context, a *app, size int, servers bool) (r benchResult, err error) {
	dir, err := os.MkdirTemp("", "satchel-bench-")
	if err != nil {
		return r, fmt.Errorf("make a data folder: %w", err)
	}
	defer os.RemoveAll(dir)
	own, err := a.apart(dir, servers)
	if err != nil {
		return r, err
	}
	own.Tenant = benchTenant
	b := &bencher{benchCmd: c, app: own, gen: corpus.New(benchTenant, c.Seed), r: benchResult{Items: size, On: sideName(servers), Load: loadAverage()}}
	if b.n, err = own.start(ctx, nodeOptions{port: embedded.RandomPort}); err != nil {
		return r, err
	}
	defer func() {
		done := context.WithoutCancel(ctx)
		err = errors.Join(err, b.n.stop(done), own.dropSchemas(done))
	}()
	steps := []struct {
		name string
		run  func(context.Context) error
	}{{"ingest", b.ingest}, {"", b.settle}, {"idle", b.idle}, {"", b.searchable}, {"loaded", b.loaded}, {"", b.restart}}
	for _, step := range steps {
		if err := b.profiled(step.name, func() error { return step.run(ctx) }); err != nil {
			return r, err
		}
	}
	return b.r, nil
}

// profiled runs f, under the CPU profiler when the step has a name and a folder is set.
func (b *bencher) profiled(name string, f func() error) error {
	if b.Profile == "" || name == "" {
		return f()
	}
	file, err := os.Create(filepath.Join(b.Profile, fmt.Sprintf("%s-%d.pprof", name, b.r.Items)))
	if err != nil {
		return usagef("write a profile: %v", err)
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		return fmt.Errorf("start a profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return f()
}

// dial connects over TCP, as another process would.
func (b *bencher) dial(ctx context.Context) (*client, *emitters.Emitter, error) {
	nc, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: b.n.server.ClientURL(), Name: "bench"}, nil)
	if err != nil {
		return nil, nil, err
	}
	e, err := emitters.New(nc, emitters.Config{Tenant: benchTenant, Agent: "bench"})
	return &client{nc: nc, tenant: benchTenant, agent: "bench"}, e, err
}

// ingest publishes the corpus in batches and waits until all of it is indexed.
func (b *bencher) ingest(ctx context.Context) error {
	conn, e, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	bar := b.app.bar(fmt.Sprintf("ingesting %d items", b.r.Items))
	defer bar.end()
	begun, used := time.Now(), cpuTime()
	for done := 0; done < b.r.Items; {
		items := make([]schemas.MemoryItem, min(jetstream.MaxBatch, b.r.Items-done))
		for i := range items {
			items[i] = b.gen.Item()
		}
		if _, err := e.RememberAll(ctx, items); err != nil {
			return err
		}
		done += len(items)
		bar.set(int64(done), int64(b.r.Items))
	}
	if err := b.awaitIndexed(ctx, int64(b.r.Items)); err != nil {
		return err
	}
	b.r.IngestRate = float64(b.r.Items) / time.Since(begun).Seconds()
	b.r.IngestCPU = float64((cpuTime() - used).Microseconds()) / float64(b.r.Items)
	return nil
}

func (b *bencher) awaitIndexed(ctx context.Context, position int64) error {
	s, err := scope.System(benchTenant)
	if err != nil {
		return err
	}
	for at := int64(0); at < position; {
		if at, err = b.n.log.Await(ctx, s, at); err != nil {
			return err
		}
	}
	return b.n.worker.Projector.Await(ctx, s, position)
}

// settle waits for the relay and the token counts, so that idle means idle.
func (b *bencher) settle(ctx context.Context) error {
	s, err := scope.System(benchTenant)
	if err != nil {
		return err
	}
	bar := b.app.bar("counting tokens, filling the ledger")
	defer bar.end()
	ledger, err := jetstream.OpenLedger(ctx, b.n.nc, b.n.conn, jetstream.LedgerConfig{})
	if err != nil {
		return err
	}
	for {
		settled, err := b.settled(ctx, s, ledger)
		if err != nil {
			return err
		}
		if settled {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	runtime.GC()
	return nil
}

// settled reports whether every item is counted and the ledger has the whole log.
func (b *bencher) settled(ctx context.Context, s scope.Scope, ledger *jetstream.Ledger) (bool, error) {
	left, err := b.n.items.Uncounted(ctx, s, 1)
	if err != nil || len(left) > 0 {
		return false, err
	}
	head, err := b.n.log.Head(ctx, s)
	if err != nil {
		return false, err
	}
	at, err := ledger.LastPosition(ctx, s.Tenant())
	return at >= head.Size, err
}

// restart stops everything and measures until the indexes are up again.
func (b *bencher) restart(ctx context.Context) error {
	s, err := scope.System(benchTenant)
	if err != nil {
		return err
	}
	if err := b.n.stop(ctx); err != nil {
		return err
	}
	runtime.GC()
	begun := time.Now()
	if b.n, err = b.app.start(ctx, nodeOptions{port: embedded.RandomPort}); err != nil {
		return err
	}
	head, err := b.n.log.Head(ctx, s)
	if err != nil {
		return err
	}
	if err := b.n.worker.Projector.Await(ctx, s, head.Size); err != nil {
		return err
	}
	conn, _, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	if _, err := b.request(ctx, conn, nil); err != nil {
		return err
	}
	b.r.RestartMS = float64(time.Since(begun).Microseconds()) / 1000
	return nil
}
