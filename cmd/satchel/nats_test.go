package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
	"satchel/test/testenv/natstest"
	"satchel/test/testenv/postgrestest"
)

func TestANodeOnACluster(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Config{Monitor: true})
	url := []string{"--nats-url", c.URL(), "--stream-mb", "256"}
	n := startNode(t, url...)
	r := satchel(t, "", append([]string{"emit", "--text", "the kiln is fired on Mondays", "--json"}, url...)...)
	if r.code != 0 || !strings.Contains(r.out, string(schemas.ReceiptIndexed)) {
		t.Fatalf("emit: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	doctor := append([]string{"doctor", "--dir", n.dir, "--http-addr", n.http}, url...)
	r = satchel(t, "", doctor...)
	contains(t, "doctor", r.out, "MEMORY, LEDGER and DLQ are as Satchel needs them", "NO   a power cut", "how n1, n2, n3 syncs is not known", "MEMORY has 3 copies")
	if r.code != exitFound {
		t.Errorf("doctor's exit code is %d", r.code)
	}
	contains(t, "doctor", satchel(t, "", append(doctor, "--nats-monitor-url", c.MonitorURLs())...).out, "ok   a power cut", "every message is synced on n1, n2, n3")
	contains(t, "a larger stream", satchel(t, "", append(doctor, "--stream-mb", "512")...).out, "as Satchel needs them") // of any size
	if n.down(t) != 0 {
		t.Error("the node did not stop well")
	}
}

// TestANodeStopsWhileNATSIsAway: there is nothing to drain, and an orchestrator kills what takes long.
func TestANodeStopsWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Config{Servers: 1})
	n := startNode(t, "--nats-url", c.URL(), "--stream-mb", "64")
	c.Stop(0)
	began := time.Now()
	if code := n.down(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, n.err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}

func TestANATSThatRefuses(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Config{Servers: 1, Accounts: true})
	for _, k := range []struct {
		url, more, want string
		code            int
	}{
		{c.URLAs("nobody"), "--stream-mb=64", "NATS does not accept the credentials: see NATS_CREDS, NATS_NKEY and the user in NATS_URL", exitUsage},
		{c.URLAs("sys"), "--stream-mb=64", "NATS has no JetStream for this account", exitFailed},
		{c.URLAs("limited"), "--stream-mb=64", `the NATS user lacks a permission: Permissions Violation for Publish to "$JS.API.STREAM.CREATE.MEMORY"`, exitFailed},
		{c.URLAs("app"), "--stream-mb=64000000", "lower SATCHEL_STREAM_MB", exitFailed},
		{c.URLAs("app"), "--nats-replicas=3", "see NATS_REPLICAS", exitFailed},
		{"nats://127.0.0.1:1", "--stream-mb=64", "NATS at nats://127.0.0.1:1: no server answers there: start it, or see NATS_URL", exitNoReply},
	} {
		r := satchel(t, "", "up", "--dir", t.TempDir(), "--http-addr", "", "--nats-url", k.url, k.more)
		if r.code != k.code || !strings.Contains(r.err, k.want) || strings.Contains(r.err, "nobody:nobody") {
			t.Errorf("%s: exit code %d\n%s", k.want, r.code, r.err)
		}
	}
}

// TestASecureNATS: with the files that the settings name, a node and its clients use a NATS
// that wants TLS of both sides and credentials or a key; without one of them one sentence
// says which.
func TestASecureNATS(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]natstest.Config{"--creds": {Servers: 1, Secure: true}, "--nats-nkey": {Servers: 1, Secure: true, NKeys: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := natstest.Start(t, cfg)
			with := func(leave string) []string {
				args := []string{"--nats-url", c.URL(), "--stream-mb", "64"}
				for flag, value := range map[string]string{"--creds": c.User.Creds, "--nats-nkey": c.User.NKey, "--nats-ca": c.User.CA, "--nats-cert": c.User.Cert, "--nats-key": c.User.Key} {
					if value != "" && flag != leave && (flag != "--nats-key" || leave != "--nats-cert") {
						args = append(args, flag, value)
					}
				}
				return args
			}
			n := startNode(t, with("")...)
			r := satchel(t, "", append([]string{"emit", "--text", "the kiln is fired on Mondays", "--label", "level:public", "--json"}, with("")...)...)
			if r.code != 0 || !strings.Contains(r.out, string(schemas.ReceiptIndexed)) {
				t.Fatalf("emit: exit code %d\n%s%s", r.code, r.out, r.err)
			}
			contains(t, "ask", satchel(t, "", append([]string{"ask", "when is the kiln fired?"}, with("")...)...).out, "Mondays")
			for leave, says := range map[string]string{name: "NATS does not accept the credentials", "--nats-ca": "the TLS certificates of NATS and Satchel do not fit", "--nats-cert": "the TLS certificates of NATS and Satchel do not fit"} {
				r := satchel(t, "", append([]string{"up", "--dir", t.TempDir(), "--http-addr", ""}, with(leave)...)...)
				if r.code != exitUsage || !strings.Contains(r.err, says) || strings.Count(strings.TrimSpace(r.err), "\n") > 0 {
					t.Errorf("without %s: exit code %d\n%s", leave, r.code, r.err)
				}
			}
			if n.down(t) != 0 {
				t.Error("the node did not stop well")
			}
		})
	}
}

// TestMissingRightsAreNamed: a node whose NATS user lacks a right is not ready and says which,
// and so does doctor.
func TestMissingRightsAreNamed(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]struct {
		ready, doctor string
		crew          bool
	}{
		"nobeat": {"it may not publish to wrk.v1.beat", "may not publish to wrk.v1.beat, may not subscribe to wrk.v1.beat", true},
		"nohear": {"it may not subscribe to wrk.v1.beat", "may not subscribe to wrk.v1.beat", true},
		"noput":  {"it may not subscribe to mem.v1.*.plan, and 1 more", "may not subscribe to mem.v1.*.plan, may not subscribe to mem.v1.*.put", false},
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			c := natstest.Start(t, natstest.Config{Servers: 1, Accounts: true})
			use := []string{"--nats-url", c.URLAs(user), "--stream-mb", "64"}
			if want.crew {
				use = append(use, "--database-url", postgrestest.Open(t))
			}
			n := startNode(t, use...)
			res, err := http.Get("http://" + n.http + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			said, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(said), want.ready) {
				t.Errorf("/readyz: %d %s (%v)", res.StatusCode, said, err)
			}
			r := satchel(t, "", append([]string{"doctor", "--dir", n.dir, "--http-addr", n.http}, use...)...)
			contains(t, "doctor", r.out, "NO   ready", "NO   NATS permissions       its user "+want.doctor)
			if r.code != exitFound {
				t.Errorf("doctor's exit code is %d", r.code)
			}
		})
	}
}
