package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/lab/measure"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Bench is satchel-lab bench.
type Bench struct {
	Items    []int  `help:"Corpus sizes." default:"1000,100000"`
	Requests int    `help:"Requests a run." default:"200"`
	Runs     int    `help:"Runs of each measurement; their median counts." default:"3"`
	Rate     int    `help:"Events a second beside the loaded requests." default:"1000"`
	Seed     uint64 `help:"Seed of the corpus." default:"1"`
	Profile  string `help:"Folder for CPU profiles of ingest, of idle and of loaded requests, for go tool pprof." type:"path"`
	Servers  bool   `help:"Use the servers that the settings name for log, items, graph and vectors, in a place of its own that is dropped afterwards; without it the embedded engines."`
	Beside   bool   `help:"Measure each size on the embedded engines and then on the servers, and print the ratio of each figure and each stage." xor:"how"`
	Write    string `help:"Write the items and questions of the first size into this folder, and measure nothing: items.jsonl, questions.txt." type:"path" xor:"how"`
	Against  string `help:"Another satchel binary. The satchel beside satchel-lab and that one run as processes of their own, get the same items and questions by turns, and the ratios are printed; --runs, --rate, --profile and --servers do not count." type:"existingfile" xor:"how"`
}

// result is one corpus size. Times are in milliseconds.
type result struct {
	Items      int                `json:"items"`
	On         string             `json:"on"`                  // embedded or servers
	IngestRate float64            `json:"ingest_events_per_s"` // publish to indexed everywhere and logged
	Searchable latency            `json:"publish_to_searchable_ms"`
	Idle       latency            `json:"request_idle_ms"`     // questions asked once
	Repeated   latency            `json:"request_repeated_ms"` // the same again
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
func (c *Bench) Run(ctx context.Context, a *app.App) error {
	if slices.ContainsFunc(c.Items, func(size int) bool { return size <= 0 }) || c.Requests <= 0 {
		return config.Usagef("--items and --requests must be positive")
	}
	if c.Write != "" {
		return c.write()
	}
	if c.Against != "" {
		return c.compare(ctx, a)
	}
	if c.Beside {
		if _, err := a.Apart(a.Dir, true); err != nil { // before minutes go by
			return err
		}
	}
	var results []result
	for _, size := range c.Items {
		for _, servers := range c.sides() {
			r, err := c.measure(ctx, a, size, servers)
			if err != nil {
				return fmt.Errorf("measure %d items: %w", size, err)
			}
			results = append(results, r)
		}
	}
	if a.JSON {
		return command.PrintJSON(a, results)
	}
	if err := printBench(a, results); err != nil || !c.Beside {
		return err
	}
	return printRatios(a.Out, results)
}

// write writes the corpus of the first size for other programs.
func (c *Bench) write() error {
	words, err := measure.NewCorpus(benchTenant, c.Seed)
	if err != nil {
		return err
	}
	var items, questions bytes.Buffer
	lines := json.NewEncoder(&items)
	for i := range c.Items[0] {
		if err := lines.Encode(words.Item(i)); err != nil {
			return fmt.Errorf("encode item: %w", err)
		}
	}
	for k := range c.Requests {
		fmt.Fprintln(&questions, words.Question(k, c.Items[0]))
	}
	if err := os.MkdirAll(c.Write, 0o700); err != nil {
		return config.Usagef("write the corpus: %v", err)
	}
	return errors.Join(os.WriteFile(filepath.Join(c.Write, "items.jsonl"), items.Bytes(), 0o600),
		os.WriteFile(filepath.Join(c.Write, "questions.txt"), questions.Bytes(), 0o600))
}

// sides are what is measured, one after the other: true for the servers.
func (c *Bench) sides() []bool {
	if c.Beside {
		return []bool{false, true}
	}
	return []bool{c.Servers}
}

// bencher measures one size.
type bencher struct {
	*Bench
	app    *app.App
	n      *app.Node
	corpus *measure.Corpus
	sent   int // items so far
	r      result
}

const benchTenant = "bench"

func (c *Bench) measure(ctx context.Context, a *app.App, size int, servers bool) (r result, err error) {
	dir, err := os.MkdirTemp("", "satchel-bench-")
	if err != nil {
		return r, fmt.Errorf("make a data folder: %w", err)
	}
	defer os.RemoveAll(dir)
	own, err := a.Apart(dir, servers)
	if err != nil {
		return r, err
	}
	own.Tenant = benchTenant
	b := &bencher{Bench: c, app: own, r: result{Items: size, On: sideName(servers), Load: loadAverage()}}
	if b.corpus, err = measure.NewCorpus(benchTenant, c.Seed); err != nil {
		return r, err
	}
	if b.n, err = own.Start(ctx, app.NodeOptions{Port: embedded.RandomPort}); err != nil {
		return r, err
	}
	defer func() {
		done := context.WithoutCancel(ctx)
		err = errors.Join(err, b.n.Stop(done), own.DropSchemas(done))
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
	if err := os.MkdirAll(b.Profile, 0o700); err != nil {
		return config.Usagef("write a profile: %v", err)
	}
	file, err := os.Create(filepath.Join(b.Profile, fmt.Sprintf("%s-%d.pprof", name, b.r.Items)))
	if err != nil {
		return config.Usagef("write a profile: %v", err)
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		return fmt.Errorf("start a profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return f()
}

// dial connects over TCP, as another process would.
func (b *bencher) dial(ctx context.Context) (*command.Client, *emitters.Emitter, error) {
	nc, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: b.n.Server.ClientURL(), Name: "bench"}, nil)
	if err != nil {
		return nil, nil, err
	}
	e, err := emitters.New(nc, emitters.Config{Tenant: benchTenant, Agent: "bench"})
	return &command.Client{NC: nc, Tenant: benchTenant}, e, err
}

// ingest publishes the corpus in batches and waits until all of it is indexed.
func (b *bencher) ingest(ctx context.Context) error {
	conn, e, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	bar := b.app.Progress(fmt.Sprintf("ingesting %d items", b.r.Items))
	defer bar.End()
	begun := time.Now()
	used := cpuTime()
	for b.sent < b.r.Items {
		items := make([]schemas.MemoryItem, min(jetstream.MaxBatch, b.r.Items-b.sent))
		for i := range items {
			items[i] = b.corpus.Item(b.sent + i)
		}
		if _, err := e.RememberAll(ctx, items); err != nil {
			return err
		}
		b.sent += len(items)
		bar.Set(int64(b.sent), int64(b.r.Items))
	}
	if _, err := b.n.AwaitIndexed(ctx, benchTenant, int64(b.r.Items)); err != nil {
		return err
	}
	b.r.IngestRate = float64(b.r.Items) / time.Since(begun).Seconds()
	b.r.IngestCPU = float64((cpuTime() - used).Microseconds()) / float64(b.r.Items)
	return nil
}

// settle waits for the relay and the token counts, so that idle means idle.
func (b *bencher) settle(ctx context.Context) error {
	s, err := scope.System(benchTenant)
	if err != nil {
		return err
	}
	bar := b.app.Progress("counting tokens, filling the ledger")
	defer bar.End()
	ledger, err := jetstream.OpenLedger(ctx, b.n.NC, b.n.JetStream, jetstream.LedgerConfig{})
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
	left, err := b.n.Items.Uncounted(ctx, s, 1)
	if err != nil || len(left) > 0 {
		return false, err
	}
	head, err := b.n.Log.Head(ctx, s)
	if err != nil {
		return false, err
	}
	at, err := ledger.LastPosition(ctx, s.Tenant())
	return at >= head.Size, err
}

// restart stops everything and measures until the indexes are up again.
func (b *bencher) restart(ctx context.Context) (err error) {
	if err := b.n.Stop(ctx); err != nil {
		return err
	}
	runtime.GC()
	begun := time.Now()
	if b.n, err = b.app.Start(ctx, app.NodeOptions{Port: embedded.RandomPort}); err != nil {
		return err
	}
	if _, err := b.n.AwaitIndexed(ctx, benchTenant, 1); err != nil {
		return err
	}
	conn, _, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := askTimed(ctx, conn, b.question(-1)); err != nil {
		return err
	}
	b.r.RestartMS = float64(time.Since(begun).Microseconds()) / 1000
	return nil
}
