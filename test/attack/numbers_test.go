package attack

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// A number that a 64-bit float does not hold stops readers in other languages. It is refused at every door that takes
// one, with a word on the field, wherever it stands. One that is rounded is taken.
func TestNumbersThatNobodyHoldsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	url, tokens := w.gateway(t)
	dir := t.TempDir()
	places := map[string]string{ // the item's fields, and the pointer
		`"content":{"n":[0,{"deep":NUMBER}]}`:                              "/content/n/1/deep",
		`"content":"plain","attributes":{"n":NUMBER}`:                      "/attributes/n",
		`"kind":"tool","content":"plain","attributes":{"more":[[NUMBER]]}`: "/attributes/more/0/0",
		`"content":"plain","confidence":NUMBER`:                            "/confidence",
	}
	const wanted = "out of the range of a 64-bit float"
	n := 0
	for number, taken := range map[string]bool{strings.Repeat("7", 4400): false, "-" + strings.Repeat("7", 4400): false, "1e999": false, "-1.5E400": false,
		strings.Repeat("7", 300): true, "1e-999": true, "0." + strings.Repeat("3", 4400): true} {
		for _, place := range slices.Sorted(maps.Keys(places)) {
			if taken && strings.Contains(place, "confidence") {
				continue // it has bounds of its own
			}
			n++
			fields := strings.ReplaceAll(place, "NUMBER", number)
			item := `{"id":"n","type":"episodic","scope":{"tenant":"main"},"created_at":"2026-03-03T10:00:00Z","security_label":["level:internal"],` + fields + `}`
			if !strings.Contains(fields, `"kind"`) {
				item = strings.Replace(item, `"type"`, `"kind":"memory","type"`, 1)
			}
			event := put("writer", "recorded", nil, n)
			event["event"].(map[string]any)["data"] = json.RawMessage(item)
			file := filepath.Join(dir, "one.jsonl")
			must(t, os.WriteFile(file, []byte(item+"\n"), 0o600))
			doors := map[string]string{
				"put":  ask(w.conns["main/writer"], "mem.v1.main.put", event),
				"HTTP": send(t, "POST", url+"/v1/memories", tokens["writer"], []byte(strings.Replace(item, `"id":"n",`, "", 1))),
			}
			if number == "1e999" {
				doors["import"], _ = w.Run(t, "import", file)
				doors["emit"], _ = w.Run(t, "emit", "--item", item)
			}
			for door, said := range doors {
				if refused := strings.Contains(said, wanted) && strings.Contains(said, places[place]); refused == taken {
					t.Errorf("%s of %.40s… at %s: refused %t: %.300s", door, number, places[place], refused, said)
				}
			}
			if taken || number != "1e999" {
				continue
			}
			raw, err := json.Marshal(event["event"])
			must(t, err)
			must(t, w.conns["main/writer"].PublishMsg(&nats.Msg{Subject: "mem.v1.main.evt.writer", Data: raw, Header: nats.Header{"Content-Type": {"application/cloudevents+json"}}}))
		}
	}
	w.settle(t, "main", 1000)
	if letters, _ := w.Run(t, "dlq", "ls"); strings.Count(letters, wanted) != len(places) {
		t.Errorf("what was published is no dead letter of its own each: %s", letters)
	}
}
