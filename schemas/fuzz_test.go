package schemas_test

import (
	"bytes"
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

func FuzzLint(f *testing.F) {
	f.Add([]byte("{}\n\n" + `{"specversion":"1.0","id":"a","source":"s","type":"io.satchel.memory.erased.v1","data":{"scope":{"tenant":"t"},"items":["x"]}}`))
	f.Add([]byte(`{"specversion":"1.0","type":"io.satchel.memory.linked.v1","data_base64":"e30="}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		bad, count := 0, 0
		report, err := schemas.Lint(bytes.NewReader(data), func(line int, issues []schemas.Issue) {
			bad++
			count += len(issues)
			if line < 1 || len(issues) == 0 {
				t.Fatalf("line %d with %d issues", line, len(issues))
			}
		})
		if err != nil || report.Bad != bad || report.Issues != count || report.Lines != report.Valid+report.Bad {
			t.Fatalf("report %+v, error %v", report, err)
		}
	})
}

func FuzzValidateData(f *testing.F) {
	for i := range schemas.MemoryEventTypes() {
		f.Add(i, []byte(`{"scope":{"tenant":"t"},"from":"a","item":"b","by":"c","items":["x"],"links":[{"rel":"follows","to":"y"}]}`))
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		types := schemas.MemoryEventTypes()
		for _, issue := range schemas.ValidateData(types[uint(i)%uint(len(types))], data) {
			if issue.Message == "" || issue.Pointer != "" && issue.Pointer[0] != '/' {
				t.Fatalf("issue %+v", issue)
			}
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
