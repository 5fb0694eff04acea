package neo4j_test

import (
	"context"
	"errors"
	"testing"
	"time"

	driver "github.com/neo4j/neo4j-go-driver/v5/neo4j"

	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/neo4j"
	"satchel/test/parts"
	"satchel/test/testenv/neo4jtest"
)

// orphan leaves what a process leaves that ended while it created a constraint: its index alone.
func orphan(t *testing.T, server *neo4jtest.Server) {
	t.Helper()
	client, err := driver.NewDriverWithContext(server.URL, driver.BasicAuth(server.User, server.Password, ""))
	must(t, err)
	defer client.Close(t.Context())
	s := client.NewSession(t.Context(), driver.SessionConfig{})
	defer s.Close(t.Context())
	result, err := s.Run(t.Context(), "CREATE INDEX satchel_item FOR (n:SatchelItem) ON (n.tenant, n.id)", nil)
	must(t, err)
	_, err = result.Consume(t.Context())
	must(t, err)
}

// TestServerFaults stops, kills, pauses and sets back a server that is in use. It takes
// five starts of the server, so it runs where Neo4j is required.
func TestServerFaults(t *testing.T) {
	if !parts.Required("neo4j") {
		t.Skip("runs where neo4j is required: it starts the server five times")
	}
	t.Parallel()
	server, s, log := neo4jtest.Start(t), system(t), history(400)
	c := neo4j.Config{URL: server.URL, User: server.User, Password: server.Password, Timeout: 15 * time.Second}
	orphan(t, server)
	db := open(t, c)
	g := graph.New(db)
	apply := func(from, to int) error { return g.Apply(t.Context(), s, log[from:to], 0) }
	retried := func(from, to int) {
		t.Helper()
		var err error
		for range 20 {
			if err = apply(from, to); err == nil {
				return
			}
		}
		t.Fatalf("after many tries: %v", err)
	}
	retried(0, 50)

	server.Stop()
	restore := server.Backup()
	if _, err := g.Checkpoint(t.Context(), s); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a stopped server: error %v", err)
	}
	server.Start()
	retried(50, 100)

	server.Pause()
	begun := time.Now()
	if err := apply(100, 150); err == nil {
		t.Error("a server that does not answer took a batch")
	}
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("a call to a server that does not answer took %v", took)
	}
	server.Resume()
	retried(100, 150)

	done := make(chan error)
	go func() {
		for at := 150; at < 200; at++ { // one of them meets the end of the server
			if err := apply(at, at+1); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	server.Kill()
	t.Logf("killed: %v", <-done)
	server.Start()
	at, err := g.Checkpoint(t.Context(), s)
	for range 20 {
		if err == nil {
			break
		}
		at, err = g.Checkpoint(t.Context(), s)
	}
	must(t, err)
	if at < 150 {
		t.Errorf("checkpoint %d: what was acknowledged is lost", at)
	}
	retried(int(at), 250)

	server.Stop()
	restore() // as it was at 50
	server.Start()
	wentBack := apply(250, 300)
	for range 5 {
		if errors.Is(wentBack, neo4j.ErrWentBack) {
			break
		}
		t.Log(wentBack)
		wentBack = apply(250, 300)
	}
	if !errors.Is(wentBack, neo4j.ErrWentBack) {
		t.Errorf("a database that was set back took a later batch: error %v", wentBack)
	}
	if at, err = g.Checkpoint(t.Context(), s); err != nil || at != 50 {
		t.Errorf("checkpoint %d of a database set back to 50, error %v", at, err)
	}
	retried(50, 400)
	whole := graph.New(open(t, neo4j.Config{URL: server.URL, User: server.User, Password: server.Password, Namespace: "whole/"}))
	must(t, whole.Apply(t.Context(), s, log, 0))
	want, err := whole.Digest(t.Context(), s)
	must(t, err)
	if got, err := g.Digest(t.Context(), s); err != nil || got != want {
		t.Errorf("after all that the graph is another one; error %v", err)
	}
}
