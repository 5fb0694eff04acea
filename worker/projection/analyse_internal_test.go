package projection

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/pii"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// An item that cannot be analysed within its bounds is indexed hidden whole, is counted, and those
// behind it are indexed.
func TestAnItemThatIsNotAnalysed(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 20_000 {
		rows = append(rows, fmt.Sprintf("mallard%d", i))
	}
	entry := func(at int64, content any, flags []string) eventlog.Entry {
		raw, err := json.Marshal(map[string]any{"id": fmt.Sprint("item", at), "kind": "memory", "type": "semantic", "scope": map[string]any{"tenant": "main"},
			"created_at": time.Unix(0, 0), "security_label": []string{"level:public"}, "content": content, "pii_flags": flags})
		if err != nil {
			t.Fatal(err)
		}
		return eventlog.Entry{Tenant: "main", Position: at, Type: schemas.TypeMemoryRecorded, Data: raw, RecordedAt: time.Unix(0, 0)}
	}
	entries := []eventlog.Entry{entry(1, map[string]any{"birds": rows, "pond": "lamp"}, []string{"$.content.birds[*]"}), entry(2, "walrus lamp", nil)}
	p, err := projectEntries(t.Context(), nil, rules{sanitizer: pii.Marks(nil)}, true, entries)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.unanalysed) != 1 || p.unanalysed[0] != 1 {
		t.Errorf("not analysed: %v, want the first", p.unanalysed)
	}
	if len(p.keyword) != 2 || p.keyword[0].Put.Text != "" || p.keyword[1].Put.Text != "walrus lamp" {
		t.Fatalf("indexed: %+v", p.keyword)
	}
	if !strings.Contains(fmt.Sprint(p.keyword[0].Put.Facets), schemas.LabelUnsettled) || len(p.graph[0].Put.Entities) > 0 || len(p.vector[0].Put.Chunks) > 0 {
		t.Errorf("something of the hidden item is indexed: %+v %+v", p.keyword[0].Put.Facets, p.graph[0].Put.Entities)
	}
}

// A text whose analysis fails hides its item whole.
func TestAnAnalysisThatFails(t *testing.T) {
	t.Parallel()
	p := projection{} // without a sanitizer the analysis of an item that needs one fails
	rec := schemas.Record{MemoryItem: schemas.MemoryItem{ID: "a", Content: schemas.TextContent("mallard"), Speaker: "Ada", SecurityLabel: []string{"level:public", "pii:email"}, PIIFlags: []string{"$.speaker"}}}
	rec.Facets = rec.MemoryItem.Facets()
	a, ok := p.analyseItem("main", &rec)
	if ok || a.text != "" || a.shown.Content.Text() != "" || a.shown.Speaker != "" {
		t.Errorf("ok %v: %+v", ok, a)
	}
}
