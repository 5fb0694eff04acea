package remote

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"satchel/pipeline/infra/httpclient"
)

// Config says which server decides. URL is required; a zero of any other field is its
// default.
type Config struct {
	// URL is the server's address, as http://127.0.0.1:8181; /v1/data/… is appended. It
	// may have a path, but no user, query or fragment.
	URL string
	// Token is sent as a bearer token; "" sends none. It needs https, or a server on
	// this machine.
	Token string
	// CAFile is a PEM file with the certificates to trust; "" trusts the system's.
	CAFile string
	// Timeout bounds one decision with all its requests. Default 1 s.
	Timeout time.Duration
	// CacheTTL is how long a verdict is kept; 0 keeps none.
	CacheTTL time.Duration
	// CacheEntries bounds the cached verdicts, at about 150 bytes each. Default 65,536.
	CacheEntries int
	// Parallel bounds the requests of one decision under way at once. Default 16.
	Parallel int
	// BatchItems bounds the items of one batch; more are asked for in several at once, of
	// about the same size. Default 50: OPA evaluates a request on one core.
	BatchItems int
	// MaxResponse bounds an answer, in bytes. Default 4 MiB.
	MaxResponse int64
	// Failures in a row open the breaker. Default 5.
	Failures int
	// Cooldown is how long the breaker stays open, and how long a document that the server
	// did not have is not looked for again. Default 2 s.
	Cooldown time.Duration
	// Clock is for the cache, the breaker and the cooldown. Default time.Now.
	Clock func() time.Time
}

func (c *Config) setDefaults() {
	for _, d := range []struct {
		value *int
		def   int
	}{{&c.CacheEntries, 65536}, {&c.Parallel, 16}, {&c.BatchItems, 50}, {&c.Failures, 5}} {
		if *d.value <= 0 {
			*d.value = d.def
		}
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Second
	}
	if c.MaxResponse <= 0 {
		c.MaxResponse = 4 << 20
	}
	if c.Cooldown <= 0 {
		c.Cooldown = 2 * time.Second
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
}

// makeBaseURL checks URL and returns it without a slash at its end.
func (c *Config) makeBaseURL() (string, error) {
	u, err := httpclient.Endpoint(c.URL, c.Token)
	switch {
	case err != nil:
		return "", fmt.Errorf("parse OPA URL: %w", err)
	case u.RawQuery != "":
		return "", errors.New("parse OPA URL: it has a query")
	case strings.Contains(u.Path, "/v1/"):
		return "", errors.New("parse OPA URL: leave out /v1/…, it is appended")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func (c *Config) makeClient() (*httpclient.Client, error) {
	client, err := httpclient.New(httpclient.Config{Key: c.Token, CAFile: c.CAFile, MaxAnswer: c.MaxResponse, Dial: c.Timeout,
		Idle: 2 * c.Parallel, Connections: 8 * c.Parallel,
		Uncompressed: true, // a few kilobytes, for which both sides would wait
	})
	if err != nil {
		return nil, fmt.Errorf("trust OPA: %w", err)
	}
	return client, nil
}
