package worker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"satchel/jetstream"
	"satchel/pipeline/meter"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
	"satchel/worker"
)

// figures reads what was counted: of a histogram how often.
func figures(t *testing.T, s *meter.Set) map[string]float64 {
	t.Helper()
	all, err := s.Gather()
	must(t, err)
	out := map[string]float64{}
	for _, f := range all {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// What becomes of each event is counted, and how far erasures, ledger and heads are.
func TestFigures(t *testing.T) {
	t.Parallel()
	w, set := prepare(t), meter.New()
	w.change = func(c *worker.Config) { c.Meter = set }
	w.start(t)
	a := recorded(t, "a", "one")
	w.publish(t, "acme", a, recorded(t, "b", "two"), recorded(t, "bare", "x", func(d map[string]any) { delete(d, "security_label") }))
	w.entries(t, "acme", 2)
	w.publish(t, "acme", a, forgetting(t, "f1", "b"), forgetting(t, "f2", "none-such"))
	w.receipt(t, "acme", "f1")
	w.letters(t, 2)
	_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, forgetting(t, "f3", "none-such")), Wait: "logged"})))
	if typed(t, err).Code != schemas.CodeValidation {
		t.Errorf("an erasure of nothing: %v", err)
	}
	var got map[string]float64
	poll(t, "every event is counted", func() bool {
		got = figures(t, set)
		return got["satchel_events_total dead"] == 2 && got["satchel_ledger_lag_positions"] == 0 && got["satchel_erasures_pending"] == 0 && got["satchel_erasures_total done"] == 1
	})
	for name, want := range map[string]float64{
		"satchel_events_total logged": 3, "satchel_events_total duplicate": 1,
		"satchel_dead_letters_total unlabelled": 1, "satchel_dead_letters_total unknown_item": 1, "satchel_dead_letters_total malformed": 0,
		"satchel_publish_to_indexed_seconds": 2, "satchel_erasures_total refused": 2, "satchel_partitions_stopped": 0, "satchel_log_damaged": 0,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if got["satchel_append_duration_seconds"] < 2 || got["satchel_verify_last_success_timestamp_seconds"] == 0 {
		t.Errorf("%v appends, verified at %v", got["satchel_append_duration_seconds"], got["satchel_verify_last_success_timestamp_seconds"])
	}
}

// A ledger that is gone, which nobody can ask how far it is, is behind.
func TestALedgerThatIsGoneIsBehind(t *testing.T) {
	t.Parallel()
	w, set := prepare(t), meter.New()
	w.change = func(c *worker.Config) { c.Meter = set }
	w.start(t)
	w.publish(t, "acme", recorded(t, "a", "one"))
	w.relayed(t, "acme", 1)
	must(t, w.js.DeleteStream(within(t), jetstream.LedgerStream))
	w.publish(t, "acme", recorded(t, "b", "two"))
	poll(t, "the ledger is behind", func() bool { return figures(t, set)["satchel_ledger_lag_seconds"] > 0 })
}

// stuck is a keyword index that takes nothing until it is let.
type stuck struct {
	keyword.Index
	open chan struct{}
}

func (s stuck) Apply(ctx context.Context, sc scope.Scope, changes []keyword.Change, upTo int64) error {
	select {
	case <-s.open:
		return s.Index.Apply(ctx, sc, changes, upTo)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An index that does not take entries is behind, and its age grows until it has them.
func TestLagOfAnIndex(t *testing.T) {
	t.Parallel()
	w, set := prepare(t), meter.New()
	gate := stuck{w.keyword, make(chan struct{})}
	w.change = func(c *worker.Config) { c.Meter, c.Stores.Keyword = set, gate }
	w.start(t)
	w.publish(t, "acme", recorded(t, "a", "one"), recorded(t, "b", "two"))
	w.entries(t, "acme", 2)
	began := time.Now()
	var got map[string]float64
	poll(t, "the keyword index is behind and ages", func() bool {
		got = figures(t, set)
		return got["satchel_index_lag_positions keyword"] >= 1 && got["satchel_index_lag_seconds keyword"] > 0.05
	})
	if most := time.Since(began).Seconds() + 60; got["satchel_index_lag_seconds keyword"] > most {
		t.Errorf("it is behind for %v s", got["satchel_index_lag_seconds keyword"])
	}
	close(gate.open)
	poll(t, "nothing is behind", func() bool {
		got = figures(t, set)
		for name, v := range got {
			if strings.HasPrefix(name, "satchel_index_lag") && v != 0 {
				return false
			}
		}
		return got["satchel_publish_to_indexed_seconds"] == 2
	})
}
