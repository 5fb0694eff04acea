package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
	"satchel/worker"
)

// TestPutAllAtOnce: however many write at a time and wait for the log, each gets its receipt.
func TestPutAllAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const calls = 600
	ctx := within(t)
	bodies := make([][]byte, calls)
	for i := range bodies {
		bodies[i] = encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, recorded(t, fmt.Sprint(i), "one of many")), Wait: "logged"})
	}
	positions := make(chan int64, calls)
	var wait sync.WaitGroup
	for _, body := range bodies {
		wait.Go(func() {
			out, err := waited(ctx)(w.worker.Service.Put(ctx, "acme", body))
			r, ok := out.(schemas.Receipt)
			if err != nil || !ok || r.Level != schemas.ReceiptLogged || r.Leaf == "" {
				t.Errorf("receipt = %+v, %v", out, err)
			}
			positions <- r.Position
		})
	}
	wait.Wait()
	close(positions)
	seen := map[int64]bool{}
	for position := range positions {
		seen[position] = true
	}
	if len(seen) != calls {
		t.Errorf("%d positions for %d events", len(seen), calls)
	}
}

// TestPutThatIsNotLogged: an event that was published has a receipt, whatever keeps it from
// the log.
func TestPutThatIsNotLogged(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(c *worker.Config) { c.Inboxes = nil } // nobody logs
	w.start(t)
	ctx, cancel := context.WithTimeout(within(t), 2*time.Second)
	defer cancel()
	out, err := waited(ctx)(w.worker.Service.Put(ctx, "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, recorded(t, "a", "one")), Wait: "indexed"})))
	must(t, err)
	r := out.(schemas.Receipt)
	if r.Level != schemas.ReceiptAccepted || r.StreamSeq != 1 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "the wait for level indexed ended") {
		t.Errorf("receipt = %+v", r)
	}
	if ctx.Err() != nil {
		t.Error("the receipt comes after the caller's deadline")
	}
}

// refusing is a keyword index that takes nothing.
type refusing struct{ keyword.Index }

func (refusing) Apply(context.Context, scope.Scope, []keyword.Change, int64) error {
	return errors.New("no")
}

// TestPutThatIsNotIndexed: an event that is logged, and that an index does not take, has a
// receipt that says so.
func TestPutThatIsNotIndexed(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(c *worker.Config) { c.Stores.Keyword = refusing{c.Stores.Keyword} }
	w.start(t)
	ctx, cancel := context.WithTimeout(within(t), 2*time.Second)
	defer cancel()
	out, err := waited(ctx)(w.worker.Service.Put(ctx, "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, recorded(t, "a", "one")), Wait: "indexed"})))
	must(t, err)
	if r := out.(schemas.Receipt); r.Level != schemas.ReceiptLogged || r.Position != 1 || len(r.Warnings) != 1 {
		t.Errorf("receipt = %+v", r)
	}
}

// TestPutWaitsForItsOwnEvent: under a source and id that another event takes meanwhile, the
// caller is told so.
func TestPutWaitsForItsOwnEvent(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(c *worker.Config) { c.Inboxes = nil }
	w.start(t)
	wait, err := w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, recorded(t, "a", "one")), Wait: "logged"}))
	must(t, err)
	other := recorded(t, "a", "another")
	_, err = w.log.Append(within(t), eventlog.Batch{Drafts: []eventlog.Draft{{Tenant: "acme", Agent: "x", Type: other.Type(), Source: other.Source(), ID: other.ID(), Subject: "a", Time: other.Time(), Data: other.Data()}}})
	must(t, err)
	_, err = waited(within(t))(wait, nil)
	var refused *schemas.Error
	if !errors.As(err, &refused) || refused.Code != schemas.CodeConflict {
		t.Errorf("error = %v", err)
	}
}
