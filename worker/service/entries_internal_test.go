package service

import (
	"bytes"
	"encoding/json"
	"testing"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// TestPagesOfFollowersAreMessages: a page of one who reads on is small enough to be sent as it is,
// however large the entries are, and never empty.
func TestPagesOfFollowersAreMessages(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 30 << 10, 400 << 10, 700 << 10} {
		page := entryPage{kinds: schemas.LedgerKinds(), limit: schemas.MaxEntries, most: followBytes}
		data, err := json.Marshal(schemas.ContextPack{ID: string(bytes.Repeat([]byte("x"), size))})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			taken, err := page.takeEntry(&eventlog.Entry{Tenant: "acme", Position: int64(i + 1), Type: schemas.TypeContextPacked, Source: "s", ID: "p", Data: data})
			if err != nil {
				t.Fatal(err)
			}
			if !taken && !page.full {
				t.Fatal("a page that is not full takes nothing")
			}
			if page.full {
				break
			}
		}
		raw, err := json.Marshal(page.reply)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.reply.Entries) == 0 || len(raw) > 1<<20-1024 {
			t.Errorf("entries of %d bytes: a page of %d has %d bytes", size, len(page.reply.Entries), len(raw))
		}
	}
}
