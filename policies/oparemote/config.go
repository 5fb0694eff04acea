package oparemote

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"satchel/pipeline/trust"
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

// base checks URL and returns it without a slash at its end.
func (c *Config) base() (string, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return "", fmt.Errorf("parse OPA URL: not a URL") // err would repeat what may be a secret
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("parse OPA URL: want http://HOST:PORT or https://HOST:PORT")
	case u.User != nil:
		return "", fmt.Errorf("parse OPA URL: it names a user; give the server a bearer token instead")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("parse OPA URL: it has a query or a fragment")
	case strings.Contains(u.Path, "/v1/"):
		return "", fmt.Errorf("parse OPA URL: leave out /v1/…, it is appended")
	case c.Token != "" && u.Scheme == "http" && !loopback(u.Hostname()):
		return "", fmt.Errorf("parse OPA URL: a bearer token needs https, or a server on this machine")
	case strings.ContainsAny(c.Token, "\r\n"):
		return "", fmt.Errorf("read OPA token: it has more than one line")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c *Config) transport() (*http.Transport, error) {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: c.Timeout}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    c.Timeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // a few kilobytes, for which both sides would wait
		MaxIdleConnsPerHost:    2 * c.Parallel,
		MaxConnsPerHost:        8 * c.Parallel,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	var err error
	if t.TLSClientConfig.RootCAs, err = trust.Roots(c.CAFile); err != nil {
		return nil, fmt.Errorf("trust OPA: %w", err)
	}
	return t, nil
}
