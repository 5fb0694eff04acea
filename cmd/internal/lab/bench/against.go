package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/lab/measure"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

// How requests at a fixed rate are sent while memory is measured.
const (
	steadyRate = 20 // a second
	steadyTime = 20 * time.Second
	restTime   = 10 * time.Second
	blockSize  = 20 // requests between two looks at the processor time
)

// ratioRow is one value of both binaries.
type ratioRow struct {
	Name  string  `json:"name"`
	New   float64 `json:"new"`
	Old   float64 `json:"old"`
	Ratio float64 `json:"ratio"`          // new by old; 0 where old is 0
	Low   float64 `json:"low,omitempty"`  // of the 95 % interval of the ratio, where there are pairs
	High  float64 `json:"high,omitempty"` //
}

// duelResult is of one corpus size.
type duelResult struct {
	Items   int        `json:"items"`
	Load    string     `json:"machine_load"`
	Figures []ratioRow `json:"figures"`
}

// contender is one of the two binaries at work.
type contender struct {
	binary, dir string
	proc        *process
	conn        *command.Client
	emitter     *emitters.Emitter
}

// open starts the contender on its folder and connects to it.
func (c *contender) open(ctx context.Context) (err error) {
	if c.proc, err = startProcess(ctx, c.binary, c.dir); err != nil {
		return err
	}
	nc, err := jetstream.Connect(ctx, jetstream.ConnectConfig{URL: c.proc.nats, Name: "bench"}, nil)
	if err != nil {
		return errors.Join(err, c.proc.stop())
	}
	c.conn = &command.Client{NC: nc, Tenant: benchTenant}
	c.emitter, err = emitters.New(nc, emitters.Config{Tenant: benchTenant, Agent: "bench"})
	return err
}

// close stops it; open starts it again.
func (c *contender) close() error {
	if c.proc == nil {
		return nil
	}
	p := c.proc
	c.proc = nil
	if c.conn != nil {
		c.conn.Close()
	}
	return p.stop()
}

// duel measures the satchel beside this program, at 0, and another, at 1, in one run.
type duel struct {
	*Bench
	app     *app.App
	corpus  *measure.Corpus
	sides   [2]*contender
	folders [2]float64 // their sizes
	out     duelResult
}

// compare measures each size against the binary Against and prints the ratios.
func (c *Bench) compare(ctx context.Context, a *app.App) error {
	own, err := findSatchel()
	if err != nil {
		return err
	}
	var all []duelResult
	for _, size := range c.Items {
		out, err := c.duel(ctx, a, size, own)
		if err != nil {
			return fmt.Errorf("measure %d items: %w", size, err)
		}
		all = append(all, out)
		if !a.JSON {
			if err := printFigures(a.Out, out); err != nil {
				return err
			}
		}
	}
	if a.JSON {
		return command.PrintJSON(a, all)
	}
	return nil
}

// findSatchel returns the satchel that lies beside this program, under its name without -lab.
func findSatchel() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the own binary: %w", err)
	}
	dir, name := filepath.Split(own)
	path := filepath.Join(dir, strings.Replace(name, "satchel-lab", "satchel", 1))
	if path == own {
		return "", config.Usagef("--against: %s is not called satchel-lab, so that nothing says which satchel is its own", own)
	}
	if _, err := os.Stat(path); err != nil {
		return "", config.Usagef("--against: the satchel of this build must lie beside satchel-lab: %v", err)
	}
	return path, nil
}

func (c *Bench) duel(ctx context.Context, a *app.App, size int, own string) (_ duelResult, err error) {
	dir, err := os.MkdirTemp("", "satchel-bench-")
	if err != nil {
		return duelResult{}, fmt.Errorf("make a data folder: %w", err)
	}
	defer os.RemoveAll(dir)
	d := &duel{Bench: c, app: a, out: duelResult{Items: size, Load: loadAverage()},
		sides: [2]*contender{{binary: own, dir: filepath.Join(dir, "new")}, {binary: c.Against, dir: filepath.Join(dir, "old")}}}
	if d.corpus, err = measure.NewCorpus(benchTenant, c.Seed); err != nil {
		return d.out, err
	}
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	for _, step := range []func(context.Context) error{d.open, d.ingest, d.close, d.disk("disk, KB an event", size), d.restart, d.requests, d.steady, d.rest,
		d.close, d.disk("disk, KB a request", d.asked())} {
		if err := step(ctx); err != nil {
			return d.out, err
		}
	}
	return d.out, nil
}

// asked is how many requests each side is sent.
func (d *duel) asked() int { return 1 + 2*d.Requests + steadyRate*int(steadyTime/time.Second) }

// add notes a figure without pairs.
func (d *duel) add(name string, values [2]float64) {
	f := ratioRow{Name: name, New: values[0], Old: values[1]}
	if f.Old != 0 {
		f.Ratio = f.New / f.Old
	}
	d.out.Figures = append(d.out.Figures, f)
}

// addPairs notes a statistic of pairs, with the interval of its ratio by 1,000 resamples.
func (d *duel) addPairs(name string, pairs [][2]float64, statistic func([]float64) float64) {
	of := func(pick func(int) int) (values [2]float64) {
		for side := range values {
			list := make([]float64, len(pairs))
			for i := range list {
				list[i] = pairs[pick(i)][side]
			}
			values[side] = statistic(list)
		}
		return values
	}
	d.add(name, of(func(i int) int { return i }))
	f := &d.out.Figures[len(d.out.Figures)-1]
	rng := rand.New(rand.NewPCG(d.Seed, uint64(len(d.out.Figures))))
	var ratios []float64
	for range 1000 {
		drawn := make([]int, len(pairs))
		for i := range drawn {
			drawn[i] = rng.IntN(len(pairs))
		}
		if v := of(func(i int) int { return drawn[i] }); v[1] != 0 {
			ratios = append(ratios, v[0]/v[1])
		}
	}
	if len(ratios) > 0 {
		slices.Sort(ratios)
		f.Low = ratios[len(ratios)*25/1000]
		f.High = ratios[len(ratios)*975/1000]
	}
}

// both runs f for the two sides at once.
func (d *duel) both(f func(side int, c *contender) error) error {
	var errs [2]error
	var wg sync.WaitGroup
	for side, c := range d.sides {
		wg.Go(func() { errs[side] = f(side, c) })
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// each returns a value of each side.
func (d *duel) each(f func(*contender) float64) [2]float64 {
	return [2]float64{f(d.sides[0]), f(d.sides[1])}
}

func (d *duel) open(ctx context.Context) error {
	return d.both(func(_ int, c *contender) error { return c.open(ctx) })
}

func (d *duel) close(context.Context) error {
	return d.both(func(_ int, c *contender) error { return c.close() })
}

// disk notes how much larger the folders are than when it was called last.
func (d *duel) disk(name string, by int) func(context.Context) error {
	return func(context.Context) error {
		var sizes [2]float64
		for side, c := range d.sides {
			size, err := folderBytes(c.dir)
			if err != nil {
				return fmt.Errorf("measure the folder: %w", err)
			}
			sizes[side] = (size - d.folders[side]) / 1000 / float64(by)
			d.folders[side] = size
		}
		d.add(name, sizes)
		return nil
	}
}

// ingest publishes the corpus to both by turns and waits until all of it is indexed and the
// processes are at rest.
func (d *duel) ingest(ctx context.Context) error {
	begun := d.each(func(c *contender) float64 { return c.proc.cpu().Seconds() })
	bar := d.app.Progress(fmt.Sprintf("ingesting %d items twice", d.out.Items))
	defer bar.End()
	for done := 0; done < d.out.Items; {
		items := make([]schemas.MemoryItem, min(jetstream.MaxBatch, d.out.Items-done))
		for i := range items {
			items[i] = d.corpus.Item(done + i)
		}
		done += len(items)
		for _, c := range d.sides {
			if err := send(ctx, c.emitter, items, done == d.out.Items); err != nil {
				return err
			}
		}
		bar.Set(int64(done), int64(d.out.Items))
	}
	if err := d.quiet(ctx); err != nil {
		return err
	}
	n := float64(d.out.Items)
	used := d.each(func(c *contender) float64 { return c.proc.cpu().Seconds() })
	d.add("ingest, CPU us an event", [2]float64{(used[0] - begun[0]) / n * 1e6, (used[1] - begun[1]) / n * 1e6})
	d.add("RSS after ingest, MiB", d.each(func(c *contender) float64 { return c.proc.rss() }))
	return nil
}

// send publishes items and, when they are the last, waits until they are indexed.
func send(ctx context.Context, e *emitters.Emitter, items []schemas.MemoryItem, last bool) error {
	if !last {
		_, err := e.RememberAll(ctx, items)
		return err
	}
	if n := len(items) - 1; n > 0 {
		if _, err := e.RememberAll(ctx, items[:n]); err != nil {
			return err
		}
	}
	_, err := e.Remember(ctx, items[len(items)-1], &emitters.Options{Wait: schemas.ReceiptIndexed})
	return err
}

func (d *duel) quiet(ctx context.Context) error {
	return d.both(func(_ int, c *contender) error { return c.proc.quiet(ctx) })
}

// restart starts both again, one after the other, and asks each a question.
func (d *duel) restart(ctx context.Context) error {
	var took [2]float64
	for side, c := range d.sides {
		begun := time.Now()
		if err := c.open(ctx); err != nil {
			return err
		}
		if _, err := askTimed(ctx, c.conn, d.corpus.Question(-1, d.out.Items)); err != nil {
			return err
		}
		took[side] = time.Since(begun).Seconds() * 1000
	}
	if err := d.quiet(ctx); err != nil {
		return err
	}
	d.add("start to first reply, ms", took)
	d.add("RSS at rest, MiB", d.each(func(c *contender) float64 { return c.proc.rss() }))
	return nil
}

// requests asks both each question twice, by turns: the questions one after another, and then
// all of them again.
func (d *duel) requests(ctx context.Context) error {
	if err := d.round(ctx, "asked once"); err != nil {
		return err
	}
	if err := d.round(ctx, "repeated"); err != nil {
		return err
	}
	var stages [2]map[string]float64
	for side, c := range d.sides {
		var err error
		if stages[side], err = askForStages(ctx, c.conn, d.Requests, func(k int) string { return d.corpus.Question(k, d.out.Items) }); err != nil {
			return err
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(stages[0])) {
		d.add("stage "+stage+", mean ms", [2]float64{stages[0][stage], stages[1][stage]})
	}
	return nil
}

// round asks both every question, and notes latency, processor time and allocations.
func (d *duel) round(ctx context.Context, name string) error {
	var times, used [][2]float64
	before, err := d.allocated(ctx)
	if err != nil {
		return err
	}
	cpu := func() [2]float64 { return d.each(func(c *contender) float64 { return c.proc.cpu().Seconds() * 1000 }) }
	last := cpu()
	for k := range d.Requests {
		var pair [2]float64
		for turn := range d.sides {
			side := (k + turn) % 2
			if pair[side], err = askTimed(ctx, d.sides[side].conn, d.corpus.Question(k, d.out.Items)); err != nil {
				return err
			}
		}
		times = append(times, pair)
		if len(times)%blockSize == 0 {
			now := cpu()
			used = append(used, [2]float64{(now[0] - last[0]) / blockSize, (now[1] - last[1]) / blockSize})
			last = now
		}
	}
	after, err := d.allocated(ctx)
	if err != nil {
		return err
	}
	d.addPairs("request "+name+", p50 ms", times, func(list []float64) float64 { return percentiles(list).P50 })
	d.addPairs("request "+name+", p95 ms", times, func(list []float64) float64 { return percentiles(list).P95 })
	if len(used) > 0 {
		d.addPairs("request "+name+", CPU ms", used, mean)
	}
	n := float64(d.Requests)
	d.add("request "+name+", MB allocated", [2]float64{(after[0][0] - before[0][0]) / n / 1e6, (after[1][0] - before[1][0]) / n / 1e6})
	d.add("request "+name+", 1000 allocations", [2]float64{(after[0][1] - before[0][1]) / n / 1e3, (after[1][1] - before[1][1]) / n / 1e3})
	return nil
}

// allocated returns what each side has allocated: bytes and objects.
func (d *duel) allocated(ctx context.Context) (all [2][2]float64, err error) {
	for side, c := range d.sides {
		if all[side][0], all[side][1], err = c.proc.allocated(ctx); err != nil {
			return all, err
		}
	}
	return all, nil
}

// steady sends both requests at a fixed rate and notes the most memory that they take meanwhile.
func (d *duel) steady(ctx context.Context) error {
	var most [2]float64
	err := d.both(func(side int, c *contender) error {
		tick := time.NewTicker(time.Second / steadyRate)
		defer tick.Stop()
		for k := range steadyRate * int(steadyTime/time.Second) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
			if _, err := askTimed(ctx, c.conn, d.corpus.Question(d.Requests+k, d.out.Items)); err != nil {
				return err
			}
			most[side] = max(most[side], c.proc.rss())
		}
		return nil
	})
	d.add(fmt.Sprintf("RSS at %d requests/s, most, MiB", steadyRate), most)
	return err
}

// rest notes the memory when the processes have had time to give some back.
func (d *duel) rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(restTime):
	}
	if err := d.quiet(ctx); err != nil {
		return err
	}
	d.add("RSS at rest after requests, MiB", d.each(func(c *contender) float64 { return c.proc.rss() }))
	return nil
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

func printFigures(w io.Writer, out duelResult) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "%d items, load %s\tnew\told\tratio\t95 %%\t\n", out.Items, out.Load)
	for _, f := range out.Figures {
		interval := ""
		if f.High > 0 {
			interval = fmt.Sprintf("%.2f-%.2f", f.Low, f.High)
		}
		fmt.Fprintf(tw, "%s\t%.2f\t%.2f\t%.2f\t%s\t\n", f.Name, f.New, f.Old, f.Ratio, interval)
	}
	return tw.Flush()
}
