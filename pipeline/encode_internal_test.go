package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	fast "github.com/goccy/go-json"
	"pgregory.net/rapid"

	"satchel/schemas"
)

// hostile draws values of every type that a reply and its log entries hold, with strings
// that need escapes or are no UTF-8, nil and empty maps and slices, and floats of every size.
func hostile() rapid.MakeConfig {
	text := rapid.OneOf(
		rapid.StringOf(rapid.SampledFrom([]rune("\"\\<>&\u2028\u2029\b\f\n\r\t\x00\x1f\x7fa{}[]:,é\ufffd😀"))),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{`"result_sha256":""`, `{"pack":{}}`, "</script>", "\xed\xa0\x80"}),
	)
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 1), rapid.Map(rapid.Int32(), func(n int32) float64 { return float64(n) }),
		rapid.SampledFrom([]float64{1e-7, 1e-6, 9.99999e-7, 1e20, 1e21, 1 << 53, 5e-324}))
	zone := rapid.SampledFrom([]*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -3600)})
	at := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(-60e9, 250e9).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).In(zone.Draw(t, "zone"))
	})
	content := rapid.OneOf(rapid.Map(text, schemas.TextContent), rapid.Map(text, func(s string) schemas.Content {
		raw, err := json.Marshal(map[string]any{s: []string{s}, "pack": schemas.ContextPack{}})
		if err != nil {
			panic(err) // strings encode
		}
		return schemas.JSONContent(raw)
	}))
	parameters := rapid.SampledFrom([]map[string]any{nil, {}, {"<": "&", "a": []any{1.5, nil, true}}})
	return rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[string](): text.AsAny(), reflect.TypeFor[float64](): number.AsAny(),
		reflect.TypeFor[time.Time](): at.AsAny(), reflect.TypeFor[schemas.Content](): content.AsAny(),
		reflect.TypeFor[map[string]any](): parameters.AsAny(), reflect.TypeFor[any](): text.AsAny(),
	}}
}

// What is spliced together must be what encoding/json makes of the whole, even when content
// looks like an empty pack.
func TestPartsMakeTheWhole(t *testing.T) {
	t.Parallel()
	cfg := hostile()
	// They are drawn apart, each once: a whole result takes too long to draw.
	items, packs := rapid.MakeCustom[[]schemas.ResultItem](cfg), rapid.MakeCustom[schemas.ContextPack](cfg)
	drops, why := rapid.MakeCustom[schemas.DropReport](cfg), rapid.MakeCustom[schemas.Explainability](cfg)
	proofs, refs := rapid.MakeCustom[*schemas.PackProof](cfg), rapid.MakeCustom[*schemas.ArtifactRef](cfg)
	rest := rapid.MakeCustom[schemas.Meta](cfg)
	words := rapid.MakeCustom[[]string](cfg)
	rapid.Check(t, func(t *rapid.T) {
		res := schemas.ContextResult{Meta: rest.Draw(t, "meta"), Payload: schemas.ResultPayload{
			Results: items.Draw(t, "results"), TotalCount: rapid.Int().Draw(t, "total"), Sources: words.Draw(t, "sources"),
			QueryDurationMS: rapid.Float64().Draw(t, "took"), Explainability: why.Draw(t, "explainability"),
			PackID: rapid.String().Draw(t, "id"), Text: rapid.String().Draw(t, "text"),
			Pack: packs.Draw(t, "pack"), Drop: drops.Draw(t, "drop"),
		}}
		res.Payload.Pack.ResultSHA256 = ""
		want := marshal(t, &res)
		var p resultEncoder
		attachment, err := p.seal(&res, nil)
		if err != nil {
			t.Fatal(err)
		}
		if string(attachment.Bytes()) != string(want) {
			t.Errorf("attachment is\n%s\nwant\n%s", attachment.Bytes(), want)
		}
		sum := sha256.Sum256(want)
		if res.Payload.Pack.ResultSHA256 != hex.EncodeToString(sum[:]) {
			t.Error("result_sha256 is not that of the attachment")
		}
		if wantData := marshal(t, &res.Payload.Pack); string(p.pack) != string(wantData) {
			t.Errorf("pack is\n%s\nwant\n%s", p.pack, wantData)
		}
		logged := res.Payload.Pack.Logged()
		if wantData := marshal(t, &logged); string(p.logged) != string(wantData) {
			t.Errorf("data is\n%s\nwant\n%s", p.logged, wantData)
		}
		res.Payload.Positions = schemas.Positions{Pack: rapid.Int64().Draw(t, "position")}
		res.Payload.Proof, res.Payload.DataRef = proofs.Draw(t, "proof"), refs.Draw(t, "dataref")
		if reply, err := p.encode(&res); err != nil || string(reply) != string(marshal(t, &res)) {
			t.Errorf("reply is %v\n%s\nwant\n%s", err, reply, marshal(t, &res))
		}
	})
}

// A field that a payload gains must be in the encoding too.
func TestPartsHaveEveryField(t *testing.T) {
	t.Parallel()
	for from, want := range map[reflect.Type]int{reflect.TypeFor[schemas.ContextResult](): 2, reflect.TypeFor[schemas.ResultPayload](): 12} {
		if got := from.NumField(); got != want {
			t.Errorf("%s has %d fields, resultEncoder.encode writes %d", from, got, want)
		}
	}
}

// The decision of policy is encoded by the same library.
func TestDecisionIsEncodedAsEver(t *testing.T) {
	t.Parallel()
	decisions := rapid.MakeCustom[schemas.PolicyDecision](hostile())
	rapid.Check(t, func(t *rapid.T) {
		d := decisions.Draw(t, "decision")
		if got, err := fast.Marshal(&d); err != nil || string(got) != string(marshal(t, &d)) {
			t.Errorf("decision is %v\n%s\nwant\n%s", err, got, marshal(t, &d))
		}
	})
}

func marshal(t *rapid.T, v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
