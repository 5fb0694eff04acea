package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

func percentiles(times []float64) latency {
	slices.Sort(times)
	if len(times) == 0 {
		return latency{}
	}
	return latency{P50: times[len(times)/2], P95: times[min(len(times)-1, len(times)*95/100)]}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// rss returns the process's resident memory in MiB, 0 where /proc has none.
func rss() float64 {
	raw, err := os.ReadFile("/proc/self/status")
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

func printBench(a *app, results []benchResult) error {
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "items\tingest items/s\tCPU us\tsearchable p50/p95 ms\trequest p50/p95 ms\tCPU ms\tloaded p50/p95 ms\tevents/s\trestart ms\tRSS MiB\tload\t\n")
	for _, r := range results {
		fmt.Fprintf(w, "%d\t%.0f\t%.0f\t%.1f/%.1f\t%.1f/%.1f\t%.1f\t%.1f/%.1f\t%.0f\t%.0f\t%.0f\t%s\t\n", r.Items, r.IngestRate, r.IngestCPU, r.Searchable.P50, r.Searchable.P95,
			r.Idle.P50, r.Idle.P95, r.RequestCPU, r.Loaded.P50, r.Loaded.P95, r.LoadedRate, r.RestartMS, r.RSSMiB, r.Load)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		fmt.Fprintf(a.out, "\nstages at %d items, mean ms:", r.Items)
		for _, name := range sortedKeys(r.Stages) {
			fmt.Fprintf(a.out, "  %s %.2f", name, r.Stages[name])
		}
		fmt.Fprintln(a.out)
	}
	return nil
}
