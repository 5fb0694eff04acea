package fault

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"satchel/test/parts"
	"satchel/test/testenv/postgrestest"
	"satchel/test/testenv/qdranttest"
)

// TestKillWithPostgres keeps the log and the items in a real Postgres and kills, by turns
// and under load, the process, the server, and both; now and then the server is stopped
// as an administrator does, or stands still. What was acknowledged is there, once.
func TestKillWithPostgres(t *testing.T) {
	longKill(t)
	t.Parallel()
	p := postgrestest.Start(t)
	seed := crashSeed(t)
	random := rand.New(rand.NewPCG(seed, 97))
	n, r := newNode(t), newRecord()
	n.database = p.URL
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	stop := load(n, r, seed, everyKind()...)
	pause := pauses(n, random, 100*time.Millisecond, 400*time.Millisecond)
	strike(t, n, r, stop, pause, 20,
		func() { n.kill() },
		func() { p.Kill(); pause(); p.Start() },
		func() { p.Stop(); pause(); p.Start() },
		func() { p.Pause(); pause(); p.Resume() },
		func() { p.Kill(); n.kill(); p.Start() })
}

// TestPostgresAway: while the server is away events are still taken, requests are refused
// by name, and readiness and recovery need no restart.
func TestPostgresAway(t *testing.T) {
	t.Parallel()
	p := postgrestest.Start(t)
	n, r := newNode(t), newRecord()
	n.database = p.URL
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	one := r.producer(n, 1)
	for range 5 {
		one.one(t.Context())
	}
	p.Stop()
	before := len(r.acked)
	for range 20 {
		one.one(t.Context())
	}
	if len(r.acked) != before+20 {
		t.Errorf("%d events were taken while Postgres was away, want 20", len(r.acked)-before)
	}
	began := time.Now()
	var reply map[string]any
	err := one.request(t.Context(), "ctx.v1."+one.tenant+".request", map[string]any{"meta": map[string]any{"type": "ContextRequest", "id": "away",
		"from": map[string]any{"type": "agent", "id": "a", "securityLevel": "internal"}}, "payload": map[string]any{"query": map[string]any{"text": "lake house"}}}, &reply)
	if err == nil || !strings.Contains(err.Error(), "storage_error") || time.Since(began) > time.Second {
		t.Errorf("a request while Postgres is away: %v in %v", err, time.Since(began))
	}
	if err != nil && strings.Contains(err.Error(), "postgres") {
		t.Errorf("the refusal tells where things are: %v", err)
	}
	p.Start()
	r.finish(t, n)
}

// TestRestoredDatabase puts an older backup of the database under a newer stream, newer
// kept heads and newer vectors on a server: it is refused, until an operator accepts it;
// then the indexes and the ledger follow from the log, and the events are read again.
func TestRestoredDatabase(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	p := postgrestest.Start(t)
	n, r := newNode(t), newRecord()
	n.database, n.servers.vector = p.URL, qdranttest.Start(t)
	run := func() {
		if !n.start(t) {
			t.Fatal("satchel up did not start")
		}
		one := r.producer(n, 1)
		one.tenant = "acme"
		for range 10 {
			one.one(t.Context())
		}
		one.put(t.Context())
		one.ask(t.Context())
		n.stop()
	}
	run()
	p.Stop()
	restore := p.Backup()
	p.Start()
	run()
	p.Stop()
	restore()
	p.Start()
	out, code := n.run(t, "verify")
	if code != 3 || !strings.Contains(out, "rolled back") {
		t.Errorf("verify of a restored database: exit code %d\n%s", code, out)
	}
	if n.start(t) {
		t.Fatal("satchel up goes on with a log that was rolled back")
	}
	if said := n.said(t); !strings.Contains(said, "rolled back") || !strings.Contains(said, "satchel rollback") {
		t.Errorf("satchel up says: %s", said)
	}
	if out, code = n.run(t, "rollback"); code != 3 || !strings.Contains(out, "acme") {
		t.Errorf("rollback: exit code %d\n%s", code, out)
	}
	if out, code = n.run(t, "rollback", "--accept"); code != 0 {
		t.Fatalf("rollback --accept: exit code %d\n%s", code, out)
	}
	r.results, r.heads = nil, nil // those after the backup are lost with it, as the command says
	r.finish(t, n)                // what was acknowledged is read again from the stream
}
