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
// A row from before trust was granted and novelties were of one population opens, with the trust that
// anybody has and without a novelty.
func TestFormerRows(t *testing.T) {
	t.Parallel()
	r := itemstest.Record("x", "s", 1)
	r.Author, r.Trust, r.Novelty = "", new(1.0), nil
	r.Facets.Trust = 1
	h := items.NewMetadata(r)
	h.SetNovelty(.25)
	head, body := h.Append(nil), items.AppendPayload(nil, r)
	now, err := items.DecodeRecord("x", 0, head, body)
	if err != nil || *now.Trust != 1 || *now.Novelty != .25 {
		t.Fatalf("trust %v, novelty %v, %v", *now.Trust, *now.Novelty, err)
	}
	head[0]--
	body[0]--
	former, err := items.DecodeRecord("x", 0, head, body[:len(body)-1]) // the author is a length alone
	if err != nil || *former.Trust != .5 || former.Facets.Trust != .5 || former.Novelty != nil {
		t.Errorf("trust %v and %v, novelty %v, %v", *former.Trust, former.Facets.Trust, former.Novelty, err)
	}
}

func TestOtherHeadVersionsAreRefused(t *testing.T) {
	t.Parallel()
	h := items.NewMetadata(itemstest.Record("x", "s", 1))
	raw := h.Append(nil)
	for _, version := range []byte{0, raw[0] - 2, raw[0] + 1} {
		raw[0] = version
		if _, err := items.DecodeMetadata(raw); !errors.Is(err, items.ErrCorrupt) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}
