package isolation_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"satchel/pipeline/isolation"
)

func newSealer(t testing.TB, key byte, now *time.Time) *isolation.Sealer {
	t.Helper()
	s, err := isolation.NewSealer(isolation.SealerConfig{Key: bytes.Repeat([]byte{key}, 32), TTL: time.Minute, IDs: func() string { return "handle-1" },
		Clock: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func claim() isolation.Claim {
	return isolation.Claim{Tenant: "acme", ItemID: "log1", SHA256: strings.Repeat("ab", 32), Kind: "agent", Principal: "planner",
		Level: 1, Groups: []string{"ops"}, Roles: []string{"auditor"}, Purpose: "support"}
}

func TestSeal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	s := newSealer(t, 1, &now)
	handle, sealed, err := s.Seal(claim())
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Open("acme", handle)
	if err != nil || got.Principal != "planner" || got.ItemID != "log1" || got.Purpose != "support" || !slices.Equal(got.Groups, []string{"ops"}) || got.ID != "handle-1" {
		t.Errorf("%+v, %v", got, err)
	}
	if !sealed.ExpiresAt.Equal(now.Add(time.Minute)) || isolation.HandleTenant(handle) != "acme" {
		t.Errorf("sealed %+v", sealed)
	}
	now = now.Add(time.Minute)
	if _, err := s.Open("acme", handle); !errors.Is(err, isolation.ErrHandle) {
		t.Errorf("expired: %v", err)
	}
}

// Whatever is wrong with a handle, the error is the same.
func TestOpenRefusesAlike(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	s := newSealer(t, 1, &now)
	handle, _, err := s.Seal(claim())
	if err != nil {
		t.Fatal(err)
	}
	foreign, _, err := newSealer(t, 2, &now).Seal(claim())
	if err != nil {
		t.Fatal(err)
	}
	other := claim()
	other.Tenant = "other"
	others, _, err := s.Seal(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]string{
		"another key": foreign, "another tenant": others, "empty": "", "no signature": strings.SplitAfterN(handle, ".", 3)[0] + strings.SplitAfterN(handle, ".", 3)[1],
		"padding": handle + "=", "line break": handle + "\n", "twice": handle + handle, "another version": "sah2" + handle[4:],
	} {
		if _, err := s.Open("acme", h); err == nil || err.Error() != isolation.ErrHandle.Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No single bit of a handle is spare.
func TestOneBitChanged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	s := newSealer(t, 1, &now)
	handle, _, err := s.Seal(claim())
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(handle) {
		for bit := range 8 {
			changed := []byte(handle)
			changed[i] ^= 1 << bit
			if _, err := s.Open("acme", string(changed)); !errors.Is(err, isolation.ErrHandle) {
				t.Fatalf("byte %d, bit %d changed: %v", i, bit, err)
			}
		}
	}
}

func TestSealedIsOpened(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	s := newSealer(t, 1, &now)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 20, -1)
		c := isolation.Claim{Tenant: rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`).Draw(t, "tenant"), ItemID: text.Draw(t, "item"), Principal: text.Draw(t, "principal"),
			Purpose: text.Draw(t, "purpose"), Groups: rapid.SliceOfN(text, 1, 3).Draw(t, "groups")}
		handle, _, err := s.Seal(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Open(c.Tenant, handle)
		if err != nil || got.ItemID != c.ItemID || got.Principal != c.Principal || got.Purpose != c.Purpose || !slices.Equal(got.Groups, c.Groups) {
			t.Fatalf("%+v became %+v: %v", c, got, err)
		}
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	id := func() string { return "x" }
	for name, cfg := range map[string]isolation.SealerConfig{
		"short key": {Key: make([]byte, 31), IDs: id}, "no ids": {Key: make([]byte, 32)},
		"negative": {Key: make([]byte, 32), IDs: id, TTL: -1}, "too long": {Key: make([]byte, 32), IDs: id, TTL: isolation.MaxArtifactTTL + 1},
	} {
		if _, err := isolation.NewSealer(cfg); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func FuzzOpen(f *testing.F) {
	now := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	s := newSealer(f, 1, &now)
	handle, _, err := s.Seal(claim())
	if err != nil {
		f.Fatal(err)
	}
	f.Add("acme", handle)
	f.Add("acme", "sah1.e30.")
	f.Add("", "sah1..")
	f.Fuzz(func(t *testing.T, tenant, h string) {
		if got, err := s.Open(tenant, h); err == nil && (h != handle || got.Tenant != tenant) || err != nil && !errors.Is(err, isolation.ErrHandle) {
			t.Fatalf("%q opens as %+v: %v", h, got, err)
		}
	})
}

func TestProof(t *testing.T) {
	t.Parallel()
	var now time.Time
	s, hash := newSealer(t, 1, &now), strings.Repeat("ab", 32)
	proof := s.Prove("acme", "planner", hash)
	if !s.Proves(proof, "acme", "planner", hash) {
		t.Error("a proof does not hold")
	}
	for name, ok := range map[string]bool{
		"another tenant": s.Proves(proof, "other", "planner", hash), "another agent": s.Proves(proof, "acme", "low", hash),
		"another content": s.Proves(proof, "acme", "planner", strings.Repeat("ac", 32)), "none": s.Proves("", "acme", "planner", hash),
		"another key": newSealer(t, 2, &now).Proves(proof, "acme", "planner", hash), "nobody": s.Proves(s.Prove("acme", "", hash), "acme", "", hash),
	} {
		if ok {
			t.Errorf("%s: the proof holds", name)
		}
	}
}
