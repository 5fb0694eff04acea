package remote

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"satchel/pipeline/infra/httpclient"
)

// ChatConfig says which endpoint answers. URL and Model are required; a zero of any other
// field is its default.
type ChatConfig struct {
	// URL is the base of the API, as https://host/v1; "/chat/completions" is appended
	// unless it is there. It may have a query, but no user and no fragment.
	URL string
	// Model is the name the endpoint knows the model by.
	Model string
	// Key is sent as a bearer token; "" sends none. It needs https, or an endpoint on
	// this machine.
	Key string
	// Timeout bounds one question with its repeats. Default 30 s.
	Timeout time.Duration
	// Retries is how often a question is repeated after a failure that may pass: no
	// connection, 408, 429 or 5xx. Default 2; negative: never.
	Retries int
	// Backoff is the wait before the first repeat; it doubles with each, and half of it is
	// random. An endpoint's Retry-After takes its place. Default 250 ms.
	Backoff time.Duration
	// MaxTokens bounds an answer whose request does not. Default 1,024.
	MaxTokens int
	// MaxResponse bounds an answer, in bytes. Default 1 MiB.
	MaxResponse int64
}

func (c *ChatConfig) setDefaults() {
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Retries == 0 {
		c.Retries = 2
	}
	if c.Backoff <= 0 {
		c.Backoff = 250 * time.Millisecond
	}
	if c.MaxTokens <= 0 {
		c.MaxTokens = 1024
	}
	if c.MaxResponse <= 0 {
		c.MaxResponse = 1 << 20
	}
}

// Validate says what is wrong with the configuration, without repeating the URL or the
// key, which may hold a secret.
func (c *ChatConfig) Validate() error {
	_, err := c.makeChatEndpoint()
	return err
}

// makeChatEndpoint checks the configuration and returns the address that is asked.
func (c *ChatConfig) makeChatEndpoint() (string, error) {
	u, err := httpclient.Endpoint(c.URL, c.Key)
	if err != nil {
		return "", fmt.Errorf("parse chat URL: %w", err)
	}
	if strings.TrimSpace(c.Model) == "" {
		return "", errors.New("read chat model: it has no name")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, "/chat/completions") {
		u.Path += "/chat/completions"
	}
	return u.String(), nil
}
