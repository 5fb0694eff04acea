package oparemote_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
)

// opa is a real server in a process of its own.
type opa struct {
	*exec.Cmd
	url    string
	bundle string
}

// startOPA builds OPA from the module that go.mod names and runs it over the built-in
// bundle. It is for SATCHEL_TEST_REQUIRE=opa; SATCHEL_TEST_OPA names a binary there is.
func startOPA(t *testing.T) *opa {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv("SATCHEL_TEST_REQUIRE"), ","), "opa") {
		t.Skip("SATCHEL_TEST_REQUIRE does not name opa")
	}
	binary := os.Getenv("SATCHEL_TEST_OPA")
	if binary == "" {
		dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/open-policy-agent/opa").Output()
		if err != nil {
			t.Fatal(err)
		}
		binary = filepath.Join(t.TempDir(), "opa")
		build := exec.CommandContext(t.Context(), "go", "build", "-C", strings.TrimSpace(string(dir)), "-o", binary, ".")
		build.Env = append(os.Environ(), "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	o := &opa{bundle: t.TempDir()}
	if err := os.CopyFS(o.bundle, builtin.Bundle()); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.bundle, ".manifest"), []byte(`{"revision": "built-in"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	o.url = "http://" + addr
	o.Cmd = exec.Command(binary, "run", "--server", "--disable-telemetry", "--log-level", "error", "--addr", addr, "--bundle", o.bundle)
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if o.ProcessState == nil {
			o.kill(t)
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if res, err := http.Get(o.url + "/health?bundles"); err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK {
			return o
		}
		if t.Context().Err() != nil {
			t.Fatal("OPA does not start")
		}
	}
	return nil
}

func (o *opa) kill(t *testing.T) {
	t.Helper()
	if err := o.Process.Kill(); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := o.Wait(); err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}
}

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

// measure times n decisions on hundred; a cold one is the first of its purpose.
func measure(t *testing.T, name string, n int, p policies.PDP, cold bool) (p95 time.Duration) {
	t.Helper()
	r, times := hundred(), make([]time.Duration, n)
	for i := range n + 10 {
		purpose := "warm"
		if cold {
			purpose = fmt.Sprint("p", i)
		}
		s := planner(t, purpose)
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
	slices.Sort(times)
	p95 = times[n*95/100]
	t.Logf("%-34s p50 %7.3f ms   p95 %7.3f ms", name, ms(times[n/2]), ms(p95))
	return p95
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// TestOPAProcess holds a real server to the embedded one and prints what each costs.
func TestOPAProcess(t *testing.T) {
	server := startOPA(t)
	embedded, err := opaembed.New(t.Context(), opaembed.Config{})
	if err != nil {
		t.Fatal(err)
	}
	uncached := open(t, oparemote.Config{URL: server.url, Timeout: time.Minute})
	cached := open(t, oparemote.Config{URL: server.url, Timeout: time.Minute, CacheTTL: time.Minute})
	t.Run("conformance", func(t *testing.T) {
		policytest.Run(t, func(*testing.T) policies.PDP { return cached })
	})
	t.Run("same as embedded", func(t *testing.T) { policytest.Same(t, 100, embedded, uncached) })
	if got := uncached.Revision(); got != "built-in" {
		t.Errorf("revision %q", got)
	}

	single := open(t, oparemote.Config{URL: server.url, Timeout: time.Minute, BatchItems: 1})
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
func killed(t *testing.T, server *opa, embedded policies.PDP) {
	t.Helper()
	five, err := opaembed.New(t.Context(), opaembed.Config{Bundle: fallback.Rules()})
	if err != nil {
		t.Fatal(err)
	}
	strict := open(t, oparemote.Config{URL: server.url})
	standing := fallback.New(open(t, oparemote.Config{URL: server.url}), five)
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
		server.kill(t)
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
