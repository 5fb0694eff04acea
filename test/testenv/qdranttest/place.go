package qdranttest

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"satchel/test/parts"
)

// Place is a server with a prefix of collections of a test's own.
type Place struct {
	URL, APIKey string
	Collection  string
	// StandIn is the server when it is the one of this package, nil when it is Qdrant.
	StandIn *StandIn
}

// Server says what answers there.
func (p Place) Server() string {
	if p.StandIn != nil {
		return "stand-in for Qdrant"
	}
	return "Qdrant"
}

// Open returns the server that QDRANT_URL and QDRANT_API_KEY name. Without them it
// returns a stand-in, and says in the test's log that Qdrant itself was not run, unless
// SATCHEL_TEST_REQUIRE lists qdrant. Collections are removed when the test ends.
func Open(t testing.TB) Place {
	t.Helper()
	p := Place{URL: os.Getenv("QDRANT_URL"), APIKey: os.Getenv("QDRANT_API_KEY"), Collection: "test-" + strings.ToLower(rand.Text())}
	if p.URL != "" {
		t.Cleanup(func() { dropCollections(t, p) })
		return p
	}
	if parts.Required("qdrant") {
		parts.Missing(t, "qdrant", "QDRANT_URL names no server; none comes from a package registry")
	}
	t.Log("Qdrant itself was NOT run: this is the stand-in for the methods the driver calls; set QDRANT_URL for the real one")
	p.StandIn = StartStandIn(t)
	p.URL = p.StandIn.URL
	return p
}

func dropCollections(t testing.TB, p Place) {
	host, port, err := net.SplitHostPort(strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Logf("collections %s-… are left on %s", p.Collection, p.URL)
		return
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		t.Error(err)
		return
	}
	c, err := qdrant.NewClient(&qdrant.Config{Host: host, Port: number, APIKey: p.APIKey, SkipCompatibilityCheck: true, PoolSize: 1})
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // the test's own has ended
	defer cancel()
	names, err := c.ListCollections(ctx)
	for _, name := range names {
		if strings.HasPrefix(name, p.Collection) {
			if err := c.DeleteCollection(ctx, name); err != nil {
				t.Error(err)
			}
		}
	}
	if err != nil {
		t.Error(err)
	}
}
