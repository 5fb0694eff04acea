package pii_test

import (
	"encoding/json"
	"testing"

	"satchel/pipeline/pii"
	"satchel/schemas"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	object := `{"a":{"b":"x","c":[{"d":1},{"d":2}]},"e":null}`
	for _, tc := range []struct{ content, path, want string }{
		{object, "$.content.a.b", `{"a":{"b":"[redacted]","c":[{"d":1},{"d":2}]},"e":null}`},
		{object, "$.content['a']['b']", `{"a":{"b":"[redacted]","c":[{"d":1},{"d":2}]},"e":null}`},
		{object, "$.content.a.c[1]", `{"a":{"b":"x","c":[{"d":1},"[redacted]"]},"e":null}`},
		{object, "$.content.a.c[*].d", `{"a":{"b":"x","c":[{"d":"[redacted]"},{"d":"[redacted]"}]},"e":null}`},
		{object, "$.content.a.c.d", `{"a":{"b":"x","c":[{"d":"[redacted]"},{"d":"[redacted]"}]},"e":null}`},
		{object, "$.content.*", `{"a":"[redacted]","e":"[redacted]"}`},
		{object, "$.content.zzz", object},
		{object, "$.content", `"[redacted]"`},
		{object, "content.a", `"[redacted]"`},
		{object, "$.unheard.of", `"[redacted]"`},
		{object, "$.content.a.b.deeper", `{"a":{"b":"[redacted]","c":[{"d":1},{"d":2}]},"e":null}`},
		{object, "$.speaker", object},
		{`[1,[2,3]]`, "$.content[1][0]", `[1,["[redacted]",3]]`},
		{`"some text"`, "$.content.personal", `"[redacted]"`},
		{`"some text"`, "$.attributes.x", `"some text"`},
	} {
		var c schemas.Content
		if err := json.Unmarshal([]byte(tc.content), &c); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(pii.Redact(c, []string{tc.path}, pii.Mark))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != tc.want {
			t.Errorf("%s without %s is %s, want %s", tc.content, tc.path, got, tc.want)
		}
	}
}

// Whatever the path, the result is valid content, and a named leaf is gone.
func FuzzRedact(f *testing.F) {
	f.Add(`{"a":{"b":"SECRET"}}`, "$.content.a.b")
	f.Add(`["SECRET"]`, "$.content[0]")
	f.Add(`"SECRET"`, "$.content['x'].y[*]")
	f.Fuzz(func(t *testing.T, raw, path string) {
		var c schemas.Content
		if json.Unmarshal([]byte(raw), &c) != nil {
			t.Skip()
		}
		out, err := json.Marshal(pii.Redact(c, []string{path, "$.content"}, pii.Mark))
		if err != nil || string(out) != `"[redacted]"` {
			t.Fatalf("after $.content %s is left: %v", out, err)
		}
		once := pii.Redact(c, []string{path}, pii.Mark)
		out, err = json.Marshal(once)
		if err != nil || !json.Valid(out) {
			t.Fatalf("redacted content %s is not JSON: %v", out, err)
		}
		twice, err := json.Marshal(pii.Redact(once, []string{path}, pii.Mark))
		if err != nil || string(out) != string(twice) && string(twice) != `"[redacted]"` {
			t.Fatalf("redacting twice gives %s, then %s", out, twice)
		}
	})
}
