package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/worker"
)

// hold makes the projector of w stand still before it applies anything, from when on is set.
func (w *world) hold(on *atomic.Bool) (reached, release chan struct{}) {
	reached, release = make(chan struct{}), make(chan struct{})
	w.change = func(c *worker.Config) {
		c.Failpoint = func(at string) {
			if at == "project.before_apply" && on.CompareAndSwap(true, false) {
				close(reached)
				<-release
			}
		}
	}
	return reached, release
}

// askedNow asks with a deadline that soon passes.
func (w *world) askedNow(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(within(t), 100*time.Millisecond)
	defer cancel()
	_, err := w.worker.Service.Request(ctx, "acme", request(t, "reader", "internal", "which door has the lake house?", nil))
	return err
}

// shown returns the ids that a pack of the lake house shows.
func (w *world) shown(t *testing.T) string {
	t.Helper()
	out, err := w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "which door has the lake house?", nil))
	must(t, err)
	var res schemas.ContextResult
	must(t, json.Unmarshal(out.(json.RawMessage), &res))
	var ids []string
	for _, section := range res.Payload.Pack.Sections {
		for _, item := range section.Items {
			ids = append(ids, item.ID)
		}
	}
	return strings.Join(ids, " ")
}

func late(t *testing.T, err error, says string) {
	t.Helper()
	if e := typed(t, err); e.Code != schemas.CodeDeadlineExceeded || !strings.Contains(e.Message, says) {
		t.Errorf("error = %v, want that it says %q", e, says)
	}
}

func TestARequestAfterTheStartWaitsForWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "the lake house has a red door"), "indexed")
	must(t, w.stop())
	var on atomic.Bool
	on.Store(true)
	_, release := w.hold(&on)
	w.start(t)
	w.publish(t, "acme", recorded(t, "b", "the lake house has a green door"))
	w.publish(t, "acme", superseded(t, "s", "a", "b"))
	w.entries(t, "acme", 3)
	late(t, w.askedNow(t), "position 1 of 3")
	_, err := w.worker.Service.Serve(canceledSoon(t), "acme", &schemas.Agent{Type: "agent", ID: "reader", SecurityLevel: "internal"}, "", func(scope.Scope) (any, error) { return nil, nil })
	late(t, err, "position 1 of 3")
	close(release)
	if ids := w.shown(t); ids != "b" {
		t.Errorf("shown: %q", ids)
	}
}

func canceledSoon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(within(t), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func TestARequestDuringARebuildWaits(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	var on atomic.Bool
	reached, release := w.hold(&on)
	w.start(t)
	w.put(t, recorded(t, "a", "the lake house has a red door"), "indexed")
	if ids := w.shown(t); ids != "a" {
		t.Fatalf("shown: %q", ids)
	}
	n := len(w.entries(t, "acme", 4))
	must(t, w.worker.Projector.Await(within(t), system(t, "acme"), int64(n)))
	on.Store(true)
	rebuilt := make(chan error, 1)
	go func() { rebuilt <- w.worker.Projector.Rebuild(context.Background(), system(t, "acme"), nil) }()
	await(t, reached, "the rebuild")
	late(t, w.askedNow(t), "position 0 of 4")
	close(release)
	must(t, <-rebuilt)
	if ids := w.shown(t); ids != "a" {
		t.Errorf("shown after the rebuild: %q", ids)
	}
}

// A rebuild empties nothing under a request that searches.
func TestARebuildWaitsForRequestsUnderWay(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	held := &heldEngine{w: w, started: make(chan struct{}), release: make(chan struct{})}
	w.engine = held
	w.start(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	done := make(chan error, 1)
	go func() {
		_, err := w.worker.Service.Request(context.Background(), "acme", request(t, "reader", "internal", "q", nil))
		done <- err
	}()
	await(t, held.started, "the request")
	soon, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	if err := w.worker.Projector.Rebuild(soon, system(t, "acme"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a rebuild beside a request: %v", err)
	}
	if got, err := w.items.Get(within(t), system(t, "acme"), []string{"a"}); err != nil || len(got) != 1 {
		t.Errorf("items under the request: %v, %v", got, err)
	}
	close(held.release)
	must(t, <-done)
	must(t, w.worker.Projector.Rebuild(within(t), system(t, "acme"), nil))
}

// awayGraph says nothing at all while it is away.
type awayGraph struct{ brokenGraph }

func (g *awayGraph) Checkpoint(ctx context.Context, s scope.Scope) (int64, error) {
	if g.broken.Load() {
		return 0, errors.New("the graph is away")
	}
	return g.brokenGraph.Checkpoint(ctx, s)
}

// A store that is away when the worker starts holds no request up, one that answers and is
// behind does.
func TestAStoreThatIsAwayHoldsNoRequestUp(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]bool{"away": true, "behind": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := prepare(t)
			broken := &awayGraph{brokenGraph{Store: w.graph}}
			broken.broken.Store(true)
			w.change = func(c *worker.Config) {
				c.Stores.Graph = broken
				if !away {
					c.Stores.Graph = &broken.brokenGraph
				}
			}
			w.start(t)
			w.publish(t, "acme", recorded(t, "a", "the lake house has a red door"))
			w.entries(t, "acme", 1)
			if !away {
				late(t, w.askedNow(t), "position 0 of 1")
				broken.broken.Store(false)
			}
			if ids := w.shown(t); ids != "a" {
				t.Errorf("shown: %q", ids)
			}
		})
	}
}

// slowKeyword applies when it is let.
type slowKeyword struct {
	keyword.Index
	on               atomic.Bool
	reached, release chan struct{}
}

func (k *slowKeyword) Apply(ctx context.Context, s scope.Scope, changes []keyword.Change, upTo int64) error {
	if k.on.CompareAndSwap(true, false) {
		close(k.reached)
		<-k.release
	}
	return k.Index.Apply(ctx, s, changes, upTo)
}

// What a pass finds that began before another vector index took over says nothing of that one.
func TestAPassUnderWayDoesNotCountForTheAdoptedIndex(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s := system(t, "acme")
	w.put(t, recorded(t, "a", "one"), "indexed")
	must(t, w.stop())
	slow := &slowKeyword{Index: w.keyword, reached: make(chan struct{}), release: make(chan struct{})}
	slow.on.Store(true)
	cfg := w.cfg
	cfg.Stores.Keyword = slow
	p := worker.NewProjector(cfg)
	must(t, w.graph.Reset(within(t), s)) // so that the pass has something to do
	must(t, w.keyword.Reset(within(t), s))
	passed := make(chan error, 1)
	go func() { passed <- p.CatchUp(context.Background(), s, nil) }()
	await(t, slow.reached, "the pass")
	next := &emptyVector{Index: w.vector}
	p.SwitchIndex(next, w.embed)
	close(slow.release)
	must(t, <-passed)
	must(t, p.Await(within(t), s, 1))
	if at := next.at.Load(); at != 1 {
		t.Errorf("the adopted index is at %d, and who awaited 1 goes on", at)
	}
}

// emptyVector has nothing yet.
type emptyVector struct {
	vector.Index
	at atomic.Int64
}

func (v *emptyVector) Checkpoint(context.Context, scope.Scope) (int64, error) {
	return v.at.Load(), nil
}

func (v *emptyVector) Apply(_ context.Context, _ scope.Scope, _ []vector.Change, upTo int64) error {
	v.at.Store(upTo)
	return nil
}

var _ graph.Store = (*awayGraph)(nil)
