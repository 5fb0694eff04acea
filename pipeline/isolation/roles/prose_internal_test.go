package roles

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

// TestPieces: what is quoted of a document, code and a commit stands together, below its heading.
func TestPieces(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		kind schemas.Kind
		text string
		want [][2]string // heading, text
	}{
		"commit":         {schemas.KindCommit, "Fire at night\n\nThe kiln is fired at\nnight because wood is\ncheaper.", [][2]string{{"Fire at night", "The kiln is fired at\nnight because wood is\ncheaper."}}},
		"title alone":    {schemas.KindCommit, "Fire at night", [][2]string{{"", "Fire at night"}}},
		"title, cut":     {schemas.KindCommit, "Fire at night\n…\nIt fixes #12.", [][2]string{{"Fire at night", "It fixes #12."}}},
		"sections":       {schemas.KindKnowledge, "# Kilns\n\n## Night\n\nWood is cheaper.\n\n## Day\nIt is not cheaper.", [][2]string{{"## Night", "Wood is cheaper."}, {"## Day", "It is not cheaper."}}},
		"colon":          {schemas.KindKnowledge, "Kilns › Start\n\nStart it with:\n\n    kiln fire --night\n\n" + long, [][2]string{{"Kilns › Start", "Start it with:\n\n    kiln fire --night"}, {"Kilns › Start", long}}},
		"sentence":       {schemas.KindKnowledge, "Wood is cheap.\nIt burns at night.", [][2]string{{"", "Wood is cheap.\nIt burns at night."}}},
		"code":           {schemas.KindCode, "// Max is how many kilns\n// may burn.\nconst Max = 3", [][2]string{{"", "// Max is how many kilns\n// may burn.\nconst Max = 3"}}},
		"code, cut":      {schemas.KindCode, "func Fire() {\n…\n\treturn nil // all burn\n}", [][2]string{{"", "func Fire() {"}, {"", "\treturn nil // all burn\n}"}}},
		"nothing to say": {schemas.KindCode, "}\n\n)", nil},
	} {
		var got [][2]string
		for _, p := range pieces(x.kind, x.text) {
			heading := ""
			if p.title != nil {
				heading = x.text[p.title.Start:p.title.End]
			}
			got = append(got, [2]string{heading, x.text[p.span.Start:p.span.End]})
		}
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

const long = "It is a paragraph that stands by itself, since together with the one before it would be longer than what is quoted at once, which is some hundred tokens: " +
	"wood, coal and gas are bought in spring, when they are cheap, and stored in the shed behind the house, where it is dry, and from where they are carried to the kiln by whoever has the shift, " +
	"who also writes down how much was burnt, how long the kiln was hot, and what was in it when it was opened again in the morning."

// TestPlaceOf: a citation has the line of what is quoted.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	code := &schemas.Record{MemoryItem: schemas.MemoryItem{Content: schemas.TextContent("func Fire() {\n\tlight()\n\treturn\n}"), Provenance: schemas.Provenance{SourceURI: "file:kilns/fire.go:40"}}}
	commit := &schemas.Record{MemoryItem: schemas.MemoryItem{Content: schemas.TextContent("Fire\n\nat night"), Provenance: schemas.Provenance{SourceURI: "git:kilns@0123"}}}
	for _, x := range []struct {
		record             *schemas.Record
		place, piece, want string
	}{
		{code, "fire.go:40", "\tlight()\n\treturn", "fire.go:41"},
		{code, "fire.go:40", "Fire lights a kiln,\nas it should.\nfunc Fire() {\n\tlight()\n\treturn\n}", "fire.go:38"},
		{code, "", "\tlight()", ""},
		{commit, "commit 0123 2026-03-03 Ines", "at night", "commit 0123 2026-03-03 Ines"},
	} {
		if got := placeOf(x.record, x.place, x.piece); got != x.want {
			t.Errorf("%q stands at %q, want %q", x.piece, got, x.want)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		question, text string
		want           float64
	}{
		{"What is maxFires?", "maxFires       = 10_000", 4}, {"What is MAX_FIRES?", "#: at most\n    MAX_FIRES: int = 3", 4},
		{"What is maxFires?", "if n > maxFires {", 1}, {"What is maxFires?", "return maxFires == 3", 1}, {"What is that?", "maxFires = 3", 0},
		{"Who runs Kubernetes?", "Kubernetes is run by Ines.", 1}, {"Kubernetes?", "Kubernetes is run by Ines.", 0},
	} {
		if got := named(x.text, pointers(x.question)); got != x.want {
			t.Errorf("%s: %q: %v, want %v", x.question, x.text, got, x.want)
		}
	}
}
