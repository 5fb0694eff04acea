package cloudevent_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"satchel/jetstream/cloudevent"
)

func sample(id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("urn:agent:planner")
	e.SetType("io.satchel.memory.recorded.v1")
	e.SetSubject("m-1")
	e.SetTime(time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC))
	e.SetDataContentType("application/json")
	e.SetDataSchema("https://satchel.dev/schemas/memory-item.json")
	e.SetExtension("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	e.DataEncoded = []byte(`{"scope":{"tenant":"acme"},"text":"` + strings.Repeat("lorem ipsum dolor ", 50) + `"}`)
	return e
}

func TestBinaryGolden(t *testing.T) {
	t.Parallel()
	e := event.New()
	e.SetID("1234-1234")
	e.SetSource("/mycontext/subcontext")
	e.SetType("com.example.someevent")
	e.SetSubject(`Euro € 😀`)
	e.SetDataContentType("application/json")
	e.SetExtension("comexampleextension", `100% "sure"`)
	e.DataEncoded = []byte(`{ "a" : 1 }`)
	header, data, err := cloudevent.Encode(e, cloudevent.Binary)
	if err != nil {
		t.Fatal(err)
	}
	want := nats.Header{
		"ce-specversion":         {"1.0"},
		"ce-id":                  {"1234-1234"},
		"ce-source":              {"/mycontext/subcontext"},
		"ce-type":                {"com.example.someevent"},
		"ce-subject":             {"Euro%20%E2%82%AC%20%F0%9F%98%80"},
		"ce-datacontenttype":     {"application/json"},
		"ce-comexampleextension": {"100%25%20%22sure%22"},
	}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if string(data) != `{ "a" : 1 }` {
		t.Errorf("data = %q", data)
	}
}

func TestStructuredGolden(t *testing.T) {
	t.Parallel()
	e := event.New()
	e.SetID("1")
	e.SetSource("/s")
	e.SetType("t")
	e.SetDataContentType("application/json")
	e.SetExtension("n", 7)
	e.DataEncoded = []byte(`{ "a" : [1, "<é>"] }`)
	header, data, err := cloudevent.Encode(e, cloudevent.Structured)
	if err != nil {
		t.Fatal(err)
	}
	if got := header["Content-Type"]; len(got) != 1 || got[0] != "application/cloudevents+json" {
		t.Errorf("content type = %q", got)
	}
	want := `{"specversion":"1.0","id":"1","source":"/s","type":"t","datacontenttype":"application/json","n":7,"data":{ "a" : [1, "<é>"] }}`
	if string(data) != want {
		t.Errorf("data = %s\nwant   %s", data, want)
	}
}

func TestDecodeLenient(t *testing.T) {
	t.Parallel()
	base := func(change func(nats.Header)) nats.Header {
		h := nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"1"}, "ce-source": {"/s"}, "ce-type": {"t"}}
		change(h)
		return h
	}
	cases := map[string]struct {
		header nats.Header
		data   string
		check  func(event.Event) bool
		err    error
	}{
		"names in any case": {header: nats.Header{"CE-Specversion": {"1.0"}, "Ce-Id": {"1"}, "cE-sOURCE": {"/s"}, "ce-TYPE": {"t"}},
			check: func(e event.Event) bool { return e.ID() == "1" }},
		"golden vector": {header: base(func(h nats.Header) { h["ce-subject"] = []string{"Euro%20%E2%82%AC%20%F0%9F%98%80"} }),
			check: func(e event.Event) bool { return e.Subject() == "Euro € 😀" }},
		"lower-case hex": {header: base(func(h nats.Header) { h["ce-subject"] = []string{"%e2%82%ac"} }),
			check: func(e event.Event) bool { return e.Subject() == "€" }},
		"unencoded value": {header: base(func(h nats.Header) { h["ce-subject"] = []string{"100% € sure%"} }),
			check: func(e event.Event) bool { return e.Subject() == "100% € sure%" }},
		"one round only": {header: base(func(h nats.Header) { h["ce-subject"] = []string{"%2541"} }),
			check: func(e event.Event) bool { return e.Subject() == "%41" }},
		"overlong": {header: base(func(h nats.Header) { h["ce-subject"] = []string{"%C0%A0"} }), err: cloudevent.ErrAttribute},
		"sdk content-type": {header: base(func(h nats.Header) { h["content-type"] = []string{"text/plain"} }),
			check: func(e event.Event) bool { return e.DataContentType() == "text/plain" }},
		"sdk structured without content type": {data: ` {"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"a":1}}`,
			check: func(e event.Event) bool { return string(e.Data()) == `{"a":1}` }},
		"charset parameter": {header: nats.Header{"content-type": {"Application/CloudEvents+json; charset=utf-8"}},
			data:  `{"specversion":"1.0","id":"1","source":"/s","type":"t"}`,
			check: func(e event.Event) bool { return e.Data() == nil }},
		"escaped member name": {data: `{"specversion":"1.0","\u0069d":"1","source":"/s","type":"t"}`,
			check: func(e event.Event) bool { return e.ID() == "1" }},
		"batch":             {header: nats.Header{"Content-Type": {"application/cloudevents-batch+json"}}, data: `[]`, err: cloudevent.ErrFormat},
		"nothing":           {data: "hello", err: cloudevent.ErrNotCloudEvent},
		"truncated":         {data: `{"specversion":"1.0"`, err: cloudevent.ErrNotCloudEvent},
		"old version":       {header: base(func(h nats.Header) { h["ce-specversion"] = []string{"0.3"} }), err: cloudevent.ErrSpecVersion},
		"no id":             {header: base(func(h nats.Header) { delete(h, "ce-id") }), err: cloudevent.ErrAttribute},
		"no specversion":    {header: base(func(h nats.Header) { delete(h, "ce-specversion") }), err: cloudevent.ErrNotCloudEvent},
		"repeated header":   {header: base(func(h nats.Header) { h["ce-id"] = []string{"1", "2"} }), err: cloudevent.ErrAttribute},
		"repeated by case":  {header: base(func(h nats.Header) { h["CE-ID"] = []string{"2"} }), err: cloudevent.ErrAttribute},
		"a zone of a day":   {header: base(func(h nats.Header) { h["ce-time"] = []string{"2026-03-03T10:00:00+24:00"} }), err: cloudevent.ErrAttribute},
		"bad time":          {header: base(func(h nats.Header) { h["ce-time"] = []string{"yesterday"} }), err: cloudevent.ErrAttribute},
		"bad name":          {header: base(func(h nats.Header) { h["ce-a_b"] = []string{"1"} }), err: cloudevent.ErrAttribute},
		"repeated member":   {data: `{"specversion":"1.0","id":"1","id":"2","source":"/s","type":"t"}`, err: cloudevent.ErrAttribute},
		"both data members": {data: `{"specversion":"1.0","id":"1","source":"/s","type":"t","data":1,"data_base64":"AA=="}`, err: cloudevent.ErrAttribute},
		"number as id":      {data: `{"specversion":"1.0","id":1,"source":"/s","type":"t"}`, err: cloudevent.ErrAttribute},
		"null attribute": {data: `{"specversion":"1.0","id":"1","source":"/s","type":"t","subject":null,"data":null}`,
			check: func(e event.Event) bool { return e.Subject() == "" && e.Data() == nil }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := cloudevent.Decode(c.header, []byte(c.data))
			if c.err != nil {
				if !errors.Is(err, c.err) {
					t.Fatalf("error = %v, want %v", err, c.err)
				}
				return
			}
			if err != nil || !c.check(e) {
				t.Fatalf("event = %v, error = %v", e, err)
			}
		})
	}
}

func eventGenerator() *rapid.Generator[event.Event] {
	return rapid.Custom(func(t *rapid.T) event.Event {
		e := event.New()
		text := rapid.String().Filter(func(s string) bool { return strings.TrimSpace(s) != "" })
		e.SetID(text.Draw(t, "id"))
		e.SetSource(rapid.SampledFrom([]string{"/s", "urn:a:b", "https://x.example/p?q=1#f"}).Draw(t, "source"))
		e.SetType(text.Draw(t, "type"))
		if rapid.Bool().Draw(t, "has subject") {
			e.SetSubject(text.Draw(t, "subject"))
		}
		if rapid.Bool().Draw(t, "timed") {
			e.SetTime(time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC())
		}
		if rapid.Bool().Draw(t, "schema") {
			e.SetDataSchema("https://x.example/schema")
		}
		media := rapid.SampledFrom([]string{"", "application/json", "application/x+json", "text/plain", "image/png"}).Draw(t, "media")
		if media != "" {
			e.SetDataContentType(media)
		}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`x[a-z0-9]{1,8}`), 0, 3, rapid.ID).Draw(t, "names") {
			e.SetExtension(name, rapid.String().Draw(t, "value"))
		}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			e.DataEncoded = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		case 1:
			e.DataEncoded = []byte(rapid.SampledFrom([]string{`{"a": 1.0e5}`, ` [1]`, `"x"`, `null`, `{}`}).Draw(t, "json"))
		}
		return e
	})
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := eventGenerator().Draw(t, "event")
		for _, mode := range []cloudevent.Mode{cloudevent.Binary, cloudevent.Structured} {
			header, data, err := cloudevent.Encode(e, mode)
			if err != nil {
				t.Fatalf("mode %d: encode: %v", mode, err)
			}
			got, err := cloudevent.Decode(header, data)
			if err != nil {
				t.Fatalf("mode %d: decode %v %q: %v", mode, header, data, err)
			}
			if diff := cmp.Diff(e.Context.AsV1(), got.Context.AsV1()); diff != "" {
				t.Fatalf("mode %d: attributes (-want +got):\n%s", mode, diff)
			}
			if string(got.Data()) != string(e.Data()) {
				t.Fatalf("mode %d: data %q became %q", mode, e.Data(), got.Data())
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add("ce-subject", "Euro%20%E2%82%AC%20%F0%9F%98%80", []byte(`{"a":1}`))
	f.Add("Content-Type", "application/cloudevents+json", []byte(`{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"a":[1,"}\\\""]}}`))
	f.Add("content-type", "text/plain", []byte("x"))
	f.Fuzz(func(t *testing.T, name, value string, data []byte) {
		headers := []nats.Header{{name: {value}}, {"ce-specversion": {"1.0"}, "ce-id": {"1"}, "ce-source": {"/s"}, "ce-type": {"t"}, name: {value}}}
		for _, header := range headers {
			e, err := cloudevent.Decode(header, data)
			if err != nil {
				continue
			}
			for _, mode := range []cloudevent.Mode{cloudevent.Binary, cloudevent.Structured} {
				h, d, err := cloudevent.Encode(e, mode)
				if err != nil {
					t.Fatalf("encode what was decoded: %v", err)
				}
				again, err := cloudevent.Decode(h, d)
				if err != nil || string(again.Data()) != string(e.Data()) || again.ID() != e.ID() || again.Subject() != e.Subject() {
					t.Fatalf("mode %d: %v became %v, %v", mode, e, again, err)
				}
			}
		}
	})
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("golden files: %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e, err := cloudevent.Decode(nil, data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if e.ID() == "" || e.Source() == "" {
			t.Errorf("%s: %v", file, e)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, mode := range map[string]cloudevent.Mode{"binary": cloudevent.Binary, "structured": cloudevent.Structured} {
		header, data, err := cloudevent.Encode(sample("018f0000-0000-7000-8000-000000000000"), mode)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cloudevent.Decode(header, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, mode := range map[string]cloudevent.Mode{"binary": cloudevent.Binary, "structured": cloudevent.Structured} {
		e := sample("018f0000-0000-7000-8000-000000000000")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := cloudevent.Encode(e, mode); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
