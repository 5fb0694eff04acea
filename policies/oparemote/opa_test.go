package oparemote_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/policies/fallback"
	"satchel/policies/opaembed"
	"satchel/policies/oparemote"
	"satchel/policies/policytest"
	builtin "satchel/policies/rego"
	"satchel/schemas"
	"satchel/test/testenv"
)

// hundred is a request for 100 items of as many profiles.
func hundred() policies.Request {
	r := policies.Request{Action: "read", Now: noon()}
	for i := range 100 {
		f := schemas.Facets{
			Kind: schemas.KindMemory, Type: schemas.Episodic, Session: fmt.Sprint("s", i), Level: schemas.Level(i % 3),
			Trust: 0.25 + float64(i)/1000, Signer: schemas.Unsigned, PII: i%7 == 0, Sensitivity: float64(i%10) / 10,
			Labels: []string{"group:team-" + fmt.Sprint(i), "level:internal", "tenant:acme"},
		}
		if i%2 == 0 {
			f.Groups = []string{fmt.Sprint("team-", i)}
		}
		r.Resources = append(r.Resources, policies.Resource{ID: fmt.Sprint("item-", i), Facets: f, CreatedAt: noon().Add(-time.Hour)})
	}
	return r
}

func planner(t *testing.T, purpose string) scope.Scope {
	t.Helper()
	s, err := scope.New("acme", scope.Principal{Kind: "agent", ID: "planner", Level: 1, Groups: []string{"team-10", "team-40"}}, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// measure times n decisions on hundred; a cold one is the first of its purpose. The
// processor time is that of this process, without the server's.
func measure(t *testing.T, name string, n int, p policies.PDP, cold bool) (p95 time.Duration) {
	t.Helper()
	r, times := hundred(), make([]time.Duration, n)
	var cpu time.Duration
	for i := range n + 10 {
		purpose := "warm"
		if cold {
			purpose = fmt.Sprint("p", i)
		}
		s := planner(t, purpose)
		if i == 10 {
			cpu = cpuTime()
		}
		start := time.Now()
		d, err := p.Decide(t.Context(), s, r)
		if err != nil {
			t.Fatal(err)
		}
		if i >= 10 {
			times[i-10] = time.Since(start)
		}
		if len(d.Verdicts) != 100 {
			t.Fatalf("%d verdicts", len(d.Verdicts))
		}
	}
	cpu = cpuTime() - cpu
	slices.Sort(times)
	p95 = times[n*95/100]
	t.Logf("%-34s p50 %7.3f ms   p95 %7.3f ms   CPU %7.3f ms", name, ms(times[n/2]), ms(p95), ms(cpu)/float64(n))
	return p95
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// TestConformanceOfOPA runs the suite on an OPA server in a process of its own.
func TestConformanceOfOPA(t *testing.T) {
	t.Parallel()
	t.Run("an OPA process", func(t *testing.T) {
		t.Parallel()
		server := testenv.StartOPA(t, builtin.Bundle(), "built-in")
		policytest.Run(t, func(t *testing.T) policies.PDP {
			return open(t, oparemote.Config{URL: server.URL, Timeout: time.Minute, CacheTTL: time.Minute})
		})
	})
}

// TestOPAProcess holds a real server to the embedded one, kills it, and prints what each
// costs. It takes a while, so it runs where OPA is required.
func TestOPAProcess(t *testing.T) {
	if !testenv.Required("opa") {
		t.Skip("runs where opa is required: it measures")
	}
	server := testenv.StartOPA(t, builtin.Bundle(), "built-in")
	embedded, err := opaembed.New(t.Context(), opaembed.Config{})
	if err != nil {
		t.Fatal(err)
	}
	uncached := open(t, oparemote.Config{URL: server.URL, Timeout: time.Minute})
	cached := open(t, oparemote.Config{URL: server.URL, Timeout: time.Minute, CacheTTL: time.Minute})
	t.Run("same as embedded", func(t *testing.T) { policytest.Same(t, 100, embedded, uncached) })
	if got := uncached.Revision(); got != "built-in" {
		t.Errorf("revision %q", got)
	}

	single := open(t, oparemote.Config{URL: server.URL, Timeout: time.Minute, BatchItems: 1})
	t.Log("100 items of 100 profiles, one request after the other")
	within := func(name string, limit time.Duration, p95 time.Duration) {
		if p95 > limit {
			t.Logf("%s: p95 %.2f ms is above %.0f ms", name, ms(p95), ms(limit))
		}
	}
	within("embedded", 5*time.Millisecond, measure(t, "embedded, cold", 200, embedded, true))
	within("embedded cached", time.Millisecond, measure(t, "embedded, cached", 500, embedded, false))
	measure(t, "remote, batches of one, cold", 40, single, true)
	within("remote batched", 10*time.Millisecond, measure(t, "remote, batched, cold", 200, uncached, true))
	within("remote cached", time.Millisecond, measure(t, "remote, cached", 500, cached, false))
	t.Logf("cache hit rate %.3f", cached.Stats().HitRate())
	killed(t, server, embedded)
}

// killed kills the server while it is asked: what is answered is right, and then it is
// deny or the five rules.
func killed(t *testing.T, server *testenv.OPAServer, embedded policies.PDP) {
	t.Helper()
	five, err := opaembed.New(t.Context(), opaembed.Config{Bundle: fallback.Rules()})
	if err != nil {
		t.Fatal(err)
	}
	strict := open(t, oparemote.Config{URL: server.URL})
	standing := fallback.New(open(t, oparemote.Config{URL: server.URL}), five)
	r, s := hundred(), planner(t, "")
	right, err := embedded.Decide(t.Context(), s, r)
	if err != nil {
		t.Fatal(err)
	}
	local, err := five.Decide(t.Context(), s, r)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	var slowest time.Duration
	decide := func(ctx context.Context) {
		start := time.Now()
		d, err := strict.Decide(ctx, s, r)
		switch {
		case err != nil:
			denied(t, d, err, 100)
			counts["strict: denied"]++
		default:
			counts["strict: server"]++
			if diff := cmp.Diff(right.Verdicts, d.Verdicts, cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
		}
		if d, err = standing.Decide(ctx, s, r); err != nil {
			t.Fatal(err)
		}
		want, who := right.Verdicts, "fallback: server"
		if len(d.Warnings) > 0 {
			want, who = local.Verdicts, "fallback: five rules"
		}
		counts[who]++
		if diff := cmp.Diff(want, d.Verdicts, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		slowest = max(slowest, time.Since(start))
	}
	for range 20 {
		decide(t.Context())
	}
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		server.Kill()
	}()
	for n := 0; n < 200; n++ {
		decide(t.Context())
	}
	<-dead
	for range 20 {
		decide(t.Context())
	}
	if counts["strict: denied"] < 20 || counts["fallback: five rules"] < 20 {
		t.Errorf("after the kill: %v", counts)
	}
	t.Logf("killed in mid-run: %v, slowest pair %.2f ms", counts, ms(slowest))
}
