package worker_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
	"satchel/worker/erasure"
	"satchel/worker/follow"
	"satchel/worker/projection"
)

// bystander is a worker that owns what it is told to.
type bystander struct{ owned []bool }

func (b *bystander) Owned() ([]bool, <-chan struct{}) { return b.owned, nil }
func (*bystander) Partition(string) int               { return 0 }
func (*bystander) Ready() error                       { return nil }

// TestEveryWorkerHearsOfErasures: a worker that feeds no index of a tenant, because the workers share all of them, does
// its own part of each erasure, once. Those that it left to another as the owner are among them.
func TestEveryWorkerHearsOfErasures(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	for _, id := range []string{"i1", "i2", "i3"} {
		w.put(t, recorded(t, id, "a note of the lake house about "+id), "logged")
	}
	forget := func(id, item string) {
		w.publish(t, "acme", forgetting(t, id, item))
		w.receipt(t, "acme", id)
	}
	other := &bystander{owned: []bool{false}}
	stores := projection.Stores{Items: w.items, Keyword: w.keyword, Private: w.private, Vector: w.vector, Graph: w.graph,
		Shared: projection.Shared{Items: true, Keyword: true, Vector: true, Graph: true}}
	driver, err := sqlite.OpenLog(within(t), sqlite.LogConfig{Path: filepath.Join(w.dir, "log.db")})
	must(t, err)
	log, err := eventlog.New(eventlog.Config{Driver: driver, Signer: w.signer, VerifierKey: w.key, Erasures: t.TempDir()})
	must(t, err)
	defer func() { must(t, log.Close()) }()
	p := projection.New(projection.Config{Log: log, Stores: stores, Embedder: w.embed, Share: follow.Share{Membership: other}})
	told, away := 0, errors.New("away")
	fail := error(nil)
	p.OnRemoteErasure(func(_ context.Context, _ scope.Scope, erased []erasure.Logged) error {
		if fail == nil {
			told += len(erased)
		}
		return fail
	})
	catchUp := func(want int) {
		t.Helper()
		told = 0
		if err := p.CatchUp(within(t), s, nil); !errors.Is(err, fail) {
			t.Fatal(err)
		}
		if told != want {
			t.Errorf("told of %d erasures, want %d", told, want)
		}
	}
	forget("e1", "i1")
	catchUp(1)
	catchUp(0)
	forget("e2", "i2")
	fail = away
	catchUp(0)
	fail = nil
	catchUp(1)
	entries, err := w.log.BySubject(within(t), s, eventlog.ErasureSubject)
	must(t, err)
	e1 := eventlog.KeptErasureOf(&entries[0], []string{"i1"})
	must(t, log.KeepErasures(s, []eventlog.KeptErasure{e1}))
	other.owned = []bool{true}
	must(t, p.CatchUp(within(t), s, nil))
	forget("e3", "i3")
	other.owned = []bool{false}
	catchUp(2) // its list has the first alone
}
