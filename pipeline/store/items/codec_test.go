package items_test

import (
	"testing"

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
