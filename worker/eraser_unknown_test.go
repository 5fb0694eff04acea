package worker_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
	"satchel/worker"
)

// What is not there cannot be certified as erased; what was erased is not there.
func TestErasureOfNothingIsRefused(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.start(t)
	w.publish(t, "acme", recorded(t, "a", "free"), forgetting(t, "typo", "aa"), forgetting(t, "good", "a"))
	w.receipt(t, "acme", "good")
	w.publish(t, "acme", forgetting(t, "again", "a"))
	if diff := cmp.Diff([]string{"typo unknown_item /data/items/0", "again unknown_item /data/items/0"}, w.letters(t, 2)); diff != "" {
		t.Error(diff)
	}
}

// An erasure that names what is not there erases nothing of what it names beside it, and says
// which that is.
func TestErasureOfSomethingAndNothingIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.put(t, recorded(t, "a", "one"), "indexed")
	w.put(t, recorded(t, "gone", "two"), "indexed")
	w.publish(t, "acme", forgetting(t, "first", "gone"))
	w.receipt(t, "acme", "first")
	for id, c := range map[string]struct {
		items       []string
		message, at string
	}{
		"typo": {[]string{"a", "aa", "ab"}, "aa, ab: no such item, nothing was erased", "/event/data/items/1"},
		"past": {[]string{"a", "gone"}, "gone: no such item: it was erased, and the receipt is at log position ", "/event/data/items/1"},
	} {
		_, err := waited(within(t))(w.worker.Service.Put(within(t), "acme", encode(t, schemas.PutRequest{Agent: "planner", Event: structured(t, forgetting(t, id, c.items...)), Wait: "logged"})))
		if e := typed(t, err); e.Code != schemas.CodeValidation || !strings.HasPrefix(e.Message, c.message) || e.Field != c.at {
			t.Errorf("%s: %+v", id, e)
		}
		w.publish(t, "acme", forgetting(t, id, c.items...)) // the log refuses what is not put
	}
	w.letters(t, 2)
	entry, err := w.log.Find(within(t), system(t, "acme"), source, "e-a")
	must(t, err)
	if records, err := w.items.Get(within(t), system(t, "acme"), []string{"a"}); err != nil || len(records) != 1 || entry.Erased {
		t.Errorf("what is there was erased: %v, %v", records, err)
	}
}

// Nobody waits for the receipt of an erasure that was never asked for. One that waits to be logged is asked for.
func TestReceiptOfAnUnknownErasure(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	ask := func(id string, timeout int) (any, error) {
		return waited(within(t))(w.worker.Service.Receipt(within(t), "acme", encode(t, schemas.ReceiptRequest{Source: source, ID: id + ".receipt", Level: schemas.ReceiptLogged, Timeout: timeout})))
	}
	begun, goOn := make(chan struct{}), make(chan struct{})
	w.change = func(c *worker.Config) {
		c.Failpoint = func(at string) {
			if at == "erase.before_commit" {
				begun <- struct{}{}
				<-goOn
			}
		}
	}
	w.start(t)
	w.publish(t, "acme", recorded(t, "a", "one"), forgetting(t, "good", "a"), forgetting(t, "refused", "aa"))
	await(t, begun, "the erasure begins")
	if _, err := ask("good", 20); typed(t, err).Code != schemas.CodeDeadlineExceeded {
		t.Errorf("an erasure that waits in the stream: %v", err)
	}
	close(goOn)
	w.letters(t, 1)
	for _, id := range []string{"never", "e-a", "refused"} {
		if _, err := ask(id, 60000); typed(t, err).Code != schemas.CodeNotFound {
			t.Errorf("%s: %v", id, err)
		}
	}
	out, err := ask("good", 60000)
	if must(t, err); out.(schemas.Receipt).Level != schemas.ReceiptLogged {
		t.Errorf("the receipt that there is: %+v", out)
	}
}
