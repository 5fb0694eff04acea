package items_test

import (
	"testing"

	"satchel/pipeline/store/internal/field"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/items/itemstest"
)

func FuzzDecodeRecord(f *testing.F) {
	r := itemstest.Record("x", "s", 1)
	h := items.NewHead(r)
	f.Add(h.Append(nil), items.AppendBody(nil, r))
	f.Fuzz(func(t *testing.T, head, body []byte) {
		r, err := items.DecodeRecord("x", 0, head, body)
		if err != nil {
			return
		}
		h, err := items.DecodeHead(head)
		if err != nil {
			t.Fatal(err)
		}
		if h.Session != r.SessionID() {
			return
		}
		if _, err := items.DecodeRecord("x", 0, h.Append(nil), items.AppendBody(nil, &r)); err != nil {
			t.Fatalf("a decoded record cannot be encoded again: %v", err)
		}
	})
}

// TestHeadsWithoutNovelty reads heads as they were written before there was one.
func TestHeadsWithoutNovelty(t *testing.T) {
	t.Parallel()
	r := itemstest.Record("x", "s", 1)
	h := items.NewHead(r)
	facets := field.AppendFacets(nil, &h.Facets, h.Session)
	now := h.Append(nil)
	old := append(now[:len(now)-len(facets)-1:len(now)-len(facets)-1], facets...)
	old[0] = 1
	got, err := items.DecodeHead(old)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Novelty(); ok || got.Session != "s" || got.Speaker != r.Speaker {
		t.Errorf("head %+v", got)
	}
	h.SetNovelty(.25)
	if got, err = items.DecodeHead(h.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if n, ok := got.Novelty(); !ok || n != .25 {
		t.Errorf("novelty %v, %v", n, ok)
	}
}
