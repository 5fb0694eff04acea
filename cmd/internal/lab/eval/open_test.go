package eval

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// TestSystemWaitsForEveryItem remembers a second time after a question, whose pack is in the log too.
func TestSystemWaitsForEveryItem(t *testing.T) {
	t.Parallel()
	var settings config.Settings
	parser, err := kong.New(&settings)
	if err == nil {
		_, err = parser.Parse(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	sys, err := Open(t.Context(), &app.App{Settings: &settings, Out: io.Discard, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sys.Close(); err != nil {
			t.Error(err)
		}
	}()
	all, err := scope.System(Tenant)
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	for _, n := range []int{20, 400} {
		items := make([]schemas.MemoryItem, n)
		for i := range items {
			items[i] = schemas.MemoryItem{ID: fmt.Sprintf("m%04d", sent+i), Type: schemas.Episodic, Kind: schemas.KindMemory, Scope: schemas.MemoryScope{Tenant: Tenant},
				CreatedAt: time.Unix(int64(sent+i), 0).UTC(), SecurityLabel: []string{"level:internal"}, Content: schemas.TextContent(fmt.Sprintf("Kiln %d is fired at gate %d.", sent+i, 7*i))}
		}
		sent += n
		if err := sys.Remember(t.Context(), items, func(int64, int64) {}); err != nil {
			t.Fatal(err)
		}
		stats, err := sys.Items.Stats(t.Context(), all)
		if err != nil || stats.Items != sent {
			t.Errorf("%d items are indexed of %d, %v", stats.Items, sent, err)
		}
		if left, err := sys.Items.Uncounted(t.Context(), all, 10); err != nil || len(left) > 0 {
			t.Errorf("%d items are not counted, %v", len(left), err)
		}
		last := fmt.Sprintf("m%04d", sent-1)
		q := measure.Query{ID: "q", Text: fmt.Sprintf("at which gate is kiln %d fired?", sent-1)}
		p, err := sys.Ask(t.Context(), &q, 1000)
		if err != nil || !slices.Contains(p.IDs, last) {
			t.Errorf("the pack shows %v, %v; want %s", p.IDs, err, last)
		}
		lost, err := sys.Lost(t.Context(), &q, 1000, &p)
		if err != nil || len(lost) > 0 {
			t.Errorf("lost %v, %v", lost, err)
		}
	}
}
