package items_test

import (
	"errors"
	"testing"

	"satchel/pipeline/store/items"
	"satchel/test/conformance/itemstest"
)

func FuzzDecodeRecord(f *testing.F) {
	r := itemstest.Record("x", "s", 1)
	h := items.NewMetadata(r)
	f.Add(h.Append(nil), items.AppendPayload(nil, r))
	f.Fuzz(func(t *testing.T, head, body []byte) {
		r, err := items.DecodeRecord("x", 0, head, body)
		if err != nil {
			return
		}
		h, err := items.DecodeMetadata(head)
		if err != nil {
			t.Fatal(err)
		}
		if h.Session != r.SessionID() {
			return
		}
		if _, err := items.DecodeRecord("x", 0, h.Append(nil), items.AppendPayload(nil, &r)); err != nil {
			t.Fatalf("a decoded record cannot be encoded again: %v", err)
		}
	})
}

func TestNovelty(t *testing.T) {
	t.Parallel()
	h := items.NewMetadata(itemstest.Record("x", "s", 1))
	if _, ok := h.Novelty(); ok {
		t.Error("a new head has a novelty")
	}
	h.SetNovelty(.25)
	got, err := items.DecodeMetadata(h.Append(nil))
	if n, ok := got.Novelty(); err != nil || !ok || n != .25 {
		t.Errorf("novelty %v, %v, %v", n, ok, err)
	}
}

// Metadata of another version is damage, not a guess.
func TestOtherHeadVersionsAreRefused(t *testing.T) {
	t.Parallel()
	h := items.NewMetadata(itemstest.Record("x", "s", 1))
	raw := h.Append(nil)
	for _, version := range []byte{0, raw[0] - 1, raw[0] + 1} {
		raw[0] = version
		if _, err := items.DecodeMetadata(raw); !errors.Is(err, items.ErrCorrupt) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}
