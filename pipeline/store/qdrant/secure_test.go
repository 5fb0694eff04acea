package qdrant_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/store/qdrant"
	"satchel/pipeline/store/vector"
	"satchel/test/testenv"
	"satchel/test/testenv/qdranttest"
)

// TestSecureServer speaks to a Qdrant process that wants TLS and an API key.
func TestSecureServer(t *testing.T) {
	t.Parallel()
	server, readOnly := qdranttest.StartSecure(t)
	good := config(qdranttest.Place{URL: server.URL, APIKey: server.APIKey, Collection: "c"})
	good.CAFile = server.CAFile
	s, log := system(t), history(60)
	x := vector.New(open(t, good))
	must(t, x.Apply(t.Context(), s, log, 60))
	if at, err := x.Checkpoint(t.Context(), s); err != nil || at != 60 {
		t.Errorf("checkpoint %d, error %v", at, err)
	}
	for says, change := range map[string]func(*qdrant.Config){
		"refuses the API key":                func(c *qdrant.Config) { c.APIKey = "a wrong secret" },
		"or wants one":                       func(c *qdrant.Config) { c.APIKey = "" },
		"has no right to create or write":    func(c *qdrant.Config) { c.APIKey = readOnly },
		"has no right to create or write co": func(c *qdrant.Config) { c.APIKey, c.Model = readOnly, "unheard@1" },
		"cannot be reached by gRPC":          func(c *qdrant.Config) { c.CAFile = testenv.NewAuthority(t).File },
		"by gRPC (Unavailable)":              func(c *qdrant.Config) { c.URL = strings.Replace(c.URL, "https:", "http:", 1) },
	} {
		c := good
		c.ConnectWait = time.Second
		change(&c)
		x, err := qdrant.Open(t.Context(), c)
		if x != nil || !errors.Is(err, qdrant.ErrUnusable) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
}
