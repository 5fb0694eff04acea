package app

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"satchel/pipeline/store/vector"
)

func put(at int64, ids ...string) (changes []vector.Change) {
	for _, id := range ids {
		changes = append(changes, vector.Change{Position: at, Put: &vector.Doc{ID: id, Position: at}})
	}
	return changes
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	at := func(n int64) checkpoint { return func() (int64, error) { return n, nil } }
	broken := func() (int64, error) { return 0, errors.New("broken") }
	count := func(w *waiting) int { ids, _ := w.list(); return len(ids) }
	var w waiting
	if w.serves(at(9), broken) || w.serves(broken, at(7)) {
		t.Error("serves though nobody knows what it has, or what the table has")
	}
	if w.serves(at(4), at(7)) {
		t.Error("serves though the table has more")
	}
	if !w.serves(at(7), broken) {
		t.Error("does not serve though nothing is missing")
	}
	w.add(put(8, "a", "b"), broken)
	w.add([]vector.Change{{Position: 9, Remove: []string{"a"}}}, broken)
	if !w.serves(at(7), at(9)) || count(&w) != 2 {
		t.Errorf("two items moved the model, or %d wait, want 2", count(&w))
	}
	w.drop(8)
	if ids, serves := w.list(); !serves || len(ids) != 1 || ids[0] != "a" {
		t.Errorf("%v wait, want a, which changed again; serves: %t", ids, serves)
	}
	if w.serves(at(0), at(9)) {
		t.Error("serves from an index that began anew")
	}
	if w.drop(9); !w.serves(at(9), at(9)) || count(&w) != 0 {
		t.Errorf("an index that has everything again does not serve, or lacks %d", count(&w))
	}
	for i := range mostWaiting + 1 {
		w.add(put(int64(10+i), fmt.Sprint(i)), broken)
	}
	const last = 10 + mostWaiting
	if _, serves := w.list(); serves || w.serves(at(last-1), broken) || count(&w) != 0 {
		t.Error("serves though too much is missing")
	}
	w.add(put(last+1, "later"), broken)
	if !w.serves(at(last), broken) || count(&w) != 1 {
		t.Error("does not serve though a single item is missing again")
	}
	w.reset()
	if w.serves(at(0), at(last)) {
		t.Error("serves though it was emptied")
	}
}

// A tenant that nobody has asked yet keeps the encoder when something is written.
func TestWaitingBeforeTheFirstQuestion(t *testing.T) {
	t.Parallel()
	at := func(n int64) checkpoint { return func() (int64, error) { return n, nil } }
	var w waiting
	w.add(put(8, "a"), at(7))
	if !w.serves(at(7), at(8)) {
		t.Error("one item moved the model of a tenant that was complete")
	}
	var unread waiting
	unread.add(put(8, "a"), func() (int64, error) { return 0, errors.New("broken") })
	if unread.serves(at(7), at(8)) || !unread.serves(at(8), at(8)) {
		t.Error("serves before it has everything, or does not when it has")
	}
}

// A question that looks while the encoder's index gets further is no reason to begin anew.
func TestWaitingWhileTheEncoderGetsFurther(t *testing.T) {
	t.Parallel()
	var w waiting
	var index atomic.Int64
	const all = 2000
	at := func() (int64, error) { return index.Load(), nil }
	zero := func() (int64, error) { return 0, nil }
	if !w.serves(at, zero) {
		t.Fatal("an empty tenant does not serve")
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range int64(all) {
			w.add(put(i+1, fmt.Sprint(i)), zero)
			index.Store(i + 1)
			w.drop(i + 1)
		}
	})
	for range 4 {
		wait.Go(func() {
			for index.Load() < all {
				if !w.serves(at, zero) {
					t.Error("the model moved")
					return
				}
			}
		})
	}
	wait.Wait()
}
