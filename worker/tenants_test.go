package worker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/policies"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/projection"
)

// TestAskingMakesNoTenant: a tenant without a log is answered, and leaves nothing.
func TestAskingMakesNoTenant(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	files := w.files(t)
	from := &schemas.Agent{Type: "agent", ID: "nobody"}
	v := w.worker.Service
	for i := range 3 {
		tenant := fmt.Sprint("ghost", i)
		out, err := v.Request(within(t), tenant, request(t, "nobody", "", "what is there?", func(r *schemas.ContextRequest) { r.Payload.IncludeProofs = true }))
		must(t, err)
		p := payloadOf(t, out)
		if len(p.Results) > 0 || p.Positions != (schemas.Positions{}) || p.Proof != nil || len(p.Explainability.Warnings) == 0 {
			t.Errorf("result: %+v", p)
		}
		head, err := v.Head(within(t), tenant, nil)
		if err != nil || head.(schemas.HeadReply).Size != 0 {
			t.Errorf("head: %+v, %v", head, err)
		}
		for name, call := range map[string]func() (any, error){
			"prove": func() (any, error) { return v.Prove(within(t), tenant, encode(t, schemas.ProveRequest{Position: 1})) },
			"pack": func() (any, error) {
				return v.Pack(within(t), tenant, encode(t, schemas.PackRequest{PackID: p.PackID, From: from}))
			},
			"explain": func() (any, error) {
				return v.Explain(within(t), tenant, encode(t, schemas.ExplainRequest{PackID: p.PackID, ItemID: "a", From: from}))
			},
		} {
			if _, err := call(); typed(t, err).Code != schemas.CodeNotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err = waited(within(t))(v.Receipt(within(t), tenant, encode(t, schemas.ReceiptRequest{Source: source, ID: "none", Level: "logged", Timeout: 10})))
		if typed(t, err).Code != schemas.CodeDeadlineExceeded {
			t.Errorf("receipt: %v", err)
		}
	}
	tenants, err := w.log.Tenants(within(t))
	must(t, err)
	if diff := cmp.Diff([]string{"acme"}, tenants); diff != "" {
		t.Errorf("tenants (-want +got):\n%s", diff)
	}
	if n := w.worker.Projector.InMemory(); n != 1 {
		t.Errorf("%d tenants are in memory, want 1", n)
	}
	if diff := cmp.Diff(files, w.files(t)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// files lists the files of the indexes.
func (w *world) files(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, folder := range []string{"keyword", "vector"} {
		entries, err := os.ReadDir(filepath.Join(w.dir, folder))
		must(t, err)
		for _, e := range entries {
			list = append(list, folder+"/"+e.Name())
		}
	}
	return list
}

// TestTenantsThatMayBeWrittenTo: the registry and the number of tenants decide, at put and on
// the stream alike, and a tenant that has a log keeps it.
func TestTenantsThatMayBeWrittenTo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		registry string
		limit    int
		refused  string // what a letter says of globex; "": it is taken
	}{
		"named":         {"tenants:\n  acme: {principals: [{id: planner}]}\n  globex: {}\n", 0, ""},
		"not named":     {"tenants:\n  acme: {principals: [{id: planner}]}\n", 0, "the principal registry does not name this tenant"},
		"open":          {"tenants:\n  acme: {}\n  \"*\": {}\n", 0, ""},
		"open and full": {"tenants:\n  \"*\": {}\n", 1, "there are 1 tenants, and no more may begin"},
		"room":          {"", 2, ""},
		"full":          {"", 1, "there are 1 tenants, and no more may begin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := prepare(t)
			w.change = func(cfg *worker.Config) {
				cfg.MaxTenants = c.limit
				if c.registry != "" {
					var err error
					cfg.Registry, err = policies.ReadRegistry(strings.NewReader(c.registry))
					must(t, err)
				}
			}
			w.start(t)
			w.put(t, recorded(t, "a", "one"), "logged")
			there := recorded(t, "x", "elsewhere", func(d map[string]any) { d["scope"] = map[string]any{"tenant": "globex"} })
			body := encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, there), Wait: "logged"})
			_, err := waited(within(t))(w.worker.Service.Put(within(t), "globex", body))
			if c.refused == "" {
				must(t, err)
			} else if e := typed(t, err); e.Code != schemas.CodePolicyDenied || !strings.Contains(e.Message, c.refused) {
				t.Errorf("put: %v", err)
			}
			w.publish(t, "globex", memory(t, schemas.TypeMemoryRecorded, "e-y", map[string]any{"id": "y", "scope": map[string]any{"tenant": "globex"}, "type": "episodic", "kind": "memory",
				"content": "there", "created_at": "2026-01-02T03:04:05Z", "security_label": []string{"level:internal"}}))
			if c.refused == "" {
				w.entries(t, "globex", 2)
			} else if diff := cmp.Diff([]string{"e-y policy_denied"}, w.letters(t, 1)); diff != "" {
				t.Errorf("letters (-want +got):\n%s", diff)
			}
			w.put(t, recorded(t, "b", "two"), "logged")
			if n := len(w.entries(t, "globex", 0)); c.refused != "" && n != 0 {
				t.Errorf("%d entries of a tenant that may not be written to", n)
			}
			w.reopen(t) // it is counted anew
			w.put(t, recorded(t, "c", "three"), "logged")
		})
	}
}

// TestNoMoreTenantsAtOnce: when many begin at a time, as many as may get their receipts, and
// the others are refused before anything is published.
func TestNoMoreTenantsAtOnce(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(cfg *worker.Config) { cfg.MaxTenants = 10 }
	w.start(t)
	const calls = 40
	levels := make(chan string, calls)
	var wait sync.WaitGroup
	ctx := within(t)
	for i := range calls {
		tenant := fmt.Sprint("t", i)
		ev := recorded(t, "a", "one", func(d map[string]any) { d["scope"] = map[string]any{"tenant": tenant} })
		body := encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, ev), Wait: "logged"})
		wait.Go(func() {
			out, err := waited(ctx)(w.worker.Service.Put(ctx, tenant, body))
			var refused *schemas.Error
			switch r, ok := out.(schemas.Receipt); {
			case ok && err == nil:
				levels <- string(r.Level)
			case errors.As(err, &refused):
				levels <- string(refused.Code)
			default:
				levels <- fmt.Sprint(err)
			}
		})
	}
	wait.Wait()
	close(levels)
	got := map[string]int{}
	for level := range levels {
		got[level]++
	}
	if diff := cmp.Diff(map[string]int{"logged": 10, "policy_denied": 30}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// TestIdleTenantsLeaveMemory: a tenant that nobody used for a while is put away, and the next
// request finds all that it had, also what came meanwhile.
func TestIdleTenantsLeaveMemory(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.change = func(cfg *worker.Config) { cfg.TenantIdle, cfg.Evict = time.Millisecond, w.evict }
	w.start(t)
	const tenants = projection.KeptTenants + 2
	for i := range tenants {
		tenant := fmt.Sprint("t", i)
		ev := recorded(t, "a", "the heron stands in the "+tenant+" reeds", func(d map[string]any) { d["scope"] = map[string]any{"tenant": tenant} })
		_, err := waited(within(t))(w.worker.Service.Put(within(t), tenant, encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, ev), Wait: "indexed"})))
		must(t, err)
	}
	poll(t, "idle tenants are put away", func() bool { return w.worker.Projector.InMemory() <= projection.KeptTenants })
	gone := ""
	for i := range tenants {
		if tenant := fmt.Sprint("t", i); w.worker.Projector.Position(tenant) == 0 {
			gone = tenant
		}
	}
	ask := func(tenant string) schemas.ResultPayload {
		t.Helper()
		out, err := w.worker.Service.Request(within(t), tenant, request(t, "reader", "internal", "where does the heron stand?", nil))
		must(t, err)
		return payloadOf(t, out)
	}
	if p := ask(gone); len(p.Results) != 1 || !strings.Contains(p.Text, gone+" reeds") {
		t.Errorf("%s after it was put away: %+v", gone, p.Results)
	}
	poll(t, "it is put away again, as the others are used", func() bool {
		for i := range tenants {
			if tenant := fmt.Sprint("t", i); tenant != gone {
				ask(tenant)
			}
		}
		return w.worker.Projector.Position(gone) == 0
	})
	w.publish(t, gone, memory(t, schemas.TypeMemoryRecorded, "e-b", map[string]any{"id": "b", "scope": map[string]any{"tenant": gone}, "type": "episodic", "kind": "memory",
		"content": "a second heron stands on the weir", "created_at": "2026-01-02T03:04:05Z", "security_label": []string{"level:internal"}}))
	s := system(t, gone)
	poll(t, "what came meanwhile is indexed", func() bool {
		if _, err := w.log.Find(within(t), s, source, "e-b"); err != nil {
			return false
		}
		at, err := w.items.Checkpoint(within(t), s)
		must(t, err)
		head, err := w.log.Head(within(t), s)
		must(t, err)
		return at == head.Size
	})
	if p := ask(gone); len(p.Results) != 2 {
		t.Errorf("%s after it grew: %+v, dropped %+v", gone, p.Results, p.Drop)
	}
}
