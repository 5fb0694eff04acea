package write_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nkeys"

	"satchel/pipeline/pii"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/schemas"
)

const recorded = `{ "id":"m1","type":"episodic","kind":"memory","scope":{"tenant":"acme"},` +
	`"created_at":"2026-03-01T10:00:00Z","security_label":["tenant:acme","level:internal"],"content":"a b" }`

func newEvent(eventType, data string) event.Event {
	ev := event.New()
	ev.SetID("e1")
	ev.SetSource("agent/one")
	ev.SetType(eventType)
	ev.SetDataContentType("application/json")
	ev.DataEncoded = []byte(data)
	return ev
}

func newWriter(t testing.TB, c write.Config) *write.Writer {
	t.Helper()
	w, err := write.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newKey(t testing.TB) (seed []byte, public string) {
	t.Helper()
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	if seed, err = pair.Seed(); err != nil {
		t.Fatal(err)
	}
	if public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return seed, public
}

func TestPrepareKeepsTheBytes(t *testing.T) {
	t.Parallel()
	ev := newEvent(schemas.TypeMemoryRecorded, recorded)
	ev.SetExtension("traceparent", "00-a-b-01")
	ev.SetExtension("count", 3)
	ev.SetExtension(schemas.ExtensionSigner, "forged")
	ev.SetExtension(schemas.ExtensionChecksum, "forged")
	ev.SetExtension("satchelposition", "7")
	ev.SetDataSchema(schemas.DataSchema(schemas.TypeMemoryRecorded))
	d, err := newWriter(t, write.Config{}).Prepare("acme", "one", ev)
	if err != nil {
		t.Fatal(err)
	}
	want := eventlog.Draft{
		Tenant: "acme", Agent: "one", Type: schemas.TypeMemoryRecorded, Source: "agent/one", ID: "e1", Subject: "m1",
		Time: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), Data: []byte(recorded),
		Extensions: map[string]string{
			"traceparent": "00-a-b-01", "count": "3", "datacontenttype": "application/json",
			"dataschema": "urn:satchel:schema:memory-item:v1", schemas.ExtensionSigner: schemas.Unsigned,
			schemas.ExtensionChecksum: schemas.TextContent("a b").Checksum(),
		},
	}
	if !reflect.DeepEqual(d.Draft, want) {
		t.Errorf("draft\n%+v\nwant\n%+v", d, want)
	}
	m, err := write.Item(eventlog.Entry{Position: 1, Data: d.Data, Extensions: d.Extensions})
	if err != nil {
		t.Fatal(err)
	}
	if m.Signer != schemas.Unsigned || m.Provenance.Signer != schemas.Unsigned || m.Provenance.Checksum != schemas.TextContent("a b").Checksum() {
		t.Errorf("item %+v", m)
	}
}

func TestPrepareOtherTypes(t *testing.T) {
	t.Parallel()
	w := newWriter(t, write.Config{})
	for _, c := range []struct{ eventType, data, subject string }{
		{schemas.TypeMemoryLinked, `{"scope":{"tenant":"acme"},"from":"a","links":[{"rel":"follows","to":"b"}]}`, "a"},
		{schemas.TypeMemorySuperseded, `{"scope":{"tenant":"acme"},"item":"a","by":"b"}`, "a"},
		{schemas.TypeMemoryAccessed, `{"scope":{"tenant":"acme"},"items":["x","y"]}`, "x"},
		{schemas.TypeMemoryErased, `{"scope":{"tenant":"acme"},"items":["x"]}`, "x"},
	} {
		d, err := w.Prepare("acme", "one", newEvent(c.eventType, c.data))
		if err != nil || d.Subject != c.subject || string(d.Data) != c.data {
			t.Errorf("%s: %+v, %v", c.eventType, d, err)
		}
	}
}

type rejected struct {
	reason  write.Reason
	pointer string
	event   event.Event
}

func rejectedEvents() []rejected {
	replace := func(old, new string) string { return strings.Replace(recorded, old, new, 1) }
	with := func(change func(*event.Event)) event.Event {
		ev := newEvent(schemas.TypeMemoryRecorded, recorded)
		change(&ev)
		return ev
	}
	data := func(text string) event.Event { return newEvent(schemas.TypeMemoryRecorded, text) }
	return []rejected{
		{write.Malformed, "/specversion", event.Event{}},
		{write.BadID, "/id", with(func(ev *event.Event) { ev.SetID("a b") })},
		{write.Malformed, "/source", with(func(ev *event.Event) { ev.SetSource("") })},
		{write.Malformed, "/source", with(func(ev *event.Event) { ev.SetSource("satchel://roles") })},
		{write.Malformed, "/source", with(func(ev *event.Event) { ev.SetSource("satchel://exceptions") })},
		{write.Malformed, "/source", with(func(ev *event.Event) { ev.SetSource("satchel://agents/acme/two") })},
		{write.Malformed, "/source", with(func(ev *event.Event) { ev.SetSource("satchel://agents/acme/on") })},
		{write.Malformed, "/source", with(func(ev *event.Event) { ev.SetSource("satchel://agents/other/one") })},
		{write.Malformed, "/satchellevel", with(func(ev *event.Event) { ev.SetExtension(schemas.ExtensionLevel, "secret") })},
		{write.Malformed, "/satchellevel", with(func(ev *event.Event) { ev.SetExtension(schemas.ExtensionLevel, 3) })},
		{write.UnknownType, "/type", with(func(ev *event.Event) { ev.SetType("io.satchel.context.packed.v1") })},
		{write.Oversized, "/data", data(replace("a b", strings.Repeat("x", 5000)))},
		{write.Oversized, "/big", with(func(ev *event.Event) { ev.SetExtension("big", strings.Repeat("x", 5000)) })},
		{write.Malformed, "/datacontenttype", with(func(ev *event.Event) { ev.SetDataContentType("text/plain") })},
		{write.Malformed, "/subject", with(func(ev *event.Event) { ev.SetSubject("m2") })},
		{write.Malformed, "/data", data(`{"id":`)},
		{write.Malformed, "/data", data("")},
		{write.Malformed, "/data", data("null")},
		{write.Malformed, "/data/colour", data(replace(`"type"`, `"colour":1,"type"`))},
		{write.Malformed, "/data/created_at", data(replace(`"2026-03-01T10:00:00Z"`, `"soon"`))},
		{write.Malformed, "/data/created_at", data(replace(`"2026-03-01T10:00:00Z"`, `"9999-01-01T00:00:00Z"`))},
		{write.Malformed, "/time", with(func(ev *event.Event) { ev.SetTime(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)) })},
		{write.Unlabelled, "/data/security_label", data(replace(`["tenant:acme","level:internal"]`, `[]`))},
		{write.Unlabelled, "/data/security_label", data(replace(`"security_label":["tenant:acme","level:internal"],`, `"colour":1,`))},
		{write.Malformed, "/data/security_label/1", data(replace(`level:internal`, `level:secret`))},
		{write.WrongTenant, "/data/scope/tenant", data(replace(`{"tenant":"acme"}`, `{"tenant":"other"}`))},
		{write.WrongTenant, "/data/scope/tenant", data(replace(`{"tenant":"acme"},`, `{"tenant":"other"},"colour":1,`))},
		{write.BadID, "/data/id", data(replace(`"m1"`, `"m 1"`))},
		{write.BadSignature, "/data/signer", data(replace(`"type"`, `"signer":"boss","type"`))},
		{write.BadSignature, "/data/provenance/signer", data(replace(`"type"`, `"provenance":{"signer":"boss"},"type"`))},
		{write.Malformed, "/data/provenance/checksum", data(replace(`"type"`, `"provenance":{"checksum":"sha256:`+strings.Repeat("0", 64)+`"},"type"`))},
		{write.BadSignature, "/satchelkey", with(func(ev *event.Event) { ev.SetExtension(schemas.ExtensionKey, "k1") })},
		{write.Malformed, "/data/original", newEvent(schemas.TypeMemoryErased, `{"scope":{"tenant":"acme"},"items":["x"],"original":{"source":"s","id":"e","position":1,"leaf":""}}`)},
		{write.Malformed, "/data/receipt", newEvent(schemas.TypeMemoryErased, `{"scope":{"tenant":"acme"},"items":["x"],"receipt":{"items":[]}}`)},
		{write.BadID, "/subject", func() event.Event {
			ev := newEvent(schemas.TypeMemoryErased, `{"scope":{"tenant":"acme"},"items":["x"]}`)
			ev.SetSubject("not an id")
			return ev
		}()},
	}
}

func TestRejections(t *testing.T) {
	t.Parallel()
	w := newWriter(t, write.Config{MaxData: 4096})
	for _, c := range rejectedEvents() {
		_, err := w.Prepare("acme", "one", c.event)
		var r *write.Rejection
		if !errors.As(err, &r) {
			t.Errorf("%s %s: error %v", c.reason, c.pointer, err)
			continue
		}
		if r.Reason != c.reason || r.Pointer != c.pointer || r.Cause == "" || len(r.Issues) == 0 || r.DLQReason() != string(c.reason) {
			t.Errorf("have %+v, want %s at %s", r, c.reason, c.pointer)
		}
	}
	if _, err := w.Prepare("a.b", "one", newEvent(schemas.TypeMemoryRecorded, recorded)); err == nil {
		t.Error("a tenant that is no token is taken")
	}
	if (&write.Rejection{Reason: "no token"}).DLQReason() != "malformed" {
		t.Error("a reason that is no token becomes a subject")
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	seed, public := newKey(t)
	w := newWriter(t, write.Config{RequireSignature: true, Keys: map[string]string{"k1": public}})
	signed := func() event.Event {
		ev := newEvent(schemas.TypeMemoryRecorded, strings.Replace(recorded, `"type"`, `"signer":"k1","type"`, 1))
		ev.SetSubject("m1")
		if err := schemas.Sign(seed, "k1", &ev); err != nil {
			t.Fatal(err)
		}
		return ev
	}
	d, err := w.Prepare("acme", "one", signed())
	if err != nil || d.Extensions[schemas.ExtensionSigner] != "k1" {
		t.Fatalf("a signed event: %+v, %v", d, err)
	}
	digest := schemas.SigningDigest(d.Type, d.Source, d.ID, d.Subject, d.Data)
	key, err := nkeys.FromPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas.VerifySignature(key, d.Extensions[schemas.ExtensionSignature], digest); err != nil {
		t.Errorf("the draft does not verify: %v", err)
	}
	for name, change := range map[string]func(*event.Event){
		"data":      func(ev *event.Event) { ev.DataEncoded = bytes.Replace(ev.DataEncoded, []byte("a b"), []byte("a c"), 1) },
		"id":        func(ev *event.Event) { ev.SetID("e2") },
		"source":    func(ev *event.Event) { ev.SetSource("agent/two") },
		"subject":   func(ev *event.Event) { ev.SetSubject("") },
		"key":       func(ev *event.Event) { ev.SetExtension(schemas.ExtensionKey, "k2") },
		"signature": func(ev *event.Event) { ev.SetExtension(schemas.ExtensionSignature, "AAAA") },
		"encoding":  func(ev *event.Event) { ev.SetExtension(schemas.ExtensionSignature, "*") },
		"no key":    func(ev *event.Event) { ev.SetExtension(schemas.ExtensionKey, nil) },
		"unsigned": func(ev *event.Event) {
			ev.SetExtension(schemas.ExtensionKey, nil)
			ev.SetExtension(schemas.ExtensionSignature, nil)
		},
	} {
		ev := signed()
		change(&ev)
		_, err := w.Prepare("acme", "one", ev)
		var r *write.Rejection
		if !errors.As(err, &r) || r.Reason != write.BadSignature {
			t.Errorf("changed %s: error %v, want bad_signature", name, err)
		}
	}
	ev := newEvent(schemas.TypeMemoryRecorded, recorded)
	if err := schemas.Sign(seed, "k1", &ev); err == nil {
		t.Error("an event without a subject is signed")
	}
	ev.SetSubject("m1")
	if err := schemas.Sign(seed, schemas.Unsigned, &ev); err == nil {
		t.Error("a key may call itself unsigned")
	}
	if err := schemas.Sign(seed, "", &ev); err != nil || ev.Extensions()[schemas.ExtensionKey] != public {
		t.Errorf("an empty key id: %v, %v", ev.Extensions(), err)
	}
	if err := schemas.Sign([]byte("SUAno"), "k1", &ev); err == nil {
		t.Error("a broken seed signs")
	}
}

func TestKeyThatSpeaksForItself(t *testing.T) {
	t.Parallel()
	seed, public := newKey(t)
	ev := newEvent(schemas.TypeMemoryRecorded, recorded)
	ev.SetSubject("m1")
	if err := schemas.Sign(seed, "", &ev); err != nil {
		t.Fatal(err)
	}
	d, err := newWriter(t, write.Config{}).Prepare("acme", "one", ev)
	if err != nil || d.Extensions[schemas.ExtensionSigner] != public {
		t.Errorf("draft %+v, %v", d, err)
	}
	var r *write.Rejection
	if _, err := newWriter(t, write.Config{RequireSignature: true}).Prepare("acme", "one", ev); !errors.As(err, &r) || r.Pointer != "/satchelkey" {
		t.Errorf("an unregistered key where signatures are required: %v", err)
	}
}

func TestDigestIsFixed(t *testing.T) {
	t.Parallel()
	a := schemas.SigningDigest("t", "s", "i", "", []byte("d"))
	for _, b := range [][32]byte{
		schemas.SigningDigest("ts", "", "i", "", []byte("d")), schemas.SigningDigest("t", "s", "", "i", []byte("d")), schemas.SigningDigest("t", "s", "i", "d", nil),
	} {
		if a == b {
			t.Error("fields run into each other")
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	_, public := newKey(t)
	for _, c := range []write.Config{
		{Keys: map[string]string{"k": "nonsense"}}, {Keys: map[string]string{"a b": public}},
		{Keys: map[string]string{schemas.Unsigned: public}}, {MaxData: -1},
	} {
		if _, err := write.New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	w := newWriter(t, write.Config{Redact: func(_ string, m *schemas.MemoryItem) []string {
		if !strings.Contains(m.Content.Text(), "secret") {
			return nil
		}
		m.Content = schemas.TextContent("[redacted]")
		return []string{"/content"}
	}})
	d, err := w.Prepare("acme", "one", newEvent(schemas.TypeMemoryRecorded, recorded))
	if err != nil || string(d.Data) != recorded {
		t.Fatalf("nothing to redact: %s, %v", d.Data, err)
	}
	d, err = w.Prepare("acme", "one", newEvent(schemas.TypeMemoryRecorded, strings.Replace(recorded, "a b", "secret", 1)))
	if err != nil {
		t.Fatal(err)
	}
	var m schemas.MemoryItem
	if err := json.Unmarshal(d.Data, &m); err != nil {
		t.Fatal(err)
	}
	if m.Content.Text() != "[redacted]" || strings.Contains(string(d.Data), "secret") {
		t.Errorf("data %s", d.Data)
	}
	if d.Extensions[schemas.ExtensionRedacted] != "/content" || d.Extensions[schemas.ExtensionChecksum] != m.Content.Checksum() {
		t.Errorf("extensions %v", d.Extensions)
	}
}

// A flag that names no place in the content would hide nothing: the event is refused.
func TestFlagThatMeetsNothing(t *testing.T) {
	t.Parallel()
	w := newWriter(t, write.Config{})
	for _, tc := range []struct{ content, flags, pointer string }{
		{`{"Pin":"4821"}`, `["$.content.pin"]`, "/data/pii_flags/0"},
		{`{"a.b":"4821","n":1}`, `["$.content.n","$.content.a.b"]`, "/data/pii_flags/1"},
		{"{\"pe\u0301n\":\"4821\"}", "[\"$.content.p\u00e9n\"]", "/data/pii_flags/0"},
		{`{"diagnosis":"4821"}`, `["$.content.diagnose"]`, "/data/pii_flags/0"},
		{`{"diagnosis":"4821"}`, `["$.content.diagnosis","$.speaker"]`, ""},
		{`"4821"`, `["$.content.pin","email"]`, "/data/pii_flags/0"},
		{`"4821"`, `["$.content","$.speaker"]`, ""},
	} {
		data := strings.Replace(recorded, `"content":"a b"`, `"pii_flags":`+tc.flags+`,"content":`+tc.content, 1)
		_, err := w.Prepare("acme", "one", newEvent(schemas.TypeMemoryRecorded, data))
		var r *write.Rejection
		switch {
		case tc.pointer == "" && err != nil:
			t.Errorf("%s flagged %s: %v", tc.content, tc.flags, err)
		case tc.pointer != "" && (!errors.As(err, &r) || r.Reason != write.Malformed || r.Pointer != tc.pointer || strings.Contains(r.Error(), "4821")):
			t.Errorf("%s flagged %s: %v, want a refusal at %s", tc.content, tc.flags, err, tc.pointer)
		}
	}
}

func TestPersonalData(t *testing.T) {
	t.Parallel()
	detector, err := pii.New(pii.Config{})
	if err != nil {
		t.Fatal(err)
	}
	prepare := func(on write.OnFound, content string) (write.Prepared, error) {
		w := newWriter(t, write.Config{Detector: detector, OnFound: on})
		return w.Prepare("acme", "one", newEvent(schemas.TypeMemoryRecorded, strings.Replace(recorded, "a b", content, 1)))
	}
	const found = "write to ada@example.org, card 4111 1111 1111 1111"
	d, err := prepare(write.FoundLabel, found)
	if err != nil || !strings.Contains(string(d.Data), "ada@example.org") {
		t.Fatalf("label: %s, %v", d.Data, err)
	}
	m, err := write.Item(eventlog.Entry{Position: 1, Data: d.Data, Extensions: d.Extensions})
	if err != nil || !slices.Contains(m.SecurityLabel, "detected:email") || !slices.Contains(m.SecurityLabel, "detected:card") || !m.Facets().PII {
		t.Errorf("label: %v, %v", m.SecurityLabel, err)
	}
	d, err = prepare(write.FoundRedact, found)
	if err != nil || !strings.Contains(string(d.Data), "write to [email], card [card]") || d.Extensions[schemas.ExtensionRedacted] != "/content" {
		t.Errorf("redact: %s %v, %v", d.Data, d.Extensions, err)
	}
	var r *write.Rejection
	if _, err = prepare(write.FoundRefuse, found); !errors.As(err, &r) || r.Reason != write.PersonalData || strings.Contains(r.Error(), "ada") {
		t.Errorf("refuse: %v", err)
	}
	if d, err = prepare(write.FoundOff, found); err != nil || d.Extensions[schemas.ExtensionDetected] != "" {
		t.Errorf("off: %v, %v", d.Extensions, err)
	}
	for _, on := range []write.OnFound{write.FoundLabel, write.FoundRedact, write.FoundRefuse} {
		d, err = prepare(on, "nothing to see")
		if err != nil || string(d.Data) != strings.Replace(recorded, "a b", "nothing to see", 1) || d.Extensions[schemas.ExtensionDetected] != "" {
			t.Errorf("%s of nothing: %v, %v", on, d.Extensions, err)
		}
	}
	spoken := newEvent(schemas.TypeMemoryRecorded, strings.Replace(recorded, `"content"`, `"speaker":"bob@example.com","content"`, 1))
	if d, err = newWriter(t, write.Config{Detector: detector, OnFound: write.FoundLabel}).Prepare("acme", "one", spoken); err != nil || d.Extensions[schemas.ExtensionDetected] != "email" {
		t.Errorf("a speaker: %v, %v", d.Extensions, err)
	}
	d, err = newWriter(t, write.Config{Detector: detector, OnFound: write.FoundRedact}).Prepare("acme", "one", spoken)
	if err != nil || !strings.Contains(string(d.Data), `"speaker":"[email]"`) || d.Extensions[schemas.ExtensionRedacted] != "/speaker" {
		t.Errorf("a redacted speaker: %s %v, %v", d.Data, d.Extensions, err)
	}
	masked := newWriter(t, write.Config{Detector: detector, OnFound: write.FoundRefuse}).Mask([]byte(`{"data":{"content":"ada@example.org"}}`))
	if string(masked) != `{"data":{"content":"[email]"}}` {
		t.Errorf("masked %s", masked)
	}
	for _, c := range []write.Config{{OnFound: "blur", Detector: detector}, {OnFound: write.FoundLabel}} {
		if _, err := write.New(c); err == nil {
			t.Errorf("%q without what it needs is taken", c.OnFound)
		}
	}
}

func FuzzPrepare(f *testing.F) {
	f.Add("e1", "agent", schemas.TypeMemoryRecorded, "m1", "acme", []byte(recorded))
	f.Add("e1", "agent", schemas.TypeMemoryErased, "", "acme", []byte(`{"scope":{"tenant":"acme"},"items":["x"]}`))
	f.Add("", "", "", "", "", []byte(`null`))
	w := newWriter(f, write.Config{})
	f.Fuzz(func(t *testing.T, id, source, eventType, subject, tenant string, data []byte) {
		ev := event.New()
		ev.SetID(id)
		ev.SetSource(source)
		ev.SetType(eventType)
		ev.SetSubject(subject)
		ev.DataEncoded = data
		d, err := w.Prepare(tenant, "one", ev)
		if err != nil {
			var r *write.Rejection
			if !errors.As(err, &r) || !schemas.ValidToken(r.DLQReason()) || len(r.Issues) == 0 {
				t.Fatalf("error %v is no full rejection", err)
			}
			return
		}
		if d.Tenant != tenant || !bytes.Equal(d.Data, data) || !schemas.ValidID(d.ID) || !schemas.ValidID(d.Subject) {
			t.Fatalf("draft %+v", d)
		}
		again, err := w.Prepare(tenant, "one", ev)
		if err != nil || !reflect.DeepEqual(d, again) {
			t.Fatalf("the same event gives another draft: %v", err)
		}
	})
}

// TestPrepareSaysWhatIsTouched: what an event may change is named by what its JSON means,
// not by how it is spelt.
func TestPrepareSaysWhatIsTouched(t *testing.T) {
	t.Parallel()
	const scope = `"scope":{"tenant":"acme"}`
	links := `"links":[{"rel":"mentions","to":"a"},{"rel":"supersede\u0073","to":"b"}]`
	for _, c := range []struct {
		eventType, data string
		want            []write.Touch
	}{
		{schemas.TypeMemoryRecorded, strings.Replace(recorded, `"content"`, links+`,"content"`, 1), []write.Touch{{ID: "m1", Pointer: "/data/id"}, {ID: "b", Pointer: "/data/links/1/to"}}},
		{schemas.TypeMemoryLinked, `{` + scope + `,"from":"m1",` + links + `}`, []write.Touch{{ID: "m1", Pointer: "/data/from"}, {ID: "b", Pointer: "/data/links/1/to"}}},
		{schemas.TypeMemorySuperseded, `{` + scope + `,"item":"m1","by":"b"}`, []write.Touch{{ID: "m1", Pointer: "/data/item"}}},
		{schemas.TypeMemoryAccessed, `{` + scope + `,"items":["m1"]}`, nil},
		{schemas.TypeMemoryErased, `{` + scope + `,"items":["m1"]}`, nil},
	} {
		ev := newEvent(c.eventType, c.data)
		ev.SetSubject("m1")
		ev.SetExtension(schemas.ExtensionRoles, "a,,b")
		d, err := newWriter(t, write.Config{}).Prepare("acme", "one", ev)
		if err != nil || !slices.Equal(d.Touches, c.want) {
			t.Errorf("%s touches %v, %v", c.eventType, d.Touches, err)
		}
		_, kept := d.Extensions[schemas.ExtensionRoles]
		if erasing := c.eventType == schemas.TypeMemoryErased; !slices.Equal(d.Roles, []string{"a", "b"}) || kept != erasing {
			t.Errorf("%s claims %q, and the log keeps that: %t", c.eventType, d.Roles, kept)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	w := newWriter(b, write.Config{})
	ev := newEvent(schemas.TypeMemoryRecorded, recorded)
	for b.Loop() {
		if _, err := w.Prepare("acme", "one", ev); err != nil {
			b.Fatal(err)
		}
	}
}

// A source that names an agent is the agent's own, with what stands behind a slash. What an event
// claims is not in the log.
func TestPrepareTakesAnAgentsOwnSource(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"satchel://agents/acme/one", "satchel://agents/acme/one/import"} {
		ev := newEvent(schemas.TypeMemoryRecorded, recorded)
		ev.SetSource(source)
		ev.SetExtension(schemas.ExtensionLevel, "internal")
		d, err := newWriter(t, write.Config{}).Prepare("acme", "one", ev)
		if _, kept := d.Extensions[schemas.ExtensionLevel]; err != nil || d.Level != schemas.Internal || kept {
			t.Errorf("%s: %v, level %v, in the log %t", source, err, d.Level, kept)
		}
	}
	d, err := newWriter(t, write.Config{}).Prepare("acme", "one", newEvent(schemas.TypeMemoryRecorded, recorded))
	if err != nil || d.Level != schemas.Restricted {
		t.Errorf("without a claim: %v, level %v", err, d.Level)
	}
}
