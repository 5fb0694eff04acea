package op_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"satchel/schemas"
)

// A speaker that is personal data is masked wherever an item is shown.
func TestASpeakerIsMaskedInEveryOperation(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := minutes()
	for i := range list {
		list[i].Speaker = fmt.Sprintf("bob%d@example.com", i)
		list[i].SecurityLabel = append(list[i].SecurityLabel, "detected:email")
	}
	w.put(t, "acme", list...)
	ctx, s := context.Background(), as(t, "acme", schemas.Internal)
	const about = "which gate does lantern number 9 hang at?"
	packed, err := w.engine.Context(ctx, s, compactAsk("auto", 600))
	must(t, err)
	operations := map[string]func() (any, error){
		"search":   func() (any, error) { return w.engine.Search(ctx, s, schemas.SearchRequest{Query: about}) },
		"assemble": func() (any, error) { return w.engine.Assemble(ctx, s, schemas.AssembleRequest{Query: about}) },
		"build": func() (any, error) {
			return w.engine.Build(ctx, s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: about}})
		},
		"compact": func() (any, error) {
			return w.engine.Compact(ctx, s, schemas.CompactRequest{PackID: "p", Query: about, Budget: 400}, &packed)
		},
		"context": func() (any, error) {
			req := ask(about)
			req.Payload.IncludeScores = true
			return w.engine.Context(ctx, s, req)
		},
	}
	operations["compacted"] = func() (any, error) { return packed, nil }
	for name, operation := range operations {
		out, err := operation()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		raw, err := json.Marshal(out)
		must(t, err)
		if bytes.Contains(raw, []byte("@example.com")) || !bytes.Contains(raw, []byte("lantern")) {
			t.Errorf("%s: %.400s", name, raw)
		}
	}
}
