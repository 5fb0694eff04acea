package worker_test

import (
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nkeys"

	"satchel/pipeline/write"
	"satchel/schemas"
	"satchel/worker"
)

// signers returns a running worker that knows the keys of ann and bob, and what signs an
// event by one of them.
func signers(t *testing.T) (*world, func(who string, ev event.Event) event.Event) {
	t.Helper()
	w := prepare(t)
	seeds, keys := map[string][]byte{}, map[string]string{}
	for _, who := range []string{"ann", "bob"} {
		pair, err := nkeys.CreateUser()
		must(t, err)
		seeds[who], err = pair.Seed()
		must(t, err)
		keys[who], err = pair.PublicKey()
		must(t, err)
	}
	w.change = func(c *worker.Config) {
		var err error
		c.Writer, err = write.New(write.Config{Keys: keys})
		must(t, err)
	}
	w.start(t)
	return w, func(who string, ev event.Event) event.Event {
		t.Helper()
		var item struct{ ID string }
		must(t, ev.DataAs(&item))
		ev.SetSubject(item.ID)
		must(t, schemas.Sign(seeds[who], who, &ev))
		return ev
	}
}

// forgets asks in the name of an agent without the role eraser.
func (w *world) forgets(t *testing.T, who string, items ...string) error {
	t.Helper()
	ev := forgetting(t, "f-"+who+"-"+items[0], items...)
	ev.SetExtension(schemas.ExtensionRoles, nil)
	_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: who, Event: structured(t, ev), Wait: "logged"})))
	return err
}

func summaryOf(items ...string) func(map[string]any) {
	return func(d map[string]any) {
		links := make([]map[string]any, len(items))
		for i, id := range items {
			links[i] = map[string]any{"rel": "derived_from", "to": id}
		}
		d["kind"], d["links"] = "summary", links
	}
}

// Without the role eraser every version that goes has to be the asker's: of the item, and of
// what is derived from it.
func TestErasureOfOnesOwnIsOfEveryVersion(t *testing.T) {
	t.Parallel()
	w, by := signers(t)
	again := func(id, text string) event.Event {
		ev := recorded(t, id, text)
		ev.SetID("e-" + id + "-2")
		ev.SetExtension(schemas.ExtensionRoles, "editor")
		return ev
	}
	for _, ev := range []event.Event{
		by("ann", recorded(t, "mine", "ann's")), by("ann", again("mine", "ann's, again")),
		by("bob", recorded(t, "taken", "bob's")), by("ann", again("taken", "ann's version of it")),
		by("ann", recorded(t, "noted", "ann's")), by("bob", recorded(t, "digest", "bob's thoughts of it", summaryOf("noted"))),
		by("ann", recorded(t, "told", "ann's")), by("ann", recorded(t, "short", "ann's summary of it", summaryOf("told"))),
	} {
		w.put(t, ev, "indexed")
	}
	for _, id := range []string{"taken", "noted"} {
		if err := w.forgets(t, "ann", id); err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
			t.Errorf("ann forgets %s, of which not all is hers: %v", id, err)
		}
	}
	must(t, w.forgets(t, "ann", "mine"))
	if diff := cmp.Diff([]string{"mine"}, w.receipt(t, "acme", "f-ann-mine").Items); diff != "" {
		t.Error(diff)
	}
	must(t, w.forgets(t, "ann", "told"))
	if diff := cmp.Diff([]string{"told", "short"}, w.receipt(t, "acme", "f-ann-told").Items); diff != "" {
		t.Error(diff)
	}
}

// A summary that Satchel made is by who signed all that it was made of.
func TestErasureOfOnesOwnAndSatchelsSummaries(t *testing.T) {
	t.Parallel()
	w, by := signers(t)
	for _, ev := range []event.Event{by("ann", recorded(t, "a1", "ann's one")), by("ann", recorded(t, "a2", "ann's two")),
		by("ann", recorded(t, "a3", "ann's three")), by("bob", recorded(t, "b1", "bob's one"))} {
		w.put(t, ev, "indexed")
	}
	w.summarise(t, "of-ann", "a1", "a2")
	w.summarise(t, "of-both", "a3", "b1")
	at := w.summarise(t, "of-that", "of-both")
	must(t, w.worker.Projector.Await(within(t), system(t, "acme"), at))
	if err := w.forgets(t, "ann", "a3"); err == nil || typed(t, err).Code != schemas.CodePolicyDenied {
		t.Errorf("ann forgets what went into a summary with bob's: %v", err)
	}
	must(t, w.forgets(t, "ann", "a1"))
	if diff := cmp.Diff([]string{"a1", "of-ann"}, w.receipt(t, "acme", "f-ann-a1").Items); diff != "" {
		t.Error(diff)
	}
}
