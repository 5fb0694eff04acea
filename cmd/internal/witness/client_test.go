package witness_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"satchel/cmd/internal/witness"
	"satchel/pipeline/meter"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
	"satchel/schemas"
	asks "satchel/worker/witness"
)

// satchel is a log of Satchel whose key the witnesses know.
type satchel struct {
	*eventlog.Log
	scope scope.Scope
	n     int
}

func newSatchel(t *testing.T) *satchel {
	t.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, "satchel")
	must(t, err)
	signer, err := note.NewSigner(skey)
	must(t, err)
	db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: filepath.Join(t.TempDir(), "log.db")})
	must(t, err)
	l, err := eventlog.New(eventlog.Config{Driver: db, Signer: signer, VerifierKey: vkey, Origin: "log.example.org"})
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	s, err := scope.System("main")
	must(t, err)
	return &satchel{Log: l, scope: s}
}

func (l *satchel) grow(t *testing.T) {
	t.Helper()
	l.n++
	_, err := l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{{Tenant: "main", Agent: "a",
		Type: schemas.TypeMemoryRecorded, Source: "//a", ID: fmt.Sprint(l.n), Data: []byte(`{}`)}}})
	must(t, err)
}

type meters struct{ *meter.Set }

// cosigned is how many entries a witness has cosigned, as the metrics say.
func (m meters) cosigned(t *testing.T, witness string) float64 {
	t.Helper()
	all, err := m.Gather()
	must(t, err)
	for _, f := range all {
		for _, one := range f.Metric {
			if f.GetName() == schemas.MetricWitnessSize.String() && one.Label[0].GetValue() == witness {
				return one.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// A head is kept when as many witnesses as the policy wants have cosigned it, whatever the others do, and
// a witness that was away cosigns when it is back.
func TestQuorum(t *testing.T) {
	t.Parallel()
	log := newSatchel(t)
	var policy strings.Builder
	servers := make([]*httptest.Server, 3)
	for i := range servers {
		dir := t.TempDir()
		skey, vkey, err := note.GenerateKey(rand.Reader, fmt.Sprintf("w%d.example.org", i))
		must(t, err)
		logs := filepath.Join(dir, "logs")
		must(t, os.WriteFile(logs, []byte("log "+log.VerifierKey(log.scope)+"\n"), 0o600))
		w, err := witness.Open(t.Context(), witness.Config{Path: filepath.Join(dir, "witness.db"), Key: skey, Logs: logs})
		must(t, err)
		t.Cleanup(func() { must(t, w.Close()) })
		servers[i] = httptest.NewServer(w.Handler())
		t.Cleanup(servers[i].Close)
		fmt.Fprintf(&policy, "witness w%d %s %s\n", i, vkey, servers[i].URL)
	}
	policy.WriteString("group some 2 w0 w1 w2\nquorum some\n")
	m := meters{meter.New()}
	c, err := asks.New(asks.Config{Policy: []byte(policy.String()), Log: log.Log, Dir: t.TempDir(), Meter: m.Set,
		Retry: 20 * time.Millisecond})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	defer func() { cancel(); must(t, <-done) }()
	offer := func() {
		head, err := log.SignedHead(t.Context(), log.scope)
		must(t, err)
		c.Offer("main", head)
	}
	// lines waits for the newest kept head of a size, with so many cosignatures.
	lines := func(size, want int) {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for {
			kept := c.Newest("main")
			if strings.HasPrefix(kept, fmt.Sprintf("log.example.org/main\n%d\n", size)) && strings.Count(kept, "— w") == want {
				return
			}
			select {
			case <-deadline:
				t.Fatalf("want size %d with %d cosignatures, kept:\n%s", size, want, kept)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	log.grow(t)
	offer()
	lines(1, 3)
	servers[2].Config.SetKeepAlivesEnabled(false)
	address := servers[2].Listener.Addr().String()
	servers[2].Close()
	log.grow(t)
	offer()
	lines(2, 2)
	servers[1].Close()
	log.grow(t)
	offer()
	for m.cosigned(t, "w0.example.org") < 3 && t.Context().Err() == nil {
		runtime.Gosched()
	}
	lines(2, 2) // one is not enough
	if err := c.Err(); err != nil {
		t.Errorf("a witness that is away is a conflict: %v", err)
	}
	again := httptest.NewUnstartedServer(servers[2].Config.Handler)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	must(t, err)
	again.Listener.Close()
	again.Listener = listener
	again.Start()
	defer again.Close()
	lines(3, 2)
}

// A policy that asks nobody is refused, and so are URLs that no witness has.
func TestPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	_, vkey, err := note.GenerateKey(rand.Reader, "w.example.org")
	must(t, err)
	whole := "witness w " + vkey + " https://w.example.org/\n"
	for _, policy := range []string{"", "quorum none\n", whole, whole + "quorum none\n", whole + "group g 0 w\nquorum g\n",
		"witness w " + vkey + " ftp://w.example.org/\nquorum w\n", "witness w x https://w.example.org/\nquorum w\n"} {
		if _, err := asks.New(asks.Config{Policy: []byte(policy), Meter: meter.New()}); err == nil {
			t.Errorf("it is read: %q", policy)
		}
	}
}
