package schemas_test

import (
	"encoding/json"
	"testing"

	"satchel/schemas"
)

func FuzzDecodeMemoryItem(f *testing.F) {
	f.Add([]byte(exampleItem))
	f.Add([]byte(`{"id":1,"links":[{"rel":null}],"attributes":{"a":{"a":[{}]}}}`))
	f.Add([]byte(`[{"\u0061":"\ud800"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, issues := schemas.DecodeMemoryItem(data)
		if len(issues) > 0 {
			return
		}
		raw, err := json.Marshal(&m)
		if err != nil {
			t.Fatalf("a valid item cannot be written: %v", err)
		}
		if _, issues := schemas.DecodeMemoryItem(raw); len(issues) > 0 {
			t.Fatalf("a written item is refused: %v\n%s", issues, raw)
		}
	})
}

func FuzzDecodeContextRequest(f *testing.F) {
	f.Add([]byte(exampleRequest))
	f.Add([]byte(`{"payload":{"query":{"filters":{"a":{"gte":1,"lt":"x"}}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, issues := schemas.DecodeContextRequest(data)
		if len(issues) > 0 {
			return
		}
		if _, err := json.Marshal(&r); err != nil {
			t.Fatalf("a valid request cannot be written: %v", err)
		}
	})
}

func BenchmarkDecodeMemoryItem(b *testing.B) {
	data := []byte(exampleItem)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, issues := schemas.DecodeMemoryItem(data); len(issues) > 0 {
			b.Fatal(issues)
		}
	}
}

func BenchmarkUnmarshalMemoryItem(b *testing.B) {
	data := []byte(exampleItem)
	for b.Loop() {
		var m schemas.MemoryItem
		if err := json.Unmarshal(data, &m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	m := item(b, nil)
	for b.Loop() {
		if len(m.Validate()) > 0 {
			b.Fatal("refused")
		}
	}
}
