package app

import (
	"errors"
	"fmt"
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
	at := func(n int64) func() (int64, error) { return func() (int64, error) { return n, nil } }
	var w waiting
	if w.serves(4, at(7)) {
		t.Error("serves though the table has more")
	}
	if w.serves(9, func() (int64, error) { return 0, errors.New("broken") }) {
		t.Error("serves though nobody knows what the table has")
	}
	if !w.serves(7, at(7)) {
		t.Error("does not serve though nothing is missing")
	}
	w.add(put(8, "a", "b"))
	w.add([]vector.Change{{Position: 9, Remove: []string{"a"}}})
	if !w.serves(7, at(9)) || len(w.list()) != 2 {
		t.Errorf("two items moved the model, or are unknown: %v", w.list())
	}
	w.drop(8)
	if got := w.list(); len(got) != 1 || got[0] != "a" {
		t.Errorf("%v wait, want a, which changed again", got)
	}
	if w.serves(0, at(9)) {
		t.Error("serves from an index that began anew")
	}
	if w.drop(9); !w.serves(9, at(9)) || len(w.list()) != 0 {
		t.Errorf("an index that has everything again does not serve, or lacks %v", w.list())
	}
	for i := range mostWaiting + 1 {
		w.add(put(int64(10+i), fmt.Sprint(i)))
	}
	if w.serves(10, at(10+mostWaiting)) || len(w.list()) != 0 {
		t.Error("serves though too much is missing")
	}
	w.add(put(11+mostWaiting, "last"))
	if w.serves(10+mostWaiting, at(11+mostWaiting)) {
		t.Error("serves though what came before is not known to be all")
	}
	if !w.serves(11+mostWaiting, at(11+mostWaiting)) {
		t.Error("does not serve though nothing is missing any more")
	}
}
