package worker_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
	"satchel/worker"
)

// stranger is a second agent, which owns nothing of planner's.
const stranger = "stranger"

// named gives an event another id, and the roles that it claims.
func named(ev event.Event, id string, roles ...string) event.Event {
	ev.SetID(id)
	if len(roles) > 0 {
		ev.SetExtension(schemas.ExtensionRoles, strings.Join(roles, ","))
	}
	return ev
}

func labels(list ...string) func(map[string]any) {
	return func(m map[string]any) { m["security_label"] = list }
}

func linksTo(rel, to string) func(map[string]any) {
	return func(m map[string]any) { m["links"] = []map[string]string{{"rel": rel, "to": to}} }
}

// publishAs stores an agent's events in MEMORY.
func (w *world) publishAs(t *testing.T, agent string, events ...event.Event) {
	t.Helper()
	for _, ev := range events {
		_, _, err := jetstream.NewOutbox(w.nc, w.js).PublishMemory(within(t), "acme", agent, ev)
		must(t, err)
	}
}

// putAs puts an agent's event and returns why it was refused, nil when it was logged.
func (w *world) putAs(t *testing.T, agent string, ev event.Event) error {
	t.Helper()
	_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: agent, Event: structured(t, ev), Wait: "indexed"})))
	return err
}

// registered gives the world a registry.
func registered(t *testing.T, w *world, text string) {
	t.Helper()
	w.change = func(cfg *worker.Config) {
		var err error
		cfg.Registry, err = policies.ReadRegistry(strings.NewReader(text))
		must(t, err)
	}
}

const someRoles = `tenants: {acme: {principals: [{id: planner}, {id: ed, roles: [editor]}, {id: dec, roles: [declassifier, editor]}]}}`

// What touches an item of another's is refused on the stream as on put, whatever the form.
func TestOthersItemsAreNotChanged(t *testing.T) {
	t.Parallel()
	touching := map[string]func(t *testing.T, id string) event.Event{
		"recorded again": func(t *testing.T, id string) event.Event { return named(recorded(t, "theirs", "forged"), id) },
		"with a ttl": func(t *testing.T, id string) event.Event {
			return named(recorded(t, "theirs", "forged", func(m map[string]any) { m["ttl"] = 1 }), id)
		},
		"superseded": func(t *testing.T, id string) event.Event { return superseded(t, id, "theirs", "mine") },
		"linked": func(t *testing.T, id string) event.Event {
			return linked(t, id, "theirs", schemas.Link{Rel: "mentions", To: "mine"})
		},
		"link to come": func(t *testing.T, id string) event.Event {
			return linked(t, id, "nowhere", schemas.Link{Rel: "mentions", To: "mine"})
		},
		"hid by a link": func(t *testing.T, id string) event.Event {
			return linked(t, id, "mine", schemas.Link{Rel: "supersedes", To: "theirs"})
		},
		"hid by an item": func(t *testing.T, id string) event.Event {
			return named(recorded(t, "other", "x", linksTo("supersedes", "theirs")), id)
		},
	}
	w := prepare(t)
	registered(t, w, someRoles)
	w.start(t)
	w.publish(t, "acme", recorded(t, "theirs", "what planner knows", labels("level:confidential", "group:a")))
	w.publishAs(t, stranger, recorded(t, "mine", "what stranger knows"))
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(touching)) {
		id := strings.ReplaceAll(name, " ", "-")
		w.publishAs(t, stranger, named(touching[name](t, id), id, "editor", "declassifier"))
		refused = append(refused, id)
	}
	w.publishAs(t, stranger, named(recorded(t, "mine", "more of it"), "last"))
	letters := w.letters(t, len(refused))
	for i := range letters {
		letters[i] = strings.Fields(letters[i])[0] + " " + strings.Fields(letters[i])[1]
		refused[i] += " policy_denied"
	}
	slices.Sort(letters)
	if diff := cmp.Diff(refused, letters); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"e-theirs", "e-mine", "last"}, ids(w.entries(t, "acme", 3))); diff != "" {
		t.Error(diff)
	}
	for name, event := range touching {
		err := w.putAs(t, stranger, event(t, "put-"+strings.ReplaceAll(name, " ", "-")))
		if err == nil || typed(t, err).Code != schemas.CodePolicyDenied || !strings.HasPrefix(typed(t, err).Field, "/event/data/") {
			t.Errorf("put %s: %v", name, err)
		}
	}
}

// claiming gives an event a clearance and roles that it claims; "" claims no clearance.
func claiming(ev event.Event, id, level string, roles ...string) event.Event {
	ev.SetExtension(schemas.ExtensionRoles, nil)
	if ev = named(ev, id, roles...); level != "" {
		ev.SetExtension(schemas.ExtensionLevel, level)
	}
	return ev
}

// With a registry the claims of an event take away from what it grants, and add nothing: to a
// change, a change that lowers labels, and an erasure, on the stream as on put.
func TestClaimsNarrowWhatAnEventMayDo(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	registered(t, w, `tenants: {acme: {principals: [{id: planner}, {id: stranger}, {id: ed, level: internal, roles: [editor, declassifier, eraser]}]}}`)
	w.start(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		w.put(t, recorded(t, id, "what planner knows", labels("level:restricted")), "indexed")
	}
	again := func(id, level string) event.Event { return recorded(t, id, "else", labels("level:"+level)) }
	tries := []struct {
		name, agent string
		event       event.Event
		level       string
		roles       []string
		allowed     bool
	}{
		{"no-role", "ed", again("a", "restricted"), "", []string{"token"}, false},
		{"other-role", "ed", superseded(t, "", "a", "mine"), "", []string{"eraser"}, false},
		{"below", "ed", again("a", "restricted"), "confidential", []string{"editor"}, false},
		{"below-hides", "ed", recorded(t, "hides", "x", linksTo("supersedes", "a")), "public", nil, false},
		{"below-owner", "planner", again("a", "restricted"), "internal", nil, false},
		{"no-widening", "stranger", again("a", "restricted"), "restricted", []string{"editor", "eraser"}, false},
		{"not-lowered", "ed", again("a", "public"), "restricted", []string{"editor"}, false},
		{"not-erased", "ed", forgetting(t, "", "a"), "", []string{"editor"}, false},
		{"erased-below", "ed", forgetting(t, "", "a"), "confidential", []string{"eraser"}, false},
		{"changed", "ed", again("a", "restricted"), "restricted", []string{"editor"}, true},
		{"silent", "ed", again("b", "restricted"), "", nil, true},
		{"lowered", "ed", again("c", "public"), "", []string{"editor", "declassifier"}, true},
		{"below-lowered", "ed", again("c", "public"), "internal", []string{"editor"}, false}, // an earlier version was restricted
		{"owner", "planner", again("d", "restricted"), "restricted", []string{"token"}, true},
		{"erased", "ed", forgetting(t, "", "d"), "restricted", []string{"eraser"}, true},
	}
	var refused []string
	for _, c := range tries {
		err := w.putAs(t, c.agent, claiming(c.event, "put-"+c.name, c.level, c.roles...))
		if (err == nil) != c.allowed || !c.allowed && typed(t, err).Code != schemas.CodePolicyDenied {
			t.Errorf("put %s: %v", c.name, err)
		}
		if !c.allowed { // past put, straight into the stream
			w.publishAs(t, c.agent, claiming(c.event, c.name, c.level, c.roles...))
			refused = append(refused, c.name)
		}
	}
	letters := w.letters(t, len(refused))
	for i := range letters {
		letters[i] = strings.Fields(letters[i])[0]
	}
	slices.Sort(refused)
	slices.Sort(letters)
	if diff := cmp.Diff(refused, letters); diff != "" {
		t.Error(diff)
	}
}

// The owner changes its item, an editor everybody's; after that it is not the owner's alone.
func TestWhoMayChange(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	registered(t, w, someRoles)
	w.start(t)
	n := 0
	again := func(agent, id string, changes ...func(map[string]any)) error {
		n++
		return w.putAs(t, agent, named(recorded(t, id, fmt.Sprint("version ", n), changes...), fmt.Sprint("v", n)))
	}
	must(t, again("planner", "a"))
	must(t, again("planner", "a", labels("level:confidential")))
	must(t, w.putAs(t, "planner", linked(t, "l1", "a", schemas.Link{Rel: "mentions", To: "b"})))
	if err := again("planner", "a", labels("level:public")); err == nil {
		t.Error("an owner by name lowers the level")
	}
	if err := again("ed", "a", labels("level:public")); err == nil {
		t.Error("an editor lowers the level")
	}
	must(t, again("planner", "b"))
	must(t, again("dec", "b", labels("level:public")))
	if err := again("planner", "b", labels("level:restricted")); err == nil {
		t.Error("who recorded it first changes what another has changed since")
	}
	must(t, again("ed", "a", labels("level:restricted")))
	must(t, w.putAs(t, "ed", superseded(t, "s1", "a", "b")))
	if got := w.letters(t, 0); len(got) != 0 {
		t.Errorf("dead letters of what put has refused: %v", got)
	}
}

// A key owns what it has signed, and lowers it; the agent's name does not.
func TestSignedItemsAreTheKeys(t *testing.T) {
	t.Parallel()
	w, by := signers(t)
	must(t, w.putAs(t, "planner", by("ann", recorded(t, "a", "ann's", labels("level:restricted")))))
	for name, ev := range map[string]event.Event{
		"nobody's": named(recorded(t, "a", "forged", labels("level:restricted")), "e1"),
		"bob's":    by("bob", named(recorded(t, "a", "forged", labels("level:restricted")), "e2")),
	} {
		for _, agent := range []string{"planner", "ann"} {
			if err := w.putAs(t, agent, ev); err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
				t.Errorf("%s event of %s: %v", name, agent, err)
			}
		}
	}
	must(t, w.putAs(t, "elsewhere", by("ann", named(recorded(t, "a", "ann's, again", labels("level:public")), "e3"))))
}

// Satchel's summaries are made again and again; nobody else writes one.
func TestSummariesAreSatchelsOwn(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	at := w.summarise(t, "sum", "a")
	must(t, w.worker.Projector.Await(within(t), system(t, "acme"), at))
	for _, agent := range []string{"planner", "satchel"} {
		for name, ev := range map[string]event.Event{
			"recorded": named(recorded(t, "sum", "forged"), "e1", "editor", "declassifier"),
			"linked":   named(linked(t, "e2", "sum", schemas.Link{Rel: "mentions", To: "a"}), "e2", "editor"),
			"hidden":   superseded(t, "e3", "sum", "a"),
		} {
			if err := w.putAs(t, agent, ev); err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
				t.Errorf("%s %s: %v", agent, name, err)
			}
		}
	}
	must(t, w.putAs(t, "planner", named(superseded(t, "e4", "sum", "a"), "e4", "editor")))
	w.summarise(t, "sum-2", "a")
}

// Events of one batch are judged in their order, by what the events before them made.
func TestChangesWithinABatch(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	registered(t, w, someRoles)
	w.publishAs(t, "planner", recorded(t, "a", "one"), recorded(t, "r", "under a key that is used again"))
	w.publishAs(t, stranger, named(recorded(t, "a", "forged"), "forged-1"), recorded(t, "s", "stranger's"), named(linked(t, "l1", "s", schemas.Link{Rel: "supersedes", To: "a"}), "l1"))
	w.publishAs(t, "planner", named(recorded(t, "a", "two"), "a-2"), named(recorded(t, "s", "forged"), "forged-2"), recorded(t, "a", "one"))
	w.publishAs(t, "dec", named(recorded(t, "s", "dec's", labels("level:public")), "s-2"))
	w.publishAs(t, stranger, named(recorded(t, "s", "no longer its own"), "s-3"), recorded(t, "s", "stranger's"))
	// The log has the key of an event that would make a ghost planner's, so a link from it is nobody's.
	w.publishAs(t, "planner", named(recorded(t, "ghost", "x"), "e-r"), linked(t, "l2", "ghost", schemas.Link{Rel: "mentions", To: "a"}), linked(t, "l3", "a", schemas.Link{Rel: "mentions", To: "s"}))
	w.start(t)
	if diff := cmp.Diff([]string{"e-a", "e-r", "e-s", "a-2", "s-2", "l3"}, ids(w.entries(t, "acme", 6))); diff != "" {
		t.Error(diff)
	}
	got := w.letters(t, 6)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"e-r id_reuse /id", "forged-1 policy_denied /data/id", "forged-2 policy_denied /data/id", "l1 policy_denied /data/links/0/to",
		"l2 policy_denied /data/from", "s-3 policy_denied /data/id"}, got); diff != "" {
		t.Error(diff)
	}
}

// A refused event leaves its key to no other: what comes under it next is judged, too, and
// the same is refused again.
func TestARefusedKeyIsJudgedAgain(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	registered(t, w, someRoles)
	w.publishAs(t, "planner", recorded(t, "a", "one"))
	forged := named(recorded(t, "a", "forged"), "k")
	w.publishAs(t, stranger, forged, named(recorded(t, "a", "forged otherwise"), "k"), forged)
	w.publishAs(t, stranger, named(recorded(t, "b", "its own"), "k2"), named(recorded(t, "a", "forged"), "k2"), named(recorded(t, "c", "its own"), "k3"))
	w.start(t)
	if diff := cmp.Diff([]string{"e-a", "k2", "k3"}, ids(w.entries(t, "acme", 3))); diff != "" {
		t.Error(diff)
	}
	got := w.letters(t, 4)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"k policy_denied /data/id", "k policy_denied /data/id", "k policy_denied /data/id", "k2 id_reuse /id"}, got); diff != "" {
		t.Error(diff)
	}
}

// What the log has is not judged again when it comes again, whoever changed the item since.
func TestRedeliveredChangesAreNoOps(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	registered(t, w, someRoles)
	w.start(t)
	must(t, w.putAs(t, "planner", recorded(t, "a", "one")))
	must(t, w.putAs(t, "ed", named(recorded(t, "a", "two"), "a-2")))
	must(t, w.putAs(t, "planner", recorded(t, "a", "one")))
	w.publishAs(t, "planner", recorded(t, "a", "one"), recorded(t, "b", "another"))
	w.entries(t, "acme", 3)
	if got := w.letters(t, 0); len(got) != 0 {
		t.Errorf("dead letters: %v", got)
	}
}

// Another agent is not told that it has guessed an event whole.
func TestAnotherAgentsEventIsNoDuplicate(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	registered(t, w, someRoles)
	w.start(t)
	must(t, w.putAs(t, "planner", recorded(t, "a", "one")))
	must(t, w.putAs(t, "planner", recorded(t, "a", "one")))
	right, wrong := w.putAs(t, stranger, recorded(t, "a", "one")), w.putAs(t, stranger, recorded(t, "a", "two"))
	if right == nil || wrong == nil || right.Error() != wrong.Error() || typed(t, right).Code != schemas.CodeConflict {
		t.Errorf("a right guess: %v, a wrong one: %v", right, wrong)
	}
}

// An id is free again when its item was erased.
func TestAnErasedItemIsNobodys(t *testing.T) {
	t.Parallel()
	w := setup(t)
	must(t, w.putAs(t, "planner", recorded(t, "a", "one", labels("level:restricted"))))
	if err := w.putAs(t, stranger, named(recorded(t, "a", "two"), "a-2")); err == nil {
		t.Error("another's item is recorded again")
	}
	w.publish(t, "acme", forgetting(t, "f", "a"))
	w.receipt(t, "acme", "f")
	must(t, w.putAs(t, stranger, named(recorded(t, "a", "three", labels("level:public")), "a-3")))
	if err := w.putAs(t, "planner", named(recorded(t, "a", "four"), "a-4")); err == nil {
		t.Error("the former owner takes it back")
	}
}

// silentPDP gives no verdict on a change until it is told to.
type silentPDP struct {
	policies.PDP
	speaks *atomic.Bool
	asked  chan struct{}
}

func (p silentPDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	if r.Action == "change" && !p.speaks.Load() {
		select {
		case p.asked <- struct{}{}:
		default:
		}
		return policies.Decision{}, fmt.Errorf("decide action %q: %w", r.Action, policies.ErrUnavailable)
	}
	return p.PDP.Decide(ctx, s, r)
}

// While policy gives no verdict a change is neither lost nor let through.
func TestChangesWaitForPolicy(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	pdp := silentPDP{speaks: &atomic.Bool{}, asked: make(chan struct{}, 1)}
	w.change = func(c *worker.Config) {
		if pdp.PDP == nil {
			pdp.PDP = c.PDP
		}
		c.PDP = pdp
	}
	w.start(t)
	w.publish(t, "acme", recorded(t, "a", "one"))
	w.entries(t, "acme", 1)
	err := w.putAs(t, "planner", named(recorded(t, "a", "two"), "put"))
	if err == nil || typed(t, err).Code != schemas.CodePolicyDenied || !strings.Contains(typed(t, err).Message, "no verdict") || typed(t, err).IsCallersMistake() {
		t.Errorf("put: %v", err)
	}
	<-pdp.asked
	w.publish(t, "acme", named(recorded(t, "a", "two"), "a-2"))
	w.publishAs(t, stranger, named(recorded(t, "a", "forged"), "forged"))
	await(t, pdp.asked, "policy is asked")
	if got := w.entries(t, "acme", 1); len(got) != 1 {
		t.Errorf("logged without a verdict: %v", ids(got))
	}
	if got := w.letters(t, 0); len(got) != 0 {
		t.Errorf("refused without a verdict: %v", got)
	}
	must(t, w.stop())
	w.start(t) // and it waits after a restart
	await(t, pdp.asked, "policy is asked again")
	pdp.speaks.Store(true)
	if diff := cmp.Diff([]string{"e-a", "a-2"}, ids(w.entries(t, "acme", 2))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"forged policy_denied /data/id"}, w.letters(t, 1)); diff != "" {
		t.Error(diff)
	}
}

// Who waits for an event to be logged is told that it was refused meanwhile.
func TestPutIsToldOfALateRefusal(t *testing.T) {
	t.Parallel()
	w := setup(t)
	err := w.putAs(t, "planner", linked(t, "l", "nowhere", schemas.Link{Rel: "mentions", To: "a"}))
	if err == nil || typed(t, err).Code != schemas.CodePolicyDenied || typed(t, err).Field != "/event/data/from" {
		t.Errorf("a link from what is not there: %v", err)
	}
	must(t, w.putAs(t, "planner", recorded(t, "a", "one")))
	must(t, w.putAs(t, "planner", linked(t, "l2", "a", schemas.Link{Rel: "mentions", To: "nowhere"})))
}
