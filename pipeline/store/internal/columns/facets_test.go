package columns

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"satchel/schemas"
)

func facets() *rapid.Generator[schemas.Facets] {
	return rapid.Custom(func(t *rapid.T) schemas.Facets {
		word := func(name string) string { return rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, name) }
		list := func(name string) []string {
			return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, name)
		}
		return schemas.Facets{
			Kind: schemas.Kind(word("kind")), Type: schemas.MemoryType(word("type")), Category: word("category"),
			Session: word("session"), Signer: word("signer"), Level: schemas.Level(rapid.IntRange(0, 3).Draw(t, "level")),
			Labels: list("labels"), Groups: list("groups"), Purposes: list("purposes"),
			PII: rapid.Bool().Draw(t, "pii"), Credentials: rapid.Bool().Draw(t, "credentials"),
			Trust:       rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "trust"),
			Sensitivity: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "sensitivity"),
		}
	})
}

func filters() *rapid.Generator[schemas.Filter] {
	return rapid.Custom(func(t *rapid.T) schemas.Filter {
		if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
			return schemas.MatchNone()
		}
		conds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schemas.Cond {
			return schemas.Cond{
				Field: rapid.SampledFrom([]schemas.Field{schemas.FieldKind, schemas.FieldSession, schemas.FieldLabels,
					schemas.FieldGroups, schemas.FieldLevel, schemas.FieldTrust, schemas.FieldSensitivity, schemas.FieldPII, "nonsense"}).Draw(t, "field"),
				Op: rapid.SampledFrom([]schemas.Op{schemas.In, schemas.NotIn, schemas.EmptyOrIn, schemas.AtMost,
					schemas.AtLeast, "nonsense"}).Draw(t, "op"),
				Values: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "values"),
				Number: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "number"),
			}
		}), 0, 3).Draw(t, "conds")
		return schemas.Where(conds...)
	})
}

func TestFacetsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, known := NewDict(), []schemas.Facets{}
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			for _, f := range rapid.SliceOfN(facets(), 1, 10).Draw(t, "facets") {
				n := d.Intern(f)
				if int(n) == len(known) {
					known = append(known, f)
				}
				if int(n) >= len(known) || !cmp.Equal(known[n], f, cmpopts.EquateEmpty()) {
					t.Fatalf("profile %d is given to other facets", n)
				}
			}
			for _, f := range rapid.SliceOfN(filters(), 1, 4).Draw(t, "filters") {
				allowed := d.Allowed(f)
				if len(allowed) != d.Len() {
					t.Fatalf("%d answers for %d profiles", len(allowed), d.Len())
				}
				for n := range known {
					if allowed[n] != f.Match(&known[n]) {
						t.Fatalf("profile %d: allowed %v, match %v", n, allowed[n], f.Match(&known[n]))
					}
				}
			}
			c := NewCursor(string(append(d.AppendTo(nil), 1, 2)))
			back, err := DecodeDict(c)
			if rest, _ := c.Rest(); err != nil || len(rest) != 2 || back.Len() != d.Len() {
				t.Fatalf("decode: %v", err)
			}
			d = back
			for n := range known {
				if !cmp.Equal(known[n], d.Facets(uint32(n)), cmpopts.EquateEmpty()) {
					t.Fatalf("profile %d changed in a snapshot", n)
				}
			}
		}
	})
}

func TestAnswersHandedOutStayAsTheyWere(t *testing.T) {
	t.Parallel()
	d := NewDict()
	d.Intern(schemas.Facets{Kind: "a"})
	f := schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: []string{"a"}})
	first := d.Allowed(f)
	for i := range 3 * maxCached {
		d.Intern(schemas.Facets{Kind: schemas.Kind(fmt.Sprint(i))})
		d.Allowed(schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: float64(i)}))
		d.Allowed(f)
	}
	if len(first) != 1 || !first[0] || len(d.cache.entries) > maxCached {
		t.Errorf("got %v, %d cached", first, len(d.cache.entries))
	}
}

func TestMasksSayWhatAllowedSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := NewDict()
		lists := rapid.SliceOfN(rapid.SliceOfN(filters(), 0, MaxFilters), 1, 2*maxMasked).Draw(t, "lists")
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			for _, f := range rapid.SliceOfN(facets(), 0, 6).Draw(t, "facets") {
				d.Intern(f)
			}
			for _, list := range lists {
				masks := d.Masks(list)
				want := make([]uint8, d.Len())
				for bit, f := range list {
					for n, ok := range d.Allowed(f) {
						if ok {
							want[n] |= 1 << bit
						}
					}
				}
				if !cmp.Equal(want, masks, cmpopts.EquateEmpty()) {
					t.Fatalf("masks %b, want %b", masks, want)
				}
			}
		}
		if len(d.cache.masks) > maxMasked {
			t.Fatalf("%d lists are kept", len(d.cache.masks))
		}
	})
}

func FuzzFacetsDecode(f *testing.F) {
	d := NewDict()
	d.Intern(schemas.Facets{Kind: "memory", Labels: []string{"level:public"}, Session: "s", Trust: 0.5})
	f.Add(d.AppendTo(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := DecodeDict(NewCursor(string(src)))
		if err != nil {
			return
		}
		for n := range d.Len() {
			if got := d.Intern(d.Facets(uint32(n))); int(got) != n {
				t.Fatalf("profile %d is interned as %d", n, got)
			}
		}
	})
}

func BenchmarkAllowed50kSessions(b *testing.B) {
	d := NewDict()
	for i := range 50_000 {
		d.Intern(schemas.Facets{Kind: "memory", Session: fmt.Sprint(i)})
	}
	i := 0
	for b.Loop() {
		i++
		d.Allowed(schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: float64(i)}))
	}
}

// BenchmarkMasks: as many principals take turns, each with six filters of its own that are
// asked alone and in six lists.
func BenchmarkMasks(b *testing.B) {
	d := NewDict()
	for i := range 100_000 {
		d.Intern(schemas.Facets{Kind: "memory", Session: fmt.Sprint(i)})
	}
	for _, principals := range []int{1, 8} {
		for _, together := range []int{1, 4} {
			b.Run(fmt.Sprintf("principals=%d/filters=%d", principals, together), func(b *testing.B) {
				turn := 0
				for b.Loop() {
					for i := range 6 {
						list := make([]schemas.Filter, together)
						for j := range list {
							list[j] = schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: float64(turn%principals*6 + (i+j)%6)})
						}
						d.Masks(list)
					}
					turn++
				}
			})
		}
	}
}
