package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"satchel/schemas"
)

func TestMarked(t *testing.T) {
	t.Parallel()
	whole := "Write to ana@example.com or bob@example.com. Bye."
	for text, want := range map[string]bool{
		whole:                               true,
		"Write to [email] or [email]. Bye.": true,
		"Write to [email] or bob@example.com. Bye.":                true,
		"Write to [email]. Bye.":                                   true,
		"Write to [email] or [email]. Bye":                         false,
		"rite to [email] or [email]. Bye.":                         false,
		"Write to [email] and [email]. Bye.":                       false,
		"Write to [email] or [email] or [email]. Bye.":             false,
		"Write to [email][email]":                                  true,
		"Write to ana@example.com":                                 false,
		"Write to ana@example.com or bob@example.com. Bye.[email]": false,
	} {
		if got := marked(whole, text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// A citation or a drop that is off by a byte counts as unresolved, or as not named.
func TestAccountFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"a": "The kiln is hot. Nothing else. The glaze is blue."}
	reply := func(change func(*schemas.ResultPayload)) *schemas.ResultPayload {
		p := &schemas.ResultPayload{Text: "[1] The kiln is hot. … The glaze is blue.\n",
			Results: []schemas.ResultItem{{ID: "a", Content: schemas.TextContent("The kiln is hot. … The glaze is blue.")}}}
		p.Pack.Sections = []schemas.ContextSection{{Items: []schemas.ContextItem{{ID: "a", Spans: []schemas.Span{{Start: 0, End: 16}, {Start: 31, End: 49}}}}}}
		p.Drop.Drops = []schemas.Drop{{ItemID: "a", Span: &schemas.Span{Start: 16, End: 31}}}
		p.Explainability.TLDR.Sentences = []schemas.TLDRSentence{{Text: "The glaze is blue.", Citations: []string{"a"}}}
		if change != nil {
			change(p)
		}
		return p
	}
	if a := account(reply(nil), texts); a.Cited != 4 || a.Resolved != 4 || a.Removed != 15 || a.Named != 15 {
		t.Errorf("what is right counts as %+v", a)
	}
	for name, change := range map[string]func(*schemas.ResultPayload){
		"shifted":  func(p *schemas.ResultPayload) { p.Pack.Sections[0].Items[0].Spans[1].Start -= 5 },
		"too long": func(p *schemas.ResultPayload) { p.Pack.Sections[0].Items[0].Spans[1].End++ },
		"invented": func(p *schemas.ResultPayload) { p.Explainability.TLDR.Sentences[0].Text = "The glaze is red." },
		"no item":  func(p *schemas.ResultPayload) { p.Explainability.TLDR.Sentences[0].Citations[0] = "b" },
		"no mark":  func(p *schemas.ResultPayload) { p.Text = "The kiln is hot." },
	} {
		if a := account(reply(change), texts); a.Resolved != 3 {
			t.Errorf("%s: %d of %d citations resolve", name, a.Resolved, a.Cited)
		}
	}
	for name, change := range map[string]func(*schemas.ResultPayload){
		"short":   func(p *schemas.ResultPayload) { p.Drop.Drops[0].Span.End-- },
		"twice":   func(p *schemas.ResultPayload) { p.Drop.Drops = append(p.Drop.Drops, p.Drop.Drops[0]) },
		"missing": func(p *schemas.ResultPayload) { p.Drop.Drops = nil },
	} {
		if a := account(reply(change), texts); a.Named >= a.Removed {
			t.Errorf("%s: %d of %d characters are named", name, a.Named, a.Removed)
		}
	}
}

// Items in which personal data is hidden are shorter than what was remembered; extracts
// of them are held against what recovery brings back.
func TestEvalHoldsRedactedExtracts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "letters")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	var memories, queries strings.Builder
	for i := range 8 {
		var text strings.Builder
		fmt.Fprintf(&text, "Write to ana.of.the.kilns.%d@example.com about letter %d. ", i, i)
		for n := range 30 {
			fmt.Fprintf(&text, "Point %d of letter %d was about the weather, the chairs and the coffee. ", n, i)
		}
		fmt.Fprintf(&text, "Lantern number %d hangs at gate %d.", i, i*7)
		line, err := json.Marshal(map[string]any{"tenant": "t", "id": fmt.Sprint("m", i), "session": "s", "speaker": "Bo", "text": text.String(), "ts": "2026-01-02T03:04:05Z"})
		if err != nil {
			t.Fatal(err)
		}
		memories.Write(append(line, '\n'))
		fmt.Fprintf(&queries, `{"tenant":"t","id":"q%d","text":"which gate does lantern number %d hang at?","relevant":["m%d"],"ts":"2026-01-03T03:04:05Z"}`+"\n", i, i, i)
	}
	for name, text := range map[string]string{"memories.jsonl": memories.String(), "queries.jsonl": queries.String()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := command(t, "", "eval", "--data", dir, "--set", "letters", "--budget", "500,1000", "--json", "--dir", t.TempDir())
	var reports []evalReport
	if err := json.Unmarshal([]byte(r.out), &reports); r.code != 0 || err != nil || len(reports) != 1 {
		t.Fatalf("exit code %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
	lines := reports[0].Lines
	a := lines[len(lines)-1].Account
	if a.Resolved != a.Cited || a.Named != a.Removed {
		t.Errorf("%d of %d citations, %d of %d characters", a.Resolved, a.Cited, a.Named, a.Removed)
	}
	if a.Cited < 100 || a.Removed == 0 {
		t.Errorf("the test shows nothing: %+v", a)
	}
	r = command(t, "", "eval", "--data", dir, "--all", "--account", "--budget", "500,1000", "--dir", t.TempDir())
	if r.code != 0 || !strings.Contains(r.out, "drops named") {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	fields := strings.Fields(r.out[strings.LastIndex(r.out, " all "):])
	if want := []string{"all", "16", "0", "0"}; !slices.Equal(fields[:4], want) || fields[7] != "100%" || fields[10] != "100%" {
		t.Errorf("all packs: %v", fields)
	}
}
