package remote_test

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
	"satchel/policies/opa"
	"satchel/policies/opa/remote"
	builtin "satchel/policies/rego"
	"satchel/schemas"
	"satchel/test/conformance/policytest"
	"satchel/test/parts"
	"satchel/test/testenv/opatest"
)

// hundred is a request for 100 items of as many profiles, most of them refused.
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

// shown is hundred with every item allowed, some of it redacted, masked or cut.
func shown() policies.Request {
	r := hundred()
	for i := range r.Resources {
		f := &r.Resources[i].Facets
		f.Level, f.Trust = schemas.Level(i%2), 0.5+float64(i)/1000
		if f.Groups != nil {
			f.Groups = append(f.Groups, "team-10")
		}
		switch i % 7 {
		case 0:
			r.Resources[i].PIIFlags = []string{"$.content.email"}
		case 1:
			f.Labels = append(f.Labels, "detected:email")
		case 2:
			f.Labels = append(f.Labels, "extract:40")
		}
		if i%3 == 0 {
			r.Resources[i].ExpiresAt = noon().Add(time.Duration(i+1) * time.Hour)
		}
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

// measure times n decisions on r; a cold one is the first of its purpose. The
// processor time is that of this process, without the server's. What takes longer than
// limit at the 95th percentile is said to; 0 is no limit.
func measure(t *testing.T, name string, limit time.Duration, n int, p policies.PDP, r policies.Request, cold bool) {
	t.Helper()
	times := make([]time.Duration, n)
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
	p95, above := times[n*95/100], ""
	if limit > 0 && p95 > limit {
		above = fmt.Sprintf("   p95 is above %.0f ms", ms(limit))
	}
	t.Logf("%-34s p50 %7.3f ms   p95 %7.3f ms   CPU %7.3f ms%s", name, ms(times[n/2]), ms(p95), ms(cpu)/float64(n), above)
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// TestConformanceOfOPA runs the suite on an OPA server in a process of its own.
func TestConformanceOfOPA(t *testing.T) {
	t.Parallel()
	t.Run("an OPA process", func(t *testing.T) {
		t.Parallel()
		server := opatest.Start(t, builtin.Bundle(), "built-in")
		policytest.Run(t, func(t *testing.T) policies.PDP {
			return open(t, remote.Config{URL: server.URL, Timeout: time.Minute, CacheTTL: time.Minute})
		})
	})
}

// TestOPAProcess holds a real server to the embedded one, kills it, and prints what each
// costs. It takes a while, so it runs where OPA is required.
func TestOPAProcess(t *testing.T) {
	if !parts.Required("opa") {
		t.Skip("runs where opa is required: it measures")
	}
	server := opatest.Start(t, builtin.Bundle(), "built-in")
	embedded, err := opa.New(t.Context(), opa.Config{})
	if err != nil {
		t.Fatal(err)
	}
	uncached := open(t, remote.Config{URL: server.URL, Timeout: time.Minute})
	cached := open(t, remote.Config{URL: server.URL, Timeout: time.Minute, CacheTTL: time.Minute})
	t.Run("same as embedded", func(t *testing.T) { policytest.Same(t, 100, embedded, uncached) })
	if got := uncached.Revision(); got != "built-in" {
		t.Errorf("revision %q", got)
	}

	single := open(t, remote.Config{URL: server.URL, Timeout: time.Minute, BatchItems: 1})
	whole := open(t, remote.Config{URL: server.URL, Timeout: time.Minute, BatchItems: 100})
	t.Log("100 items of 100 profiles, one request after the other")
	const local, batched, kept = 5 * time.Millisecond, 10 * time.Millisecond, time.Millisecond
	measure(t, "embedded, cold", local, 200, embedded, hundred(), true)
	measure(t, "embedded, cold, all allowed", local, 200, embedded, shown(), true)
	measure(t, "embedded, cached", kept, 500, embedded, hundred(), false)
	measure(t, "remote, batches of one, cold", 0, 40, single, hundred(), true)
	measure(t, "remote, one batch, cold", 0, 200, whole, hundred(), true)
	measure(t, "remote, batched, cold", batched, 200, uncached, hundred(), true)
	measure(t, "remote, batched, cold, all allowed", batched, 200, uncached, shown(), true)
	measure(t, "remote, cached", kept, 500, cached, hundred(), false)
	t.Logf("cache hit rate %.3f", cached.Stats().HitRate())
	tuned := opatest.Start(t, builtin.Bundle(), "built-in", "GOGC=400")
	whole = open(t, remote.Config{URL: tuned.URL, Timeout: time.Minute, BatchItems: 100})
	uncached = open(t, remote.Config{URL: tuned.URL, Timeout: time.Minute})
	t.Log("a server with GOGC=400 in its environment, as deploy/compose has it")
	measure(t, "remote, one batch, cold", 0, 200, whole, hundred(), true)
	measure(t, "remote, batched, cold", batched, 200, uncached, hundred(), true)
	measure(t, "remote, batched, cold, all allowed", batched, 200, uncached, shown(), true)
	killed(t, server, embedded)
}

// killed kills the server while it is asked: what is answered is right, and then it is
// deny or the local rules.
func killed(t *testing.T, server *opatest.Server, embedded policies.PDP) {
	t.Helper()
	strict := open(t, remote.Config{URL: server.URL})
	standing := policies.NewLocalRules(open(t, remote.Config{URL: server.URL}), embedded)
	r, s := hundred(), planner(t, "")
	right, err := embedded.Decide(t.Context(), s, r)
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
		who := "standing in: server"
		if len(d.Warnings) > 0 {
			who = "standing in: local rules"
		}
		counts[who]++
		if diff := cmp.Diff(right.Verdicts, d.Verdicts, cmpopts.EquateEmpty()); diff != "" {
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
	if counts["strict: denied"] < 20 || counts["standing in: local rules"] < 20 {
		t.Errorf("after the kill: %v", counts)
	}
	t.Logf("killed in mid-run: %v, slowest pair %.2f ms", counts, ms(slowest))
}
