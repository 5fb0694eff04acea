package columns

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "conv-26:D1:3", "0198c0de-0000-7000-8000-0123456789ab",
		"0198C0DE-0000-7000-8000-0123456789AB", "0198c0de00007000-8000-0123456789ab----", "entity:žluť"} {
		tab := NewIDs(0)
		ord, isNew := tab.Intern(id)
		if ord != 0 || !isNew {
			t.Errorf("intern %q: %d %v", id, ord, isNew)
		}
		if got := tab.ID(0); got != id {
			t.Errorf("id of %q comes back as %q", id, got)
		}
		if ord, ok := tab.Lookup(id); !ok || ord != 0 {
			t.Errorf("lookup %q: %d %v", id, ord, ok)
		}
	}
}

func TestIDsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tab, model, texts := NewIDs(0), map[string]uint32{}, []string{}
		ids := rapid.OneOf(rapid.StringMatching(`[a-c]{1,3}`), rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("0198c0de-0000-7000-8000-%012x", rapid.IntRange(0, 40).Draw(t, "n"))
		}))
		t.Repeat(map[string]func(*rapid.T){
			"intern": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				want, known := model[id]
				if !known {
					want = uint32(len(texts))
					model[id], texts = want, append(texts, id)
				}
				if ord, isNew := tab.Intern(id); ord != want || isNew == known {
					t.Fatalf("intern %q: got %d %v, want %d", id, ord, isNew, want)
				}
			},
			"compare": func(t *rapid.T) {
				one := rapid.IntRange(0, len(texts)).Draw(t, "one")
				for other := range texts {
					if got, want := tab.Compare(uint32(one), uint32(other)), strings.Compare(tab.ID(uint32(one)), texts[other]); got != want {
						t.Fatalf("%d and %d (%q) compare as %d, want %d", one, other, texts[other], got, want)
					}
				}
			},
			"delete": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				want, known := model[id]
				ord, ok := tab.Delete(id)
				if ok != known || ok && ord != want {
					t.Fatalf("delete %q: got %d %v, want %d %v", id, ord, ok, want, known)
				}
				if known {
					delete(model, id)
					texts[want] = ""
				}
			},
			"snapshot": func(t *rapid.T) {
				c := NewCursor(string(append(tab.AppendTo(nil), 7)))
				back, err := DecodeIDs(c)
				if rest, _ := c.Rest(); err != nil || len(rest) != 1 {
					t.Fatalf("decode: %v, %d bytes left", err, len(rest))
				}
				tab = back
			},
			"": func(t *rapid.T) {
				if tab.Len() != len(texts) || tab.Live() != len(model) {
					t.Fatalf("len %d live %d, want %d %d", tab.Len(), tab.Live(), len(texts), len(model))
				}
				for ord, text := range texts {
					if got := tab.ID(uint32(ord)); got != text {
						t.Fatalf("id %d: got %q, want %q", ord, got, text)
					}
				}
				all := []string{"", "z", "0198c0de-0000-7000-8000-ffffffffffff"}
				for id, want := range model {
					if ord, ok := tab.Lookup(id); !ok || ord != want {
						t.Fatalf("lookup %q: got %d %v, want %d", id, ord, ok, want)
					}
					all = append(all, id)
				}
				ords := make([]uint32, len(all))
				tab.LookupAll(all, ords)
				for i, id := range all {
					if want, known := model[id]; known && ords[i] != want || !known && ords[i] != NoID {
						t.Fatalf("lookup of %q among %d: got %d, want %d %v", id, len(all), ords[i], want, known)
					}
				}
			},
		})
	})
}

func TestManyDeletesKeepTheTableSmall(t *testing.T) {
	t.Parallel()
	tab := NewIDs(0)
	for i := range 100_000 {
		id := fmt.Sprintf("id-%d", i)
		tab.Intern(id)
		if _, ok := tab.Delete(id); !ok {
			t.Fatalf("delete %q: not found", id)
		}
	}
	if len(tab.slots) > 64 {
		t.Errorf("%d slots for no ids", len(tab.slots))
	}
	if _, ok := tab.Lookup("id-5"); ok {
		t.Error("a deleted id is found")
	}
}

func FuzzIDsDecode(f *testing.F) {
	tab := NewIDs(0)
	tab.Intern("x")
	tab.Intern(uuid.NewString())
	f.Add(tab.AppendTo(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		tab, err := DecodeIDs(NewCursor(string(src)))
		if err != nil {
			return
		}
		for ord := range tab.Len() {
			id := tab.ID(uint32(ord))
			if id == "" {
				continue
			}
			if got, ok := tab.Lookup(id); !ok || int(got) != ord {
				t.Fatalf("id %d is found as %d %v", ord, got, ok)
			}
		}
	})
}

func benchTable(n int) (*IDs, []string) {
	tab, ids := NewIDs(0), make([]string, n)
	var raw [16]byte
	for i := range ids {
		binary.BigEndian.PutUint64(raw[:], uint64(i)*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(raw[8:], uint64(i))
		ids[i] = uuid.UUID(raw).String()
		tab.Intern(ids[i])
	}
	return tab, ids
}

func BenchmarkLookup1M(b *testing.B) {
	tab, ids := benchTable(1_000_000)
	b.ReportMetric(float64(tab.Bytes())/float64(tab.Len()), "B/id")
	b.ResetTimer()
	i := 0
	for b.Loop() {
		i = (i + 7919) % len(ids)
		if _, ok := tab.Lookup(ids[i]); !ok {
			b.Fatal("missing")
		}
	}
	b.ReportMetric(float64(tab.Bytes())/float64(tab.Len()), "B/id")
}

func BenchmarkIntern(b *testing.B) {
	_, ids := benchTable(100_000)
	for b.Loop() {
		tab := NewIDs(0)
		for _, id := range ids {
			tab.Intern(id)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ids)), "ns/id")
}
