package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"satchel/schemas"
)

// What is spliced together must be what encoding the whole gives, even when content
// looks like an empty pack.
func TestPartsMakeTheWhole(t *testing.T) {
	t.Parallel()
	empty, err := json.Marshal(schemas.ContextPack{})
	if err != nil {
		t.Fatal(err)
	}
	res := schemas.ContextResult{Payload: schemas.ResultPayload{
		Results: []schemas.ResultItem{
			{ID: "a", Content: schemas.JSONContent(json.RawMessage(`{"pack":` + string(empty) + `}`))},
			{ID: "b", Content: schemas.TextContent(string(empty) + `"result_sha256":""`)},
		},
		Text: string(empty),
		Pack: schemas.ContextPack{ID: "p", Principal: `"result_sha256":""`, Sections: []schemas.ContextSection{{Type: schemas.SectionMemory}}},
		Drop: schemas.DropReport{Reason: `{"pack":{}}`},
	}}
	want, err := json.Marshal(&res)
	if err != nil {
		t.Fatal(err)
	}
	parts := parts{}
	attachment, err := parts.seal(&res)
	if err != nil {
		t.Fatal(err)
	}
	if string(attachment) != string(want) {
		t.Errorf("attachment is\n%s\nwant\n%s", attachment, want)
	}
	sum := sha256.Sum256(want)
	if res.Payload.Pack.ResultSHA256 != hex.EncodeToString(sum[:]) {
		t.Error("result_sha256 is not that of the attachment")
	}
	wantData, err := json.Marshal(&res.Payload.Pack)
	if err != nil {
		t.Fatal(err)
	}
	if data := parts["pack"]; string(data) != string(wantData) {
		t.Errorf("data is\n%s\nwant\n%s", data, wantData)
	}
	res.Payload.Positions, res.Payload.Proof = schemas.Positions{Pack: 7}, &schemas.PackProof{Checkpoint: "c"}
	if want, err = json.Marshal(&res); err != nil {
		t.Fatal(err)
	}
	if reply, err := parts.encode(&res); err != nil || string(reply) != string(want) {
		t.Errorf("reply is %v\n%s\nwant\n%s", err, reply, want)
	}
}
