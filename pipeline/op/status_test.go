package op_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/op"
	"satchel/schemas"
)

// TestStatus: it says up to where each index has everything, of the tenant alone, and leaves no
// entry in the log.
func TestStatus(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	cfg := w.config()
	cfg.Prover = w.log
	e, err := op.New(cfg)
	must(t, err)
	w.put(t, "acme", memory("a", "level:internal", "Ida", "the kiln is fired"), memory("b", "level:internal", "Ida", "the wheel squeaks"))
	w.put(t, "other", memory("c", "level:internal", "Ida", "the lake house"))
	s := as(t, "acme", schemas.Internal)
	for range 2 {
		got, err := e.Status(t.Context(), s, schemas.StatusRequest{})
		must(t, err)
		want := schemas.StatusReply{Ready: true, Indexed: map[string]int64{"items": 2, "keyword": 2, "vector": 2, "graph": 2}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := e.Status(late, s, schemas.StatusRequest{}); err == nil && got.Ready {
		t.Errorf("without time for an answer: %+v", got)
	}
	if _, err := e.Status(t.Context(), s, schemas.StatusRequest{From: &schemas.Agent{}}); err == nil {
		t.Error("an agent without an id was accepted")
	}
}
