package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"

	"satchel/pipeline/language"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/internal/columns"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

func index(t testing.TB, s *keywordState, position int64, id, text string) {
	t.Helper()
	var a language.Analyzer
	a.Analyze(text)
	if err := s.putDocument(id, position, schemas.Facets{Session: id}, &a); err != nil {
		t.Fatal(err)
	}
}

func TestCompactionBoundsWhatIsGone(t *testing.T) {
	t.Parallel()
	x, err := OpenKeyword(KeywordConfig{})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := scope.System("acme")
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(9000) {
		d := &keyword.Doc{ID: fmt.Sprint(i % 500), Position: i + 1, Text: fmt.Sprintf("turn number%d of the same talk", i)}
		if err := x.Apply(t.Context(), tenant, []keyword.Change{{Position: i + 1, Put: d}}, i+1); err != nil {
			t.Fatal(err)
		}
	}
	err = x.viewTenant(t.Context(), tenant, func(s *keywordState, _ *scratch) error {
		if n := len(s.refs); n > 500+1100 || s.Docs != 500 {
			t.Errorf("%d numbers for %d documents", n, s.Docs)
		}
		if n := s.terms.countTerms(); n > 2*1700 {
			t.Errorf("%d terms are kept", n)
		}
		if at := s.Checkpoint; at != 9000 {
			t.Errorf("checkpoint %d", at)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func encoded(t testing.TB, s *keywordState) []byte {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := encodeState(w, "acme", s); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever decode takes can be searched, digested and written again.
func FuzzKeywordDecode(f *testing.F) {
	s := newKeywordState()
	f.Add(encoded(f, s))
	index(f, s, 1, "a", "copper wire copper")
	index(f, s, 2, "b", "tin")
	f.Add(encoded(f, s))
	s.removeDocument("a")
	s.Checkpoint = 7
	f.Add(encoded(f, s))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := decodeState(raw, "acme")
		if err != nil {
			return
		}
		want, err := s.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeState(encoded(t, s), "acme")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := again.Digest(t.Context()); err != nil || got != want {
			t.Fatalf("the digest changed, %v", err)
		}
		var cfg KeywordConfig
		cfg.fillKeywordDefaults()
		sc := &scratch{seen: map[uint32]int{}}
		p := s.preparePlan(&cfg, &keyword.Query{Text: "copper tin", Population: schemas.MatchAll()}, []schemas.Filter{schemas.MatchAll()}, sc)
		if _, err := s.searchBlocks(t.Context(), &p, 1, 5, sc); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOtherAnalysisVersionIsNotTaken(t *testing.T) {
	t.Parallel()
	raw := encoded(t, newKeywordState())
	at := len(columns.AppendString([]byte(keywordMagic), "acme"))
	raw[at] = keyword.Version + 1
	if _, err := decodeState(raw, "acme"); err != errVersion {
		t.Errorf("got %v", err)
	}
}
