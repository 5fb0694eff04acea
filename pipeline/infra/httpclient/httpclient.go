// Package httpclient posts JSON to servers over HTTP, for the drivers that ask one: the
// client with its limits, the rules for its URL and key, retries, a circuit breaker, and
// the certificates to trust.
//
// It promises that no error holds the URL, the key, or anything of a request or an answer,
// except the body in an [*Error], which the caller MUST NOT repeat.
package httpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Config is how a server is asked. A zero of any field is its default.
type Config struct {
	// Key is sent as a bearer token; "" sends none. See Endpoint.
	Key string
	// Header is sent as well.
	Header map[string]string
	// CAFile is a PEM file with the certificates to trust; "" trusts the system's.
	CAFile string
	// MaxAnswer bounds an answer, in bytes. Default 1 MiB.
	MaxAnswer int64
	// Dial bounds the time to connect, and that of the TLS handshake. Default 10 s.
	Dial time.Duration
	// Idle bounds the connections that are kept open between requests. Default 2.
	Idle int
	// Connections bounds the connections in all; 0 does not.
	Connections int
	// Uncompressed asks for answers that are not compressed.
	Uncompressed bool
	// Clock is for a Retry-After that is a date. Default time.Now.
	Clock func() time.Time
}

// Client asks a server. It follows no redirect. It is safe for concurrent use.
type Client struct {
	cfg  Config
	http *http.Client
}

// New returns a client. It fails when CAFile cannot be read.
func New(cfg Config) (*Client, error) {
	if cfg.MaxAnswer <= 0 {
		cfg.MaxAnswer = 1 << 20
	}
	if cfg.Dial <= 0 {
		cfg.Dial = 10 * time.Second
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	roots, err := Roots(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	return &Client{cfg: cfg, http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: cfg.Dial}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			TLSHandshakeTimeout:    cfg.Dial,
			ForceAttemptHTTP2:      true,
			DisableCompression:     cfg.Uncompressed,
			MaxIdleConnsPerHost:    cfg.Idle,
			MaxConnsPerHost:        cfg.Connections,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Post sends a JSON body to an address and returns the body of the answer, whose status
// was 200. Every other outcome is an *Error.
func (c *Client) Post(ctx context.Context, address string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Kind: Unreachable, Err: errors.New("the request could not be made")}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	for name, value := range c.cfg.Header {
		req.Header.Set(name, value)
	}
	res, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // its text would repeat the address
		}
		return nil, &Error{Kind: Unreachable, Err: err}
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, c.cfg.MaxAnswer+1))
	err = errors.Join(err, res.Body.Close())
	switch {
	case res.StatusCode != http.StatusOK:
		return nil, &Error{Kind: Refused, Status: res.StatusCode, Body: answer, After: c.retryAfter(res.Header)}
	case err != nil:
		return nil, &Error{Kind: BrokenOff, Err: err}
	case int64(len(answer)) > c.cfg.MaxAnswer:
		return nil, &Error{Kind: TooLong, Err: fmt.Errorf("answer of more than %d bytes", c.cfg.MaxAnswer)}
	}
	return answer, nil
}

// retryAfter reads Retry-After, in seconds or as a date; 0 when there is none.
func (c *Client) retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(c.cfg.Clock()))
	}
	return 0
}

// Kind says how far a request came.
type Kind int

// The kinds of an Error.
const (
	Unreachable Kind = iota + 1 // no answer came
	BrokenOff                   // the answer ended too early
	TooLong                     // the answer is longer than Config.MaxAnswer
	Refused                     // the status is another than 200
)

// Error is why there is no answer.
type Error struct {
	Kind   Kind
	Err    error         // the cause; nil for Refused
	Status int           // of Refused
	Body   []byte        // of Refused, up to the bound of an answer
	After  time.Duration // of Refused: what Retry-After asks for, 0 for nothing
}

// Error names the status or the cause.
func (e *Error) Error() string {
	if e.Kind == Refused {
		return "status " + strconv.Itoa(e.Status)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Transient reports whether the same request may succeed later.
func (e *Error) Transient() bool {
	switch e.Status {
	case 0:
		return e.Kind != TooLong
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusTooEarly:
		return true
	}
	return e.Status >= 500
}
