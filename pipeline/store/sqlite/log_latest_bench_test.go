package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
)

// BenchmarkLatest looks up a batch of subjects that the log does not have.
func BenchmarkLatest(b *testing.B) {
	driver, err := sqlite.OpenLog(b.Context(), sqlite.LogConfig{Path: filepath.Join(b.TempDir(), "log.db")})
	if err != nil {
		b.Fatal(err)
	}
	l, err := eventlog.New(eventlog.Config{Driver: driver})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	s, err := scope.System("acme")
	if err != nil {
		b.Fatal(err)
	}
	const batch, entries = 512, 200 << 10
	subjects := func() []string {
		list := make([]string, batch)
		for i := range list {
			list[i] = uuid.NewString()
		}
		return list
	}
	for n := 0; n < entries; n += batch {
		var drafts []eventlog.Draft
		for i, id := range subjects() {
			drafts = append(drafts, eventlog.Draft{Tenant: "acme", Agent: "a", Type: "t", Source: "s", ID: fmt.Sprint(n + i), Subject: id, Data: []byte(`{"text":"x"}`)})
		}
		if _, err := l.Append(context.Background(), eventlog.Batch{Drafts: drafts}); err != nil {
			b.Fatal(err)
		}
	}
	list := subjects()
	for b.Loop() {
		if _, err := l.Latest(b.Context(), s, list); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/subject")
}
