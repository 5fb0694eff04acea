package policies_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

func TestInputIsCanonical(t *testing.T) {
	t.Parallel()
	s, err := scope.New("acme", scope.Principal{Kind: "agent", ID: "planner", Level: 1, Groups: []string{"ops", "dev"}}, "support")
	if err != nil {
		t.Fatal(err)
	}
	r := policies.Request{Action: "read", Now: time.Unix(10, 5), Resources: []policies.Resource{{
		ID: `a"b`, PIIFlags: []string{"$.content"}, CreatedAt: time.Unix(0, 0), ValidTo: time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC),
		Facets: schemas.Facets{Kind: "code", Type: "semantic", Level: schemas.Restricted, Labels: []string{"level:restricted"},
			PII: true, Trust: 0.25, Sensitivity: math.NaN()},
	}}}
	const want = `{"action":"read","items":[{"category":"","confidence":1,"created_at":1,"credentials":false,"expires_at":0,"groups":[],` +
		`"id":"a\"b","kind":"code","labels":["level:restricted"],"level":3,"pii":true,"pii_flags":["$.content"],"policy_tags":[],"project":"","purposes":[],` +
		`"sensitivity":null,"session":"","signer":"","source_uri":"","speaker":"","trust":0.25,"type":"semantic","valid_to":9223372036854775807}],` +
		`"now":10000000005,"purpose":"support","subject":{"groups":["dev","ops"],"id":"planner","kind":"agent","level":1,"roles":[],"tenant":"acme"}}`
	if got := string(policies.AppendRequest(nil, s, &r, policies.AllAttributes())); got != want {
		t.Errorf("input is\n%s, want\n%s", got, want)
	}
	sum := sha256.Sum256([]byte(want))
	if got := policies.InputHash(s, &r); got != hex.EncodeToString(sum[:]) {
		t.Errorf("hash is %s", got)
	}
	some, err := policies.ParseAttributes([]string{"trust", "level"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Resources[0].AppendInput(nil, some)); got != `{"level":3,"trust":0.25}` {
		t.Errorf("attributes are %s", got)
	}
	if _, err := policies.ParseAttributes([]string{"content"}); err == nil {
		t.Error("an unknown attribute was accepted")
	}
}

func TestInputIsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		want := policies.Resource{
			ID: text.Draw(t, "id"), PIIFlags: rapid.SliceOf(text).Draw(t, "flags"),
			Facets: schemas.Facets{Trust: rapid.Float64().Draw(t, "trust"), Signer: text.Draw(t, "signer")},
		}
		var got struct {
			ID     string   `json:"id"`
			Flags  []string `json:"pii_flags"`
			Trust  float64  `json:"trust"`
			Signer string   `json:"signer"`
		}
		raw := want.AppendInput(nil, policies.AllAttributes())
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if got.ID != want.ID || len(got.Flags) != len(want.PIIFlags) || got.Trust != want.Facets.Trust || got.Signer != want.Facets.Signer {
			t.Errorf("input %s of %+v", raw, want)
		}
	})
}

// TestInputHashOfMany holds the hash of requests of any size to that of the whole input.
func TestInputHashOfMany(t *testing.T) {
	t.Parallel()
	s, err := scope.New("acme", scope.Principal{ID: "planner"}, "support")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 7, 40, 300} {
		r := policies.Request{Action: "read", Now: time.Unix(1, 0), Resources: make([]policies.Resource, n)}
		for i := range r.Resources {
			r.Resources[i].ID = strings.Repeat("<é>", i*i%900)
		}
		sum := sha256.Sum256(policies.AppendRequest(nil, s, &r, policies.AllAttributes()))
		if got := policies.InputHash(s, &r); got != hex.EncodeToString(sum[:]) {
			t.Errorf("%d items: hash is %s", n, got)
		}
	}
}

// TestAppendStringIsJSON holds every string to how encoding/json writes it.
func TestAppendStringIsJSON(t *testing.T) {
	t.Parallel()
	check := func(fail func(string, ...any), s string) {
		want, err := json.Marshal(s)
		if got := policies.AppendString(nil, s); err != nil || string(got) != string(want) {
			fail("%q: %s, want %s (%v)", s, got, want, err)
		}
	}
	for b := range 256 {
		for at := range 17 {
			s := []byte("level:internal ok")
			s[at] = byte(b)
			check(t.Errorf, string(s))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SliceOf(rapid.SampledFrom([]string{"a", "tenant:acme", " ", "!", "'", "\"", "\\", "<", ">", "&", "=", "?", "[", "]", "\x1f", "\x7f", "é", "\u2028", "\xff", "~"})).Draw(t, "parts")
		check(t.Fatalf, strings.Join(s, ""))
	})
}
