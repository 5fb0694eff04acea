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
		{object, "$.content.zzz", `"[redacted]"`},
		{object, "$.content.A.b", `"[redacted]"`},
		{object, "$.content.a.c[2]", `"[redacted]"`},
		{object, "$.content.a.c[*].e", `"[redacted]"`},
		{object, "$.content.e.f", object}, // a null holds nothing
		{`{"a.b":1}`, "$.content.a.b", `"[redacted]"`},
		{`{"a.b":1}`, "$.content['a.b']", `{"a.b":"[redacted]"}`},
		{"{\"pe\u0301n\":1}", "$.content.p\u00e9n", `"[redacted]"`},
		{`{"a":[]}`, "$.content.a[*].b", `{"a":[]}`},
		{`[{"n":1,"pin":2},{"n":3}]`, "$.content[*].pin", `[{"n":1,"pin":"[redacted]"},{"n":3}]`},
		{`[{"pin":2},{"Pin":3}]`, "$.content[*].pin", `"[redacted]"`},
		{`[{"a":{"b":2}},{"a.b":3}]`, "$.content.a.b", `"[redacted]"`},
		{`{"x":{"pin":2},"y":{"ｐｉｎ":3}}`, "$.content.*.pin", `"[redacted]"`},
		{object, "$.content", `"[redacted]"`},
		{object, "content.a", `"[redacted]"`},
		{object, "$.unheard.of", `"[redacted]"`},
		{object, "$.content.a.b.deeper", `{"a":{"b":"[redacted]","c":[{"d":1},{"d":2}]},"e":null}`},
		{object, "$.speaker", object},
		{object, "$.id", `"[redacted]"`},
		{object, "$", `"[redacted]"`},
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

func TestMissedFlag(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		content string
		paths   []string
		want    int
	}{
		{`{"pin":1}`, []string{"$.content.pin"}, -1},
		{`{"Pin":1}`, []string{"$.content", "$.content.pin"}, 1},
		{`{"a.b":1}`, []string{"$.content.a.b"}, 0},
		{"{\"pe\u0301n\":1}", []string{"$.content.p\u00e9n"}, 0},
		{`{"diagnosis":1,"pin":2}`, []string{"$.content.pin", "$.content.diagnose"}, 1},
		{`{"list":[1]}`, []string{"$.content.list[1]"}, 0},
		{`{"pin":1}`, []string{"$.content.pin", "$.content.pin"}, -1},
		{`{"pin":null,"list":[]}`, []string{"$.content.pin.code", "$.content.list[*].pin"}, -1},
		{`{"pin":1}`, []string{"pin", "$.speaker", "$.attributes.x"}, -1},
		{`"a text"`, []string{"$.content", "$.content.pin"}, 1},
	} {
		var c schemas.Content
		if err := json.Unmarshal([]byte(tc.content), &c); err != nil {
			t.Fatal(err)
		}
		if got := pii.MissedFlag(c, tc.paths); got != tc.want {
			t.Errorf("of %q in %s number %d misses, want %d", tc.paths, tc.content, got, tc.want)
		}
		if after, err := json.Marshal(c); err != nil || string(after) != tc.content {
			t.Errorf("the content %s became %s: %v", tc.content, after, err)
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
