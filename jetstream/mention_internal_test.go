package jetstream

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"satchel/jetstream/cloudevent"
	"satchel/worker/transport"
)

const memoryType = "io.satchel.memory."

// letter is a dead letter of the tenant acme in structured mode.
func letter(data string) stored { return letterOn("dlq.v1.acme.malformed", data) }

func letterOn(subject, data string) stored {
	return stored{subject: subject, header: nats.Header{cloudevent.ContentType: {cloudevent.StructuredType}}, data: []byte(data)}
}

// eventOf is an event about memory, whose data is data.
func eventOf(kind, data string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":"e1","source":"s","type":"%s%s.v1","data":%s}`, memoryType, kind, data)
}

func binaryLetter(data string, headers ...string) stored {
	h := nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"e1"}, "ce-source": {"s"}, "ce-type": {memoryType + "recorded.v1"}}
	for i := 0; i < len(headers); i += 2 {
		h[headers[i]] = []string{headers[i+1]}
	}
	return stored{subject: "dlq.v1.acme.malformed", header: h, data: []byte(data)}
}

func TestRelationOfADeadLetter(t *testing.T) {
	t.Parallel()
	inBase64 := base64.StdEncoding.EncodeToString([]byte(`{"id":"victim-7","content":"x"}`))
	quoted, err := json.Marshal(`{"id":"victim-7"}`)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stored
		want relation
	}{
		"recorded":                  {letter(eventOf("recorded", `{"id":"victim-7","content":"x"}`)), related},
		"recorded, another":         {letter(eventOf("recorded", `{"id":"victim-8","content":"x"}`)), unrelated},
		"longer id":                 {letter(eventOf("recorded", `{"id":"victim-7-b","content":"x"}`)), unrelated},
		"shorter id":                {letter(eventOf("recorded", `{"id":"victim","content":"x"}`)), unrelated},
		"id with a blank":           {letter(eventOf("recorded", `{"id":"victim-7 ","content":"x"}`)), related},
		"id with a sign":            {letter(eventOf("recorded", `{"id":"<victim-7>","content":"x"}`)), related},
		"id in a sentence":          {letter(eventOf("recorded", `{"id":"note of victim-7","content":"x"}`)), related},
		"id twice":                  {letter(eventOf("recorded", `{"id":"victim-7","id":"other","content":"x"}`)), related},
		"escaped id":                {letter(eventOf("recorded", `{"id":"\u0076ictim-7","content":"x"}`)), related},
		"subject":                   {letter(strings.Replace(eventOf("recorded", `{"content":"x"}`), `"data"`, `"subject":"victim-7","data"`, 1)), related},
		"extension":                 {letter(strings.Replace(eventOf("recorded", `{"id":"other"}`), `"data"`, `"about":"victim-7","data"`, 1)), related},
		"linked from":               {letter(eventOf("linked", `{"from":"victim-7","links":[{"rel":"x","to":"b"}]}`)), related},
		"linked to":                 {letter(eventOf("linked", `{"from":"b","links":[{"rel":"x","to":"victim-7"}]}`)), related},
		"linked, others":            {letter(eventOf("linked", `{"from":"b","links":[{"rel":"x","to":"c"}]}`)), unrelated},
		"superseded":                {letter(eventOf("superseded", `{"item":"b","by":"victim-7"}`)), related},
		"accessed":                  {letter(eventOf("accessed", `{"items":["b","victim-7"]}`)), related},
		"erased, others":            {letter(eventOf("erased", `{"items":["b","c"]}`)), unrelated},
		"derived":                   {letter(eventOf("recorded", `{"id":"b","links":[{"rel":"derived_from","to":"victim-7"}],"content":"x"}`)), related},
		"address":                   {letter(eventOf("recorded", `{"id":"b","provenance":{"source_uri":"mem://acme/victim-7?v=2"}}`)), related},
		"another says the word":     {letter(eventOf("recorded", `{"id":"b","content":"as victim-7 said"}`)), unrelated},
		"another has it as content": {letter(eventOf("recorded", `{"id":"b","content":{"of":"victim-7"},"kind":"victim-7","security_label":["victim-7"]}`)), unrelated},
		"number":                    {letter(eventOf("recorded", `{"id":4711,"content":"x"}`)), related},
		"no id":                     {letter(eventOf("recorded", `{"content":"x"}`)), undecided},
		"no id, says the word":      {letter(eventOf("recorded", `{"content":"as victim-7 said"}`)), related},
		"bad id":                    {letter(eventOf("recorded", `{"id":"bad id","content":"x"}`)), undecided},
		"no data":                   {letter(eventOf("recorded", `null`)), undecided},
		"other data":                {letter(eventOf("recorded", `[1,2]`)), undecided},
		"truncated":                 {letter(`{"specversion":"1.0","id":"e1","data":{"id":"victim-7","content":"x`), related},
		"truncated before the id":   {letter(`{"specversion":"1.0","id":"e1","data":{"cont`), undecided},
		"truncated escapes":         {letter(`{"data":{"id":"victim\u002d7","content":"x`), related},
		"specversion":               {letter(strings.Replace(eventOf("recorded", `{"id":"victim-7"}`), "1.0", "0.3", 1)), related},
		"no event":                  {letter(`{"id":"victim-7","content":"x"}`), related},
		"no event, another":         {letter(`{"id":"b","content":"x"}`), undecided},
		"data_base64":               {letter(strings.Replace(eventOf("recorded", `"`+inBase64+`"`), `"data"`, `"data_base64"`, 1)), related},
		"base64, truncated":         {letter(`{"specversion":"1.0","data_base64":"` + inBase64[:len(inBase64)-3]), related},
		"base64 of URLs":            {letter(`{"data":"` + base64.RawURLEncoding.EncodeToString([]byte(`{"n":"??>>","id":"victim-7"}`))), related},
		"JSON in JSON":              {letter(eventOf("recorded", string(quoted))), related},
		"percent":                   {letter("id=%76ictim-7&content=x"), related},
		"percent in base64":         {letter(base64.StdEncoding.EncodeToString([]byte("id=%76ictim-7"))), related},
		"junk":                      {letter("junk\x00\xff"), undecided},
		"nested":                    {letter(eventOf("recorded", `{"id":"b","x":`+strings.Repeat("[", 5000)+`"victim-7"`+strings.Repeat("]", 5000)+`}`)), related},
		"nested too deep":           {binaryLetter(`{"id":"b","x":` + strings.Repeat("[", 50000)), undecided},
		"binary":                    {binaryLetter(`{"id":"victim-7"}`), related},
		"binary, subject":           {binaryLetter(`{"id":"b"}`, "ce-subject", "victim%2D7"), related},
		"binary, no event":          {stored{subject: "dlq.v1.acme.malformed", header: nats.Header{"X-About": {"victim-7"}}, data: []byte("\x00")}, related},
		"copy":                      {letter(strings.Replace(eventOf("recorded", `{"id":"b"}`), `"e1"`, `"e-victim"`, 1)), related},
		"cause is ours":             {stored{subject: "dlq.v1.acme.malformed", header: nats.Header{HeaderDLQCause: {"victim-7"}}, data: []byte("\x00")}, undecided},
		"own, under no subject":     {letterOn("dlq.v1._.malformed", eventOf("recorded", `{"id":"victim-7","scope":{"tenant":"acme"}}`)), related},
		"nobody's":                  {letterOn("dlq.v1._.malformed", eventOf("recorded", `{"id":"victim-7"}`)), related},
		"nobody's junk":             {letterOn("dlq.v1._.malformed", "junk"), undecided},
		"another's, nobody's":       {letterOn("dlq.v1._.malformed", eventOf("recorded", `{"id":"victim-7","scope":{"tenant":"other"}}`)), unrelated},
		"own, another's subject":    {letterOn("dlq.v1.other.wrong_tenant", eventOf("recorded", `{"id":"victim-7","scope":{"tenant":"acme"}}`)), related},
		"another's":                 {letterOn("dlq.v1.other.wrong_tenant", eventOf("recorded", `{"id":"victim-7","scope":{"tenant":"third"}}`)), unrelated},
		"another's junk":            {letterOn("dlq.v1.other.malformed", "junk victim-7"), unrelated},
	} {
		m := newMentions("acme", []transport.Copy{{Item: "victim-7"}, {Item: "4711"}, {Source: "s", ID: "e-victim"}})
		if got := m.findRelation(c.stored); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The id of an item may be a word that every event has.
func TestAnItemCalledLikeAMember(t *testing.T) {
	t.Parallel()
	event := eventOf("recorded", `{"id":"b","type":"episodic","kind":"memory","scope":{"tenant":"acme"},"created_at":"2026-03-03T10:00:00Z",
		"security_label":["level:internal"],"speaker":"Jonas","role":"user","session":"s1","content":"the content of b"}`)
	for _, id := range []string{"id", "type", "episodic", "memory", "level:internal", "Jonas", "user", "s1", "content", "the", "1.0", "s", "data", "e1"} {
		m := newMentions("acme", []transport.Copy{{Item: id}})
		if got := m.findRelation(letter(event)); got != unrelated {
			t.Errorf("an item %q: %v", id, got)
		}
	}
}

func FuzzRelation(f *testing.F) {
	f.Add([]byte(eventOf("recorded", `{"id":"victim-7","content":"x"}`)))
	f.Add([]byte(`%76ictim\u002d7 dmljdGltLTc=`))
	m := newMentions("acme", []transport.Copy{{Item: "victim-7"}})
	f.Fuzz(func(t *testing.T, data []byte) {
		with := append(append([]byte{}, data...), []byte(` "victim-7"`)...)
		// The id is always found in data that is no event.
		if s := (stored{subject: "dlq.v1.acme.malformed", header: nats.Header{}, data: with}); m.findRelation(s) != related && !m.readLetter(s).known {
			t.Errorf("%q: %v", with, m.findRelation(s))
		}
	})
}
