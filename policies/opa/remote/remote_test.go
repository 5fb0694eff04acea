package remote_test

import (
	"context"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/policies/opa"
	"satchel/policies/opa/remote"
	"satchel/test/conformance/policytest"
)

func TestMain(m *testing.M) {
	// The suite runs on five servers here; the policy itself is checked in package opa.
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	m.Run()
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		without string
		config  remote.Config
	}{
		"batched":       {"", remote.Config{BatchItems: 3}},
		"cached":        {"", remote.Config{CacheTTL: time.Minute}},
		"one by one":    {"context_batch", remote.Config{}},
		"a small cache": {"", remote.Config{CacheTTL: time.Minute, CacheEntries: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policytest.Run(t, func(t *testing.T) policies.PDP {
				c.config.URL, c.config.Timeout = serve(t, c.without).URL, time.Minute
				return open(t, c.config)
			})
		})
	}
}

// A server with the built-in bundle decides as the library does.
func TestRemoteIsEmbedded(t *testing.T) {
	t.Parallel()
	embedded, err := opa.New(t.Context(), opa.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, without := range map[string]string{"batched": "", "one by one": "context_batch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 100 // times rapid's checks
			if without != "" {
				n = 5
			}
			policytest.Same(t, n, embedded, open(t, remote.Config{URL: serve(t, without).URL, Timeout: time.Minute}))
		})
	}
}

func TestBatchIsUsedWhereItIs(t *testing.T) {
	t.Parallel()
	for without, want := range map[string]int64{"": 1, "context_batch": 20} {
		server := serve(t, without)
		p := open(t, remote.Config{URL: server.URL, Clock: noon})
		if err := p.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		server.calls.Store(0)
		if _, err := p.Decide(t.Context(), somebody(t), ask(20)); err != nil {
			t.Fatal(err)
		}
		if got := server.calls.Load(); got != want {
			t.Errorf("without %q: %d requests for 20 items, want %d", without, got, want)
		}
		if s := p.Stats(); s.Batch != (without == "") || !s.Filter {
			t.Errorf("without %q: %+v", without, s)
		}
	}
}

// A batch that goes away is asked for one by one from then on.
func TestBatchThatGoesAway(t *testing.T) {
	t.Parallel()
	server := serve(t, "")
	p := open(t, remote.Config{URL: server.URL})
	if err := p.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.set("", func(w http.ResponseWriter, r *http.Request) bool {
		gone := strings.HasSuffix(r.URL.Path, "context_batch")
		if gone {
			fmt.Fprint(w, `{}`)
		}
		return gone
	})
	if _, err := p.Decide(t.Context(), somebody(t), ask(3)); err != nil {
		t.Error(err)
	}
	if p.Stats().Batch {
		t.Error("the batch is still asked for")
	}
}

// A server that starts has no documents until it has its bundle. Items are denied
// meanwhile, and it is not taken at that word for good, under the same revision or none.
func TestBundleThatIsLate(t *testing.T) {
	t.Parallel()
	const cooldown = 3 * time.Second
	unloaded := func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, `{}`); return true }
	for _, revision := range []string{"", "r1"} {
		server, at := serve(t, ""), &clock{at: noon()}
		p := open(t, remote.Config{URL: server.URL, Clock: at.now, Cooldown: cooldown, Timeout: time.Minute})
		decide := func(want int64) {
			t.Helper()
			server.calls.Store(0)
			if _, err := p.Decide(t.Context(), somebody(t), ask(20)); err != nil {
				t.Errorf("revision %q: %v", revision, err)
			}
			if got := server.calls.Load(); got != want {
				t.Errorf("revision %q: %d requests for 20 items, want %d", revision, got, want)
			}
		}
		server.set(revision, nil)
		decide(3)
		server.set(revision, unloaded)
		d, err := p.Decide(t.Context(), somebody(t), ask(1)) // of more, some might still be under way
		denied(t, d, err, 1)
		server.set(revision, nil)
		decide(20) // one by one
		at.add(cooldown - 1)
		decide(20)
		at.add(1)
		decide(3) // two documents looked for, and one batch
		decide(1)
		at.add(time.Hour)
		decide(1)

		server.set(revision, unloaded)
		if err := p.Probe(t.Context()); err != nil || p.Stats().Filter || p.Stats().Batch {
			t.Errorf("revision %q: %+v, error %v", revision, p.Stats(), err)
		}
		server.set(revision, nil)
		at.add(cooldown)
		if f, err := p.Filter(t.Context(), somebody(t), "read"); err != nil || len(f.Conds()) == 0 {
			t.Errorf("revision %q: %d conditions, error %v", revision, len(f.Conds()), err)
		}
	}
}

// A server that only has the batch decides again when it has it again.
func TestBatchAloneThatComesBack(t *testing.T) {
	t.Parallel()
	server, at := serve(t, "context"), &clock{at: noon()}
	p := open(t, remote.Config{URL: server.URL, Clock: at.now, Cooldown: time.Second, Timeout: time.Minute})
	if _, err := p.Decide(t.Context(), somebody(t), ask(3)); err != nil {
		t.Fatal(err)
	}
	server.set("", func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, `{}`); return true })
	d, err := p.Decide(t.Context(), somebody(t), ask(3))
	denied(t, d, err, 3)
	server.set("", nil)
	d, err = p.Decide(t.Context(), somebody(t), ask(3))
	denied(t, d, err, 3)
	at.add(time.Second)
	if _, err := p.Decide(t.Context(), somebody(t), ask(3)); err != nil {
		t.Error(err)
	}
}

// Without a filter the server's policy decides on each item.
func TestFilterOfAServerWithoutOne(t *testing.T) {
	t.Parallel()
	p := open(t, remote.Config{URL: serve(t, "context_filter").URL})
	for action, none := range map[string]bool{"read": false, "erase": false, "steal": true} {
		f, err := p.Filter(t.Context(), somebody(t), action)
		if err != nil || f.IsNone() != none || len(f.Conds()) > 0 {
			t.Errorf("%s: none %t, %d conditions, error %v", action, f.IsNone(), len(f.Conds()), err)
		}
	}
}

func denied(t *testing.T, d policies.Decision, err error, n int) {
	t.Helper()
	if !errors.Is(err, policies.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if len(d.Verdicts) != n {
		t.Errorf("%d verdicts, want %d", len(d.Verdicts), n)
	}
	for _, v := range d.Verdicts {
		if v.Allow || v.Reason != policies.ReasonError || len(v.Redact) > 0 {
			t.Errorf("verdict %+v", v)
		}
	}
}

// Whatever is not a whole answer denies everything.
func TestFailsClosed(t *testing.T) {
	t.Parallel()
	const good = `{"allow": true, "redact": false, "redactedFields": []}`
	answers := map[string]string{
		"nothing":               ``,
		"cut off":               `{"result": {"allow": true, "redact": false, "redac`,
		"no JSON":               `<html>It works!</html>`,
		"an array":              `[]`,
		"null":                  `null`,
		"no result":             `{}`,
		"result null":           `{"result": null}`,
		"result true":           `{"result": true}`,
		"two documents":         `{"result": ` + good + `}{"result": ` + good + `}`,
		"no allow":              `{"result": {"redact": false, "redactedFields": []}}`,
		"no redact":             `{"result": {"allow": true}}`,
		"allow is text":         `{"result": {"allow": "true", "redact": false}}`,
		"allow is one":          `{"result": {"allow": 1, "redact": false}}`,
		"another spelling":      `{"Result": ` + good + `}`,
		"another allow":         `{"result": {"Allow": true, "redact": false}}`,
		"redact what":           `{"result": {"allow": true, "redact": true}}`,
		"redact nothing":        `{"result": {"allow": true, "redact": true, "redactedFields": []}}`,
		"redact null":           `{"result": {"allow": true, "redact": true, "redactedFields": null}}`,
		"redact a null":         `{"result": {"allow": true, "redact": true, "redactedFields": [null]}}`,
		"redact a name":         `{"result": {"allow": true, "redact": true, "redactedFields": ["email"]}}`,
		"redact text":           `{"result": {"allow": true, "redact": true, "redactedFields": "$.content"}}`,
		"reason in prose":       `{"result": {"allow": true, "redact": false, "reason": "It is fine"}}`,
		"reason is null":        `{"result": {"allow": true, "redact": false, "reason": null, "redactedFields": 1}}`,
		"allowed yet clearance": `{"result": {"allow": true, "redact": false, "reason": "clearance"}}`,
		"denied yet allowed":    `{"result": {"allow": false, "reason": "allowed"}}`,
		"denied, then allowed":  `{"result": {"allow": false, "allow": true, "redact": false}}`,
		"an escaped second one": `{"result": {"allow": false, "\u0061llow": true, "redact": false}}`,
		"two results":           `{"result": {"allow": false}, "result": ` + good + `}`,
		"obliged, then not":     `{"result": {"allow": true, "redact": false, "obligations": {"pii": "redact"}, "obligations": {}}}`,
		"obliged and not":       `{"result": {"allow": true, "redact": false, "obligations": {"pii": "redact", "pii": ""}}}`,
		"obliged, spelt anew":   `{"result": {"allow": true, "redact": false, "obligations": {"pii": "redact", "PII": ""}}}`,
	}
	batches := map[string]string{
		"one short":    `{"result": {"decisions": [` + good + `]}}`,
		"one too many": `{"result": {"decisions": [` + good + `,` + good + `,` + good + `]}}`,
		"no decisions": `{"result": {}}`,
		"null":         `{"result": {"decisions": null}}`,
		"a null":       `{"result": {"decisions": [` + good + `, null]}}`,
		"half":         `{"result": {"decisions": [` + good + `, {"allow": true}]}}`,
		"denied first": `{"result": {"decisions": [` + good + `, {"allow": false, "allow": true, "redact": false}]}}`,
		"denied whole": `{"result": {"decisions": [{"allow": false}, {"allow": false}], "decisions": [` + good + `,` + good + `]}}`,
		"an object":    `{"result": {"decisions": {"0": ` + good + `, "1": ` + good + `}}}`,
	}
	check := func(name, without, answer string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, without)
			p := open(t, remote.Config{URL: server.URL, CacheTTL: time.Minute})
			if err := p.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			server.set("", func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, answer); return true })
			d, err := p.Decide(t.Context(), somebody(t), ask(2))
			denied(t, d, err, 2)
			server.set("", nil)
			if d, err = p.Decide(t.Context(), somebody(t), ask(2)); err != nil || !d.Verdicts[0].Allow {
				t.Errorf("afterwards %+v, error %v", d.Verdicts, err)
			}
		})
	}
	for name, answer := range answers {
		check("single: "+name, "context_batch", answer)
	}
	for name, answer := range batches {
		check("batch: "+name, "", answer)
	}
}

func TestServerThatIsIll(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, ill := range map[string]func(w http.ResponseWriter, r *http.Request){
		"500":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"401":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"204":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"long": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"result": {"decisions": [], "x": %q}}`, strings.Repeat("x", 5<<20))
		},
		"slow": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-release:
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, "")
			p := open(t, remote.Config{URL: server.URL, Timeout: 200 * time.Millisecond})
			server.set("", func(w http.ResponseWriter, r *http.Request) bool { ill(w, r); return true })
			d, err := p.Decide(t.Context(), somebody(t), ask(2))
			denied(t, d, err, 2)
			if name == "401" {
				return // a server that refuses the batch may have none
			}
			if f, err := p.Filter(t.Context(), somebody(t), "read"); !errors.Is(err, policies.ErrUnavailable) || !f.IsNone() {
				t.Errorf("filter is none: %t, error %v", f.IsNone(), err)
			}
		})
	}
}

func TestServerThatIsAway(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	p := open(t, remote.Config{URL: server.URL})
	if err := p.Probe(t.Context()); !errors.Is(err, policies.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	d, err := p.Decide(t.Context(), somebody(t), ask(2))
	denied(t, d, err, 2)
	if p.Revision() == "" {
		t.Error("no revision")
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	server, at := serve(t, ""), &clock{at: noon()}
	p := open(t, remote.Config{URL: server.URL, Failures: 3, Cooldown: time.Second, Clock: at.now})
	if err := p.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	decide := func(ctx context.Context) error {
		_, err := p.Decide(ctx, somebody(t), ask(1))
		return err
	}
	expect := func(state string, calls int64) {
		t.Helper()
		if got := p.Stats().Breaker; got != state || server.calls.Load() != calls {
			t.Errorf("breaker is %s after %d requests, want %s after %d", got, server.calls.Load(), state, calls)
		}
	}
	server.calls.Store(0)
	server.set("", func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true })
	for range 3 {
		if err := decide(t.Context()); err == nil {
			t.Error("no error")
		}
	}
	expect("open", 3)
	if err := decide(t.Context()); !errors.Is(err, policies.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	expect("open", 3)
	at.add(time.Second)
	expect("half_open", 3)
	if decide(t.Context()) == nil {
		t.Error("no error")
	}
	expect("open", 4)
	at.add(time.Second)
	server.set("", nil)
	if err := decide(t.Context()); err != nil {
		t.Error(err)
	}
	expect("closed", 5)
}

// A caller that goes away says nothing of the server, and frees the trial.
func TestBreakerAndCallersThatGoAway(t *testing.T) {
	t.Parallel()
	server, at := serve(t, ""), &clock{at: noon()}
	p := open(t, remote.Config{URL: server.URL, Failures: 1, Cooldown: time.Second, Clock: at.now, Timeout: time.Minute})
	for _, opened := range []bool{false, true} {
		if opened {
			server.set("", func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true })
			if err := p.Probe(t.Context()); err == nil {
				t.Fatal("no error")
			}
			at.add(time.Second)
		}
		ctx, cancel := context.WithCancel(t.Context())
		server.set("", func(_ http.ResponseWriter, r *http.Request) bool {
			cancel()
			<-r.Context().Done()
			return true
		})
		d, err := p.Decide(ctx, somebody(t), ask(1))
		denied(t, d, err, 1)
		server.set("", nil)
		if _, err := p.Decide(t.Context(), somebody(t), ask(1)); err != nil {
			t.Error(err)
		}
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	server, at := serve(t, ""), &clock{at: noon()}
	p := open(t, remote.Config{URL: server.URL, CacheTTL: time.Minute, Clock: at.now})
	r := ask(10)
	r.Resources[0].ExpiresAt = noon().Add(time.Second)
	asked := func(change func(*policies.Request)) (int64, []policies.Verdict) {
		t.Helper()
		if change != nil {
			change(&r)
		}
		server.items.Store(0)
		d, err := p.Decide(t.Context(), somebody(t), r)
		if err != nil {
			t.Fatal(err)
		}
		return server.items.Load(), d.Verdicts
	}
	for _, step := range []struct {
		name   string
		change func(*policies.Request)
		want   int64
	}{
		{"first", nil, 10},
		{"again", nil, 0},
		{"one item changed", func(r *policies.Request) { r.Resources[3].Facets.Session = "s2" }, 1},
		{"another action", func(r *policies.Request) { r.Action = "open" }, 10},
		{"the first action", func(r *policies.Request) { r.Action = "read" }, 0},
		{"a time was reached", func(r *policies.Request) { r.Now = noon().Add(time.Second) }, 1},
		{"the clock moved", func(*policies.Request) { at.add(time.Minute - time.Nanosecond) }, 0},
		{"the verdicts are old", func(*policies.Request) { at.add(2 * time.Nanosecond) }, 10},
		{"by the request's time", func(r *policies.Request) { r.Now = noon().Add(time.Hour) }, 10},
	} {
		got, verdicts := asked(step.change)
		if got != step.want {
			t.Errorf("%s: %d items asked for, want %d", step.name, got, step.want)
		}
		if late := !r.Now.Before(r.Resources[0].ExpiresAt); verdicts[0].Allow == late {
			t.Errorf("%s: verdict %+v on an item that has expired: %t", step.name, verdicts[0], late)
		}
	}
	other, err := scope.New("acme", scope.Principal{ID: "planner", Level: 3}, "support")
	if err != nil {
		t.Fatal(err)
	}
	server.items.Store(0)
	if _, err := p.Decide(t.Context(), other, r); err != nil || server.items.Load() != 10 {
		t.Errorf("another purpose: %d items asked for, error %v", server.items.Load(), err)
	}
	if s := p.Stats(); s.Hits+s.Misses != 100 || s.HitRate() != float64(s.Hits)/100 || s.Hits == 0 {
		t.Errorf("%+v, hit rate %g", s, s.HitRate())
	}
}

// A verdict does not get younger by being used.
func TestCacheIsNotKeptAliveByUse(t *testing.T) {
	t.Parallel()
	server, at := serve(t, ""), &clock{at: noon()}
	p := open(t, remote.Config{URL: server.URL, CacheTTL: time.Minute, Clock: at.now})
	for i := range 4 {
		server.items.Store(0)
		r := ask(2)
		r.Resources[1].Facets.Session = fmt.Sprint(i)
		if _, err := p.Decide(t.Context(), somebody(t), r); err != nil {
			t.Fatal(err)
		}
		want := int64(1)
		if i%3 == 0 {
			want = 2
		}
		if got := server.items.Load(); got != want {
			t.Errorf("turn %d: %d items asked for, want %d", i, got, want)
		}
		at.add(20 * time.Second)
	}
}

func TestNewRevisionDropsTheCache(t *testing.T) {
	t.Parallel()
	server := serve(t, "")
	server.set("r1", nil)
	p := open(t, remote.Config{URL: server.URL, CacheTTL: time.Minute})
	decide := func(r policies.Request, items int64, revision string) {
		t.Helper()
		server.items.Store(0)
		d, err := p.Decide(t.Context(), somebody(t), r)
		if err != nil || d.Revision != revision || p.Revision() != revision || server.items.Load() != items {
			t.Errorf("revision %q, %d items asked for, error %v; want %q, %d", d.Revision, server.items.Load(), err, revision, items)
		}
	}
	decide(ask(4), 4, "r1")
	decide(ask(4), 0, "r1")
	server.set("r2", nil)
	decide(ask(4), 0, "r1") // not seen yet
	decide(ask(5), 6, "r2") // the new one, then all of them: no decision is of two revisions
	decide(ask(5), 0, "r2")
}

func TestRevisionOfTheAnswer(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`"provenance": {"revision": "old"}`:                                                    "old",
		`"provenance": {"bundles": {"b": {"revision": "2"}, "a": {"revision": "1"}, "c": {}}}`: "a=1,b=2",
		`"provenance": {"bundles": {"a": {"revision": ""}}}`:                                   "own",
		`"provenance": 7`: "own",
	} {
		server := serve(t, "context_batch")
		server.set("", func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "context") {
				fmt.Fprint(w, `{}`)
				return true
			}
			fmt.Fprintf(w, `{%s, "result": {"allow": false, "revision": "own"}}`, answer)
			return true
		})
		d, err := open(t, remote.Config{URL: server.URL}).Decide(t.Context(), somebody(t), ask(1))
		if err != nil || d.Revision != want || d.Verdicts[0].Reason != "denied" {
			t.Errorf("%s: decision %+v, error %v, want revision %q", answer, d, err, want)
		}
	}
}

func TestTokenAndTLS(t *testing.T) {
	t.Parallel()
	api := serve(t, "")
	api.set("", func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer s3cret" {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	server := httptest.NewTLSServer(api)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	decide := func(c remote.Config) error {
		c.URL, c.Timeout = server.URL, time.Minute
		_, err := open(t, c).Decide(t.Context(), somebody(t), ask(1))
		return err
	}
	if err := decide(remote.Config{Token: "s3cret", CAFile: file}); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]remote.Config{
		"no token":        {CAFile: file},
		"another token":   {CAFile: file, Token: "guess"},
		"no certificates": {Token: "s3cret"},
	} {
		err := decide(c)
		if !errors.Is(err, policies.ErrUnavailable) {
			t.Errorf("%s: error %v", name, err)
		}
		if err != nil && c.Token != "" && strings.Contains(err.Error(), c.Token) {
			t.Errorf("%s: the error names the token: %v", name, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]remote.Config{
		"no URL":              {},
		"another scheme":      {URL: "ftp://opa"},
		"no host":             {URL: "http://"},
		"a user":              {URL: "http://user:s3cret@127.0.0.1"},
		"a query":             {URL: "http://127.0.0.1?a=b"},
		"the document":        {URL: "http://127.0.0.1:8181/v1/data/cmo/context"},
		"a token in the open": {URL: "http://opa.example", Token: "s3cret"},
		"a token of lines":    {URL: "http://127.0.0.1", Token: "s3cret\nX: y"},
		"no such file":        {URL: "https://opa.example", CAFile: empty + ".absent"},
		"no certificate":      {URL: "https://opa.example", CAFile: empty},
		"control characters":  {URL: "http://s3cret\x7f"},
	} {
		p, err := remote.New(c)
		if err == nil {
			p.Close()
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error holds the secret: %v", name, err)
		}
	}
}
