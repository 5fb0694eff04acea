package schemas

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// sameAsSlow fails when the fast way accepts what the slow way refuses, or reads
// another item.
func sameAsSlow(t interface {
	Fatalf(string, ...any)
}, data []byte) bool {
	var fast, slow MemoryItem
	if !utf8.Valid(data) || !fillDocument(data, itemShape, &fast) {
		return false
	}
	if err := json.Unmarshal(data, &slow); err != nil {
		t.Fatalf("the fast way accepts what encoding/json refuses: %v\n%s", err, data)
	}
	for _, issue := range walkSlowly("", data, itemShape) {
		if fast.Attributes == nil || issue.Message != "is given twice" { // Validate looks into attributes
			t.Fatalf("the fast way accepts %v\n%s", issue, data)
		}
	}
	if !reflect.DeepEqual(fast, slow) {
		t.Fatalf("two readings of %s\n%+v\n%+v", data, fast, slow)
	}
	return true
}

func TestFastIsSlow(t *testing.T) {
	t.Parallel()
	fast := 0
	rapid.Check(t, func(t *rapid.T) {
		doc := deepCopy(t, drawItem(t))
		doc["speaker"] = rapid.String().Draw(t, "speaker")
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if !sameAsSlow(t, raw) {
			t.Fatalf("a plain item takes the slow way: %s", raw)
		}
		// Damage the text anywhere: one byte replaced, removed or doubled.
		i := rapid.IntRange(0, len(raw)-1).Draw(t, "where")
		with := rapid.SampledFrom([]byte(`"\{}[],:0-.eEunt `+"\n\x01\x80")).Draw(t, "byte")
		for _, damaged := range [][]byte{
			append(append(append([]byte{}, raw[:i]...), with), raw[i+1:]...),
			append(append([]byte{}, raw[:i]...), raw[i+1:]...),
			append(append(append([]byte{}, raw[:i]...), with), raw[i:]...),
		} {
			if sameAsSlow(t, damaged) {
				fast++
			}
		}
	})
	if fast == 0 {
		t.Error("no damaged text was still an item: the test draws too little")
	}
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`"a\n\t\r\b\f\/\\\"b"`, `"\u00e9\u20AC"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ude00\ud83d\ude00"`, `"\ud83d\u0041"`, `"\ud83d\\u"`, `""`} {
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		w := walker{data: []byte(text)}
		raw, ok := w.readString()
		if have := w.plainText(raw); have != want || !ok || w.pos != len(text) {
			t.Errorf("%s: %q, want %q", text, have, want)
		}
	}
	for _, text := range []string{`"a`, `"\x"`, `"\u12g4"`, `"\u12`, "\"\n\"", `"\`} {
		w := walker{data: []byte(text)}
		if _, ok := w.readString(); ok {
			t.Errorf("%s is accepted", text)
		}
	}
}

// What is JSON is decided as encoding/json does.
func TestMalformedTextIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, ` `, `{`, `}`, `[`, `]`, `{]`, `[}`, `{} {}`, `[1 2]`, `[1,]`, `[,1]`, `{,}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{1:2}`, `{"a":1 "b":2}`,
		`[01]`, `[+1]`, `[-]`, `[.5]`, `[1.]`, `[1e]`, `[1e+]`, `[1-2]`, `[--1]`, `[NaN]`, `[tru]`, `[nulll]`, `["a]`, `["\x"]`, `["\u12g4"]`, "[\"\n\"]", `['a']`, "[1\u00a0]", `//`,
		`[-0]`, `[0.5e-3]`, `[1E5]`, `[10]`, `["\ud800"]`, "\t[ ]\r\n", `{"":{}}`, `"a"`, `-1`, `null`,
	} {
		if have, want := len(ReadText([]byte(text))) == 0, json.Valid([]byte(text)); have != want {
			t.Errorf("%q is JSON: %t, want %t", text, have, want)
		}
	}
}

func FuzzFill(f *testing.F) {
	f.Add([]byte(`{"id":"a","type":"episodic","kind":"memory","scope":{"tenant":"t"},"created_at":"2026-03-01T10:00:00Z","security_label":["a:b"],
		"content":{"a":[1,2.5e3,-0,true,false,null,"x\u00e9"]},"links":[{"rel":"mentions","to":"b"}],"decay_fn":{"kind":"step","days":1},
		"summary":{"text":"s","dropped_spans":[{"start":0,"end":1}]},"provenance":{"policy_tags":[]},"seq":-3,"ttl":1,"novelty":1e-3,"attributes":{"x":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) { sameAsSlow(t, data) })
}

// What a log has is read, though nobody may write it any more.
func TestNumbersThatAreStoredAreRead(t *testing.T) {
	t.Parallel()
	for _, number := range []string{strings.Repeat("7", 4400), "1e999"} {
		raw := []byte(`{"id":"a","type":"semantic","kind":"memory","scope":{"tenant":"t"},"created_at":"2026-03-03T10:00:00Z","security_label":["level:public"],` +
			`"content":{"n":` + number + `},"attributes":{"n":` + number + `}}`)
		if _, issues := DecodeMemoryItem(raw); len(issues) != 2 || issues[0].Pointer != "/content/n" && issues[1].Pointer != "/content/n" {
			t.Errorf("%.20s is written: %v", number, issues)
		}
		var m MemoryItem
		if err := UnmarshalMemoryItem(raw, &m); err != nil || !strings.Contains(m.Content.Text(), number) || !strings.Contains(string(m.Attributes), number) {
			t.Errorf("%.20s is not read: %v", number, err)
		}
	}
}
