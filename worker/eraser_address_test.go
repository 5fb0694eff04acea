package worker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

// Of an item that was shown and forgotten neither log nor ledger keeps labels, places of
// personal data, or where it was from; the pack that left had them.
func TestForgottenAddressesAreNowhere(t *testing.T) {
	t.Parallel()
	w := setup(t)
	canaries := []string{"urn:canary-address", "canary-label", "canaryfield"}
	w.put(t, recorded(t, "a", "the lake house has a red door", func(d map[string]any) {
		d["security_label"] = []string{"level:internal", "team:canary-label"}
		d["provenance"] = map[string]any{"source_uri": "urn:canary-address"}
		d["content"], d["pii_flags"] = map[string]any{"lake": "house", "canaryfield": "Ann"}, []string{"$.content.canaryfield"}
	}), "indexed")
	out, err := w.worker.Service.Request(within(t), "acme", request(t, "reader", "internal", "the lake house", func(r *schemas.ContextRequest) {
		r.Meta.From.Roles = []string{"pii_reader"}
	}))
	must(t, err)
	p := payloadOf(t, out)
	if len(p.Results) != 1 {
		t.Fatalf("%d results", len(p.Results))
	}
	var item schemas.ContextItem
	for _, section := range p.Pack.Sections {
		for _, item = range section.Items {
		}
	}
	if item.SecurityLabel != "level:internal,team:canary-label" || p.Pack.ProvenanceRefs[0].Source != "urn:canary-address" {
		t.Errorf("the pack that leaves has labels %q and is from %q", item.SecurityLabel, p.Pack.ProvenanceRefs[0].Source)
	}
	logged := func() (pack schemas.ContextPack) {
		entry, err := w.log.Entry(within(t), system(t, "acme"), p.Positions.Pack)
		must(t, err)
		for _, canary := range canaries {
			if strings.Contains(string(entry.Data), canary) {
				t.Errorf("the log's entry of the pack holds %s", canary)
			}
		}
		must(t, json.Unmarshal(entry.Data, &pack))
		return pack
	}
	before := logged()
	if len(before.ProvenanceRefs) != 1 || before.ProvenanceRefs[0].Position != 1 || len(before.ProvenanceRefs[0].Leaf) != 64 || before.ResultSHA256 != p.Pack.ResultSHA256 {
		t.Errorf("the log has %+v", before)
	}
	w.publish(t, "acme", forgetting(t, "f", "a"))
	w.receipt(t, "acme", "f")
	if diff := cmp.Diff(before, logged()); diff != "" {
		t.Errorf("the entry has changed: %s", diff)
	}
	for _, canary := range canaries {
		poll(t, canary+" is nowhere", func() bool { return len(w.onDisk(t, canary)) == 0 })
	}
	must(t, w.log.Verify(within(t), system(t, "acme"), nil, nil))
}
