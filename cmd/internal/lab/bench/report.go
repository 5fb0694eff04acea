package bench

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/lab/measure"
)

func percentiles(times []float64) (l latency) {
	l.P50, l.P95 = measure.Percentiles(times)
	return l
}

// rss returns a process's resident memory in MiB, 0 where /proc has none.
func rss(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	return 0
}

func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(raw))[:3], " ")
}

func printBench(a *app.App, results []result) error {
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "items\ton\tingest items/s\tCPU us\tsearchable p50/p95 ms\trequest p50/p95 ms\trepeated p50/p95 ms\tCPU ms\tloaded p50/p95 ms\tevents/s\trestart ms\tRSS MiB\tload\t\n")
	for _, r := range results {
		fmt.Fprintf(w, "%d\t%s\t%.0f\t%.0f\t%.1f/%.1f\t%.1f/%.1f\t%.1f/%.1f\t%.1f\t%.1f/%.1f\t%.0f\t%.0f\t%.0f\t%s\t\n", r.Items, r.On, r.IngestRate, r.IngestCPU, r.Searchable.P50, r.Searchable.P95,
			r.Idle.P50, r.Idle.P95, r.Repeated.P50, r.Repeated.P95, r.RequestCPU, r.Loaded.P50, r.Loaded.P95, r.LoadedRate, r.RestartMS, r.RSSMiB, r.Load)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		fmt.Fprintf(a.Out, "\nstages at %d items, %s, mean ms:", r.Items, r.On)
		for _, name := range slices.Sorted(maps.Keys(r.Stages)) {
			fmt.Fprintf(a.Out, "  %s %.2f", name, r.Stages[name])
		}
		fmt.Fprintln(a.Out)
	}
	return nil
}

func sideName(servers bool) string {
	if servers {
		return "servers"
	}
	return "embedded"
}

// printRatios prints, of results that come in pairs, embedded and then servers, how many
// times as long each step and each stage takes on the servers.
func printRatios(w io.Writer, results []result) error {
	for i := 0; i+1 < len(results); i += 2 {
		here := &results[i]
		there := &results[i+1]
		tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(tw, "\n%d items\tembedded\tservers\tratio\t\n", here.Items)
		row := func(name string, a, b float64) {
			ratio := "-"
			if a > 0 {
				ratio = fmt.Sprintf("%.1f", b/a)
			}
			fmt.Fprintf(tw, "%s\t%.2f\t%.2f\t%s\t\n", name, a, b, ratio)
		}
		row("ingest, ms an item", 1000/max(here.IngestRate, 1e-9), 1000/max(there.IngestRate, 1e-9))
		row("ingest, CPU ms an item", here.IngestCPU/1000, there.IngestCPU/1000)
		row("publish to searchable, p50 ms", here.Searchable.P50, there.Searchable.P50)
		row("request, p50 ms", here.Idle.P50, there.Idle.P50)
		row("request, p95 ms", here.Idle.P95, there.Idle.P95)
		row("request under load, p95 ms", here.Loaded.P95, there.Loaded.P95)
		row("request, CPU ms", here.RequestCPU, there.RequestCPU)
		row("restart, ms", here.RestartMS, there.RestartMS)
		for _, name := range slices.Sorted(maps.Keys(there.Stages)) {
			row("stage "+name+", ms", here.Stages[name], there.Stages[name])
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}
