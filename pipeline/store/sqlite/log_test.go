package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
	"satchel/test/conformance/eventlogtest"
)

func openLog(tb testing.TB, path string) *eventlog.Log {
	tb.Helper()
	db, err := sqlite.OpenLog(context.Background(), sqlite.LogConfig{Path: path})
	if err != nil {
		tb.Fatal(err)
	}
	l, err := eventlog.New(eventlog.Config{Driver: db})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func TestLogConformance(t *testing.T) {
	t.Parallel()
	eventlogtest.Run(t, func(t *testing.T) eventlog.Driver {
		db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: filepath.Join(t.TempDir(), "log.db")})
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}

func drafts(from, n int) []eventlog.Draft {
	out := make([]eventlog.Draft, n)
	for i := range out {
		id := fmt.Sprintf("01920000-0000-7000-8000-%012d", from+i)
		out[i] = eventlog.Draft{
			Tenant: "acme", Agent: "planner", Type: "io.satchel.memory.recorded.v1", Source: "//satchel/agents/planner",
			ID: id, Subject: "m-" + id, Time: time.Unix(1.7e9, int64(i)),
			Data:       fmt.Appendf(nil, `{"id":"m-%s","content":"%0400d"}`, id, i),
			Extensions: map[string]string{"datacontenttype": "application/json", "dataschema": "https://satchel.dev/schemas/memory.recorded.v1.json"},
		}
	}
	return out
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 256, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := openLog(b, filepath.Join(b.TempDir(), "log.db"))
			n := 0
			var took []time.Duration
			for b.Loop() {
				batch := drafts(n, size)
				began := time.Now()
				if _, err := l.Append(b.Context(), eventlog.Batch{Drafts: batch}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
				n += size
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	l := openLog(b, filepath.Join(b.TempDir(), "log.db"))
	for i := range 20 {
		if _, err := l.Append(b.Context(), eventlog.Batch{Drafts: drafts(i*1000, 1000)}); err != nil {
			b.Fatal(err)
		}
	}
	s, err := scope.System("acme")
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		entries, err := l.Read(b.Context(), s, int64(n%20000), 1000)
		if err != nil || len(entries) != 1000 {
			b.Fatal(len(entries), err)
		}
		n += len(entries)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkAppendParallel has many writers of one event each share transactions.
func BenchmarkAppendParallel(b *testing.B) {
	l := openLog(b, filepath.Join(b.TempDir(), "log.db"))
	var next atomic.Int64
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Append(b.Context(), eventlog.Batch{Drafts: drafts(int(next.Add(1)), 1)}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkVerify(b *testing.B) {
	l := openLog(b, filepath.Join(b.TempDir(), "log.db"))
	for i := range 10 {
		if _, err := l.Append(b.Context(), eventlog.Batch{Drafts: drafts(i*1000, 1000)}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := l.Verify(b.Context(), system(b, "acme"), nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*10000/b.Elapsed().Seconds(), "entries/s")
}
