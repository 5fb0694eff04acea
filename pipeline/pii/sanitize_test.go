package pii_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/pii"
	"satchel/schemas"
)

func newSanitizer(t testing.TB, seed byte) *pii.Sanitizer {
	t.Helper()
	names, err := pii.NewPseudonyms(bytes.Repeat([]byte{seed}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return pii.NewSanitizer(newDetector(t, pii.Config{}), names, nil)
}

func record(content string) *schemas.Record {
	r := &schemas.Record{Tokens: 99}
	r.ID, r.Speaker = "m1", "Jonas Weber"
	if err := json.Unmarshal([]byte(content), &r.Content); err != nil {
		r.Content = schemas.TextContent(content)
	}
	return r
}

func TestApply(t *testing.T) {
	t.Parallel()
	z := newSanitizer(t, 1)
	redact := schemas.Obligations{PII: schemas.PIIRedact}
	for _, tc := range []struct {
		name, content string
		paths         []string
		o             schemas.Obligations
		want          string
	}{
		{"nothing demanded", "a@b.de", nil, schemas.Obligations{}, "a@b.de"},
		{"marks", "mail a@b.de, card 4111 1111 1111 1111", nil, redact, "mail [email], card [card]"},
		{"one type", "mail a@b.de, card 4111 1111 1111 1111", nil, schemas.Obligations{PII: "redact", Types: []string{"card"}}, "mail a@b.de, card [card]"},
		{"JSON", `{"to":["a@b.de",{"n":4111111111111111}],"k":"v"}`, nil, redact, `{"k":"v","to":["[email]",{"n":"[card]"}]}`},
		{"an escape hides nothing", `{"to":"a\u0040b.de"}`, nil, redact, `{"to":"[email]"}`},
		{"the name of a member says what it is", `{"db_password":"hunter2!x"}`, nil, redact, `{"db_password":"[secret]"}`},
		{"a list under such a name", `{"pins":["4834"],"passwords":["hunter2!x"]}`, nil, redact, `{"passwords":["[secret]"],"pins":["[secret]"]}`},
		{"a list under a name of another language", `{"kennwort":["hunter2!x"]}`, nil, redact, `{"kennwort":["[secret]"]}`},
		{"an object under such a name", `{"password":{"value":"hunter2!x"}}`, nil, redact, `{"password":{"value":"[secret]"}}`},
		{"a name of two words", `{"cardPin":"4835"}`, nil, redact, `{"cardPin":"[secret]"}`},
		{"a member's name", `{"a@b.de":1,"c@d.de":2}`, nil, redact, `{"[email]":1,"[email] 2":2}`},
		{"path", `{"a":"x","b":"y"}`, []string{"$.content.a"}, schemas.Obligations{}, `{"a":"[redacted]","b":"y"}`},
		{"the flagged speaker in the text", "Jonas Weber said: ask Jonas, not Jonasson", []string{"$.speaker"}, schemas.Obligations{}, "[person] said: ask [person], not Jonasson"},
		{"the flagged speaker by a quoted name", "Jonas came", []string{"$['speaker']"}, schemas.Obligations{}, "[person] came"},
		{"a flag that meets nothing", `{"Pin":"4821"}`, []string{"$.content.pin"}, schemas.Obligations{}, "[redacted]"},
		{"extract", strings.Repeat("One sentence. ", 50), nil, schemas.Obligations{Summarise: 10}, "One sentence. One sentence. […]"},
	} {
		r := record(tc.content)
		if !z.Apply("acme", r, tc.paths, tc.o) {
			t.Errorf("%s: not met", tc.name)
		}
		if got := r.Content.Text(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if r.Content.Text() != tc.content && r.Tokens != 0 {
			t.Errorf("%s: the count of the old text is kept", tc.name)
		}
	}
}

// What is not understood is not met.
func TestApplyFailsClosed(t *testing.T) {
	t.Parallel()
	z := newSanitizer(t, 1)
	keyless := pii.NewSanitizer(newDetector(t, pii.Config{}), pii.Pseudonyms{}, nil)
	for name, met := range map[string]bool{
		"unknown manner": z.Apply("acme", record("x"), nil, schemas.Obligations{PII: "blur"}),
		"unknown type":   z.Apply("acme", record("x"), nil, schemas.Obligations{PII: "redact", Types: []string{"colour"}}),
		"negative":       z.Apply("acme", record("x"), nil, schemas.Obligations{Summarise: -1}),
		"no key":         keyless.Apply("acme", record("x"), nil, schemas.Obligations{PII: "pseudonymise"}),
	} {
		if met {
			t.Errorf("%s is met", name)
		}
	}
	if _, err := pii.NewPseudonyms(make([]byte, 31)); err == nil {
		t.Error("a short key is taken")
	}
}

func TestPseudonyms(t *testing.T) {
	t.Parallel()
	shown := func(z *pii.Sanitizer, tenant, content string) string {
		r := record(content)
		if !z.Apply(tenant, r, nil, schemas.Obligations{PII: schemas.PIIPseudonymise}) {
			t.Fatal("not met")
		}
		return r.Content.Text()
	}
	z := newSanitizer(t, 1)
	one := shown(z, "acme", "mail Ada@Example.org")
	for name, other := range map[string]struct {
		text string
		same bool
	}{
		"another spelling": {shown(z, "acme", "mail ada@example.org"), true},
		"another person":   {shown(z, "acme", "mail bob@example.org"), false},
		"another tenant":   {shown(z, "other", "mail ada@example.org"), false},
		"another key":      {shown(newSanitizer(t, 2), "acme", "mail ada@example.org"), false},
	} {
		if (one == other.text) != other.same {
			t.Errorf("%s: %s and %s", name, one, other.text)
		}
	}
	if a, b := shown(z, "acme", "card 4111-1111-1111-1111"), shown(z, "acme", "card 4111111111111111"); a != b {
		t.Errorf("%s is not %s", a, b)
	}
	for _, set := range []string{"card 4111\u00a01111\u200b\u202f1111 １１１１", "card 4111 1111\n1111 1111"} {
		if a, b := shown(z, "acme", set), shown(z, "acme", "card 4111111111111111"); a != b {
			t.Errorf("%q: %s is not %s", set, a, b)
		}
	}
	for _, set := range []string{"mail ada%40example.org", "mail ada&#64;example.org", "mail ada＠exam\u200bple.org"} {
		if got := shown(z, "acme", set); got != one {
			t.Errorf("%q: %s is not %s", set, got, one)
		}
	}
	if strings.Contains(strings.ToLower(one), "ada") {
		t.Errorf("%s gives the name away", one)
	}
}

func TestItem(t *testing.T) {
	t.Parallel()
	m := schemas.MemoryItem{Content: schemas.TextContent("call me at 030 1234567"), Summary: &schemas.Summary{Text: "a@b.de"},
		Attributes: json.RawMessage(`{"iban":"DE89370400440532013000"}`), Provenance: schemas.Provenance{SourceURI: "https://u:p4ssw0rd@host/x"}}
	d := newDetector(t, pii.Config{})
	if diff := cmp.Diff([]pii.Type{pii.Email, pii.IBAN, pii.Phone, pii.Secret}, d.Item(&m)); diff != "" {
		t.Error(diff)
	}
	if m.Content.Text() != "call me at 030 1234567" || string(m.Attributes) != `{"iban":"DE89370400440532013000"}` {
		t.Error("looking changed the item")
	}
	changed := d.MaskItem(&m, pii.Mark)
	if diff := cmp.Diff([]string{"/content", "/summary/text", "/attributes", "/provenance/source_uri"}, changed); diff != "" {
		t.Error(diff)
	}
	if left := d.Item(&m); len(left) != 0 {
		t.Errorf("%v are left in %+v", left, m)
	}
}

// A masked text holds none of the values, and masking it again changes nothing.
func TestMaskingIsWhole(t *testing.T) {
	t.Parallel()
	d := newDetector(t, pii.Config{Types: pii.Types()})
	values := []string{"ada@example.org", "+44 20 7946 0958", "4111 1111 1111 1111", "DE89370400440532013000", "078-05-1120", "203.0.113.7", "https://example.org/x?y=1", key("ghp_", 36)}
	rapid.Check(t, func(t *rapid.T) {
		var parts []string
		for range rapid.IntRange(1, 6).Draw(t, "parts") {
			parts = append(parts, rapid.StringMatching(`[a-uwyzäß ,.;()"]{0,12}`).Draw(t, "words"), rapid.SampledFrom(values).Draw(t, "value"))
		}
		text := strings.Join(parts, " ")
		raw, err := json.Marshal(map[string]any{"text": text, "list": parts})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []schemas.Content{schemas.TextContent(text), schemas.JSONContent(raw)} {
			m := schemas.MemoryItem{Content: c}
			d.MaskItem(&m, pii.Mark)
			for _, v := range values {
				if strings.Contains(m.Content.Text(), v) {
					t.Fatalf("%q is left of %q in %q", v, text, m.Content.Text())
				}
			}
			if changed := d.MaskItem(&m, pii.Mark); len(changed) > 0 {
				t.Fatalf("%q is masked twice", m.Content.Text())
			}
		}
	})
}

func FuzzMaskJSON(f *testing.F) {
	f.Add([]byte(`{"a@b.de":["4111111111111111",4111111111111111,{"password":"hunter2!x"}]}`))
	f.Add([]byte(`plain a@b.de`))
	d := newDetector(f, pii.Config{Types: pii.Types()})
	f.Fuzz(func(t *testing.T, data []byte) {
		masked := d.MaskJSON(data, pii.Mark)
		if json.Valid(data) && !json.Valid(masked) {
			t.Fatalf("%q becomes %q", data, masked)
		}
	})
}

// What a path hides in the content is hidden where the writer repeated it, too.
func TestValuesAreHiddenWhereTheyAreRepeated(t *testing.T) {
	t.Parallel()
	z := newSanitizer(t, 1)
	r := record(`{"note":"PIN 48210 was set by the clerk","pin":48210,"who":{"code":"tartan","no":7},"again":"TARTANS, tartan"}`)
	r.Attributes = json.RawMessage(`{"signature":"unlock(48210)","safety_notes":"never say tartan","n":7}`)
	if !z.Apply("t", r, []string{"$.content.pin", "$.content.who"}, schemas.Obligations{}) {
		t.Fatal("not met")
	}
	const content = `{"again":"TARTANS, [redacted]","note":"PIN [redacted] was set by the clerk","pin":"[redacted]","who":"[redacted]"}`
	if got := r.Content.Text(); got != content {
		t.Errorf("content %s\nwant %s", got, content)
	}
	if got := string(r.Attributes); got != `{"n":7,"safety_notes":"never say [redacted]","signature":"unlock([redacted])"}` {
		t.Errorf("attributes %s", got)
	}
}
