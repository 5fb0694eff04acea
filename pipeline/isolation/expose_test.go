package isolation_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"satchel/pipeline/candidate"
	"satchel/pipeline/isolation"
	"satchel/schemas"
)

// What leaves holds what is listed and nothing else of the record.
func TestExpose(t *testing.T) {
	t.Parallel()
	c := complete(candidate.Candidate{
		Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
			ID: "a", Kind: schemas.KindMemory, Content: schemas.TextContent("shown"), SecurityLabel: []string{"level:public", "group:x"},
			Attributes: json.RawMessage(`{"hidden":"HIDDEN1"}`), EmbeddingRef: "HIDDEN2", Summary: &schemas.Summary{Text: "HIDDEN3"},
			Scope: schemas.MemoryScope{Tenant: "HIDDEN4"}, Provenance: schemas.Provenance{Checksum: "HIDDEN5"},
		}, Position: 7},
		Channels: candidate.Channels{{Name: "keyword", Channel: schemas.Channel{Rank: 1, Z: 1}}, {Name: "vector", Channel: schemas.Channel{Rank: 2, Z: 2}}},
		Verdict:  schemas.Verdict{ID: "v", Allow: true},
		Detail:   "HIDDEN6",
	})
	x, err := isolation.Expose(&c, isolation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "HIDDEN") {
		t.Errorf("a field that is not listed left: %s", raw)
	}
	if x.Item.ContentRef != "log:7" || x.Item.Evidence.Retriever != "vector" || x.Result.Metadata.Source != "keyword+vector" {
		t.Errorf("exposed %+v", x.Item)
	}
	if x.Result.Score != nil {
		t.Error("a score left that nobody asked for")
	}
}

// Of an item that is masked its address does not leave.
func TestExposeMasked(t *testing.T) {
	t.Parallel()
	c := complete(candidate.Candidate{
		Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
			ID: "a", Kind: schemas.KindMemory, Content: schemas.TextContent("█"), Provenance: schemas.Provenance{SourceURI: "HIDDEN"},
		}, Position: 7},
		Verdict: schemas.Verdict{ID: "v", Allow: true, Redact: true, RedactedFields: []string{"/content"}},
	})
	x, err := isolation.Expose(&c, isolation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "HIDDEN") {
		t.Errorf("what is masked shows: %s", raw)
	}
}

func TestExposeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]candidate.Candidate{
		"no verdict": {Visible: &candidate.Visible{}},
		"dropped":    {Visible: &candidate.Visible{}, Drop: schemas.DropBudget, Verdict: schemas.Verdict{Allow: true}},
		"not judged": {Visible: &candidate.Visible{}, Verdict: schemas.Verdict{Allow: true}},
	} {
		if name != "not judged" {
			c = complete(c)
		}
		if _, err := isolation.Expose(&c, isolation.Options{}); !errors.Is(err, isolation.ErrClosed) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
