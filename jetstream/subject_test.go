package jetstream_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"satchel/jetstream"
	"satchel/schemas"
)

func TestSubjectsRoundTrip(t *testing.T) {
	t.Parallel()
	token := rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`)
	rapid.Check(t, func(t *rapid.T) {
		tenant, agent := token.Draw(t, "tenant"), token.Draw(t, "agent")
		check := func(name, subject string, err error, parsed func(string) (string, string, error), second string) {
			if err != nil {
				t.Fatalf("%s: build: %v", name, err)
			}
			gotTenant, gotSecond, err := parsed(subject)
			if err != nil || gotTenant != tenant || gotSecond != second {
				t.Fatalf("%s: parse(%q) = %q, %q, %v", name, subject, gotTenant, gotSecond, err)
			}
			if got, err := jetstream.TenantOf(subject); err != nil || got != tenant {
				t.Fatalf("%s: TenantOf(%q) = %q, %v", name, subject, got, err)
			}
		}
		s, err := jetstream.MemorySubject(tenant, agent)
		check("memory", s, err, jetstream.ParseMemory, agent)
		if got := jetstream.OriginalSubject("p.11." + s); got != s {
			t.Fatalf("OriginalSubject = %q, want %q", got, s)
		}
		s, err = jetstream.DLQSubject(tenant, agent)
		check("dlq", s, err, jetstream.ParseDLQ, agent)
		built := func(got string, err error, want string) {
			if err != nil || got != want {
				t.Fatalf("built %q, %v; want %q", got, err, want)
			}
			if of, err := jetstream.TenantOf(got); err != nil || of != tenant {
				t.Fatalf("TenantOf(%q) = %q, %v", got, of, err)
			}
		}
		verb := rapid.SampledFrom(jetstream.ContextVerbs()).Draw(t, "verb")
		s, err = jetstream.ContextSubject(tenant, verb)
		built(s, err, "ctx.v1."+tenant+"."+verb)
		role := rapid.SampledFrom(jetstream.ContextRoles()).Draw(t, "role")
		s, err = jetstream.RoleSubject(tenant, role)
		built(s, err, "ctx.v1."+tenant+".role."+role)
		lv := rapid.SampledFrom(jetstream.LogVerbs()).Draw(t, "log verb")
		s, err = jetstream.LogSubject(tenant, lv)
		built(s, err, "log.v1."+tenant+"."+lv)
		s, err = jetstream.PutSubject(tenant)
		built(s, err, "mem.v1."+tenant+".put")
		s, err = jetstream.ArtifactSubject(tenant)
		built(s, err, "art.v1."+tenant+".open")
		kind := rapid.SampledFrom(jetstream.LedgerKinds()).Draw(t, "kind")
		s, err = jetstream.LedgerSubject(tenant, kind, agent)
		check("ledger", s, err, func(s string) (string, string, error) {
			tenant, gotKind, agent, err := jetstream.ParseLedger(s)
			if gotKind != kind {
				t.Fatalf("kind = %q, want %q", gotKind, kind)
			}
			return tenant, agent, err
		}, agent)
	})
}

func TestSubjectsRefuse(t *testing.T) {
	t.Parallel()
	bad := []string{"", "a.b", "*", ">", "a b", "é", strings.Repeat("x", 65), "a\n"}
	for _, token := range bad {
		for name, build := range map[string]func() (string, error){
			"memory tenant": func() (string, error) { return jetstream.MemorySubject(token, "a") },
			"memory agent":  func() (string, error) { return jetstream.MemorySubject("t", token) },
			"put":           func() (string, error) { return jetstream.PutSubject(token) },
			"context":       func() (string, error) { return jetstream.ContextSubject("t", token) },
			"role":          func() (string, error) { return jetstream.RoleSubject("t", token) },
			"log":           func() (string, error) { return jetstream.LogSubject("t", token) },
			"ledger kind":   func() (string, error) { return jetstream.LedgerSubject("t", schemas.LedgerKind(token), "a") },
			"ledger agent":  func() (string, error) { return jetstream.LedgerSubject("t", schemas.LedgerPack, token) },
			"ledger tenant": func() (string, error) { return jetstream.LedgerTenantSubject(token) },
			"dlq":           func() (string, error) { return jetstream.DLQSubject("t", token) },
		} {
			if s, err := build(); !errors.Is(err, jetstream.ErrSubject) {
				t.Errorf("%s(%q) = %q, %v; want ErrSubject", name, token, s, err)
			}
		}
	}
	for _, s := range []string{"p.16.mem.v1.t.evt.a", "p.x.mem.v1.t.evt.a", "p.1.prov.v1.t.a.b", "p.1", "mem.v1.t.evt.a"} {
		if got := jetstream.OriginalSubject(s); got != s {
			t.Errorf("OriginalSubject(%q) = %q, want it as it is", s, got)
		}
	}
}

func FuzzParseSubjects(f *testing.F) {
	f.Add("mem.v1.t.evt.a")
	f.Add("mem.v1.t.put")
	f.Add("p.3.mem.v1.t.evt.a")
	f.Add("prov.v1.t.memory.a")
	f.Add("ctx.v1.t.role.planner")
	f.Add("dlq.v1.t.id_reuse")
	f.Fuzz(func(t *testing.T, s string) {
		if tenant, agent, err := jetstream.ParseMemory(s); err == nil {
			if again, err := jetstream.MemorySubject(tenant, agent); err != nil || again != s {
				t.Fatalf("memory %q rebuilt as %q, %v", s, again, err)
			}
		}
		if tenant, kind, agent, err := jetstream.ParseLedger(s); err == nil {
			if again, err := jetstream.LedgerSubject(tenant, kind, agent); err != nil || again != s {
				t.Fatalf("ledger %q rebuilt as %q, %v", s, again, err)
			}
		}
		if tenant, reason, err := jetstream.ParseDLQ(s); err == nil {
			if again, err := jetstream.DLQSubject(tenant, reason); err != nil || again != s {
				t.Fatalf("dlq %q rebuilt as %q, %v", s, again, err)
			}
		}
		if tenant, err := jetstream.TenantOf(s); err == nil && !jetstream.ValidToken(tenant) {
			t.Fatalf("TenantOf(%q) = %q", s, tenant)
		}
	})
}
