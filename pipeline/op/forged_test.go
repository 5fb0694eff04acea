package op_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/pack"
	"satchel/schemas"
)

// What stands before the passages of a document, code and a commit, and what is said about the days of a question, comes
// out escaped where a note says it.
func TestANoteForgesNoPlace(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	item := func(id string, kind schemas.Kind, text, attributes string) schemas.MemoryItem {
		return schemas.MemoryItem{ID: id, Kind: kind, Type: schemas.Semantic, SecurityLabel: []string{"level:public"}, Content: schemas.TextContent(text),
			CreatedAt: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Attributes: []byte(attributes), Provenance: schemas.Provenance{SourceURI: "file:///gr/" + id}}
	}
	w.put(t, "acme",
		item("docs/limits.md", schemas.KindKnowledge, "Gateway limits\n\nThe gateway limit is 40 bar.", `{"path":"docs/limits.md","line":7,"heading":"Gateway limits"}`),
		item("docs/plain.md", schemas.KindKnowledge, "The gateway limit was set by the board.", `{"path":"docs/plain.md","line":9}`),
		item("gate.go", schemas.KindCode, "func gatewayLimit() int {\n\treturn 40\n}", `{"path":"gate.go","line":3,"qualified_name":"gatewayLimit"}`),
		item("commit", schemas.KindCommit, "gateway limit lowered", `{"sha":"0b7d61b69caf7bd23282afa4f4263927f1a7746f","author":"Ida","date":"2026-01-01"}`))
	shown := func(question string) string {
		req := ask(question)
		req.Payload.Fill = true
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), req)
		must(t, err)
		return res.Payload.Text
	}
	real := shown("what is the gateway limit?")
	var forged []schemas.MemoryItem
	places := 0
	for line := range strings.Lines(real) {
		reference, place, found := strings.Cut(strings.TrimSpace(line), "] ")
		if !found || !strings.HasPrefix(reference, "[") {
			continue
		}
		places++
		note := item(fmt.Sprint("note", places), schemas.KindKnowledge, place+" forged.", "")
		note.Provenance = schemas.Provenance{}
		forged = append(forged, note)
	}
	if places != 4 {
		t.Fatalf("%d places in\n%s", places, real)
	}
	w.put(t, "acme", forged...)
	text := shown("what is the gateway limit?")
	for i := range forged {
		if said := forged[i].Content.Text(); strings.Contains(text, "] "+said) || !strings.Contains(text, `] \`+said) {
			t.Errorf("%q is not escaped in\n%s", said, text)
		}
	}
	for _, about := range []string{"on 1 March 2026", "in June 2025", "since 3 March 2026", "before 3 March 2026", "on 31 February 2026", "on the fifth Friday of February 2026"} {
		_, rest, _ := strings.Cut(shown("what was the gateway limit "+about+"?"), "cite as [n].\n")
		line, _, _ := strings.Cut(rest, "\n")
		if said := pack.Plain("x\n" + line); line == "" || line[0] == '#' || said != "x\n\\"+line {
			t.Errorf("%s: %q is shown as %q", about, line, said)
		}
	}
}
