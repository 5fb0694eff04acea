package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"satchel/pipeline/infra/httpclient"
)

// EmbedderConfig says which endpoint embeds. URL and Model are required; a zero of any other
// field is its default.
type EmbedderConfig struct {
	// URL is the endpoint, as https://api.openai.com/v1; /embeddings is appended unless
	// the path ends in it. It may have a query (Azure's api-version), but no user.
	URL string
	// Key is sent as a bearer token; "" sends none. It needs https, or a server on
	// this machine.
	Key string
	// CAFile is a PEM file with the certificates to trust; "" trusts the system's.
	CAFile string
	// Model is the model's name as the endpoint knows it.
	Model string
	// Revision tells apart models that have one name. Default "1".
	Revision string
	// Dimensions is the length that vectors must have; 0 takes that of the first answer.
	Dimensions int
	// Shorten asks the endpoint for vectors of Dimensions numbers, which only some
	// models can give.
	Shorten bool
	// BatchTexts bounds the texts of a request. Default 64.
	BatchTexts int
	// BatchBytes bounds the bytes of a request's texts; a single text may be longer.
	// Default 128 KiB.
	BatchBytes int
	// MaxTextBytes is where a text is cut before it is sent. Default 24,000 bytes, about
	// 8,000 tokens of anything but emoji.
	MaxTextBytes int
	// Parallel bounds the requests of one Embed under way at once. Default 4.
	Parallel int
	// RequestsPerSecond bounds the requests of all calls together; 0 does not.
	RequestsPerSecond float64
	// Timeout bounds one request. Default 15 s.
	Timeout time.Duration
	// Deadline bounds one Embed with all its requests, waits and retries. Default 60 s.
	Deadline time.Duration
	// Retries bounds how often a request is tried again. Default 4; negative: never.
	Retries int
	// RetryMin is the pause before the first retry; it doubles, up to 10 s, and half of
	// it is random. Retry-After of an answer wins. Default 250 ms.
	RetryMin time.Duration
	// Failures in a row open the breaker. Default 5.
	Failures int
	// Cooldown is how long the breaker stays open. Default 5 s.
	Cooldown time.Duration
	// Clock is for the breaker and Retry-After dates. Default time.Now.
	Clock func() time.Time
	// Random returns a number in [0, 1) for the pauses. Default math/rand/v2.
	Random func() float64
}

func (c *EmbedderConfig) validateConfig() error {
	if strings.TrimSpace(c.Model) == "" {
		return errors.New("no model is named; set EMBEDDINGS_MODEL")
	}
	if c.Dimensions < 0 || c.Dimensions > 65_536 {
		return fmt.Errorf("dimensions %d: must be between 1 and 65536, or 0 to learn them", c.Dimensions)
	}
	if c.Shorten && c.Dimensions == 0 {
		return errors.New("shortened vectors need their dimensions; set EMBEDDINGS_DIMENSIONS")
	}
	if c.RequestsPerSecond < 0 {
		return errors.New("the rate limit is negative")
	}
	return nil
}

func (c *EmbedderConfig) setDefaults() {
	for _, d := range []struct {
		value *int
		def   int
	}{{&c.BatchTexts, 64}, {&c.BatchBytes, 128 << 10}, {&c.MaxTextBytes, 24_000}, {&c.Parallel, 4}, {&c.Failures, 5}} {
		if *d.value <= 0 {
			*d.value = d.def
		}
	}
	if c.Retries == 0 {
		c.Retries = 4
	}
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{{&c.Timeout, 15 * time.Second}, {&c.Deadline, time.Minute}, {&c.RetryMin, 250 * time.Millisecond}, {&c.Cooldown, 5 * time.Second}} {
		if *d.value <= 0 {
			*d.value = d.def
		}
	}
	if c.Revision == "" {
		c.Revision = "1"
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
}

// makeModelName is the model's name as part of a key, which has no "@".
func (c *EmbedderConfig) makeModelName() string { return strings.ReplaceAll(c.Model, "@", "-") }

// hashRevision is the start of a SHA-256 over all that decides on a text's vector.
func (c *EmbedderConfig) hashRevision(dimensions int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%t\x00%d", c.Model, c.Revision, dimensions, c.Shorten, c.MaxTextBytes))
	return hex.EncodeToString(sum[:6])
}

// makeEmbedEndpoint checks URL and returns where to post.
func (c *EmbedderConfig) makeEmbedEndpoint() (string, error) {
	u, err := httpclient.Endpoint(c.URL, c.Key)
	if err != nil {
		return "", fmt.Errorf("EMBEDDINGS_URL: %w", err)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, "/embeddings") {
		u.Path += "/embeddings"
	}
	return u.String(), nil
}

func (c *EmbedderConfig) makeClient() (*httpclient.Client, error) {
	cfg := httpclient.Config{Key: c.Key, CAFile: c.CAFile, MaxAnswer: maxAnswer, Idle: c.Parallel, Clock: c.Clock}
	if c.Key != "" {
		cfg.Header = map[string]string{"Api-Key": c.Key} // Azure's name for it
	}
	client, err := httpclient.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("EMBEDDINGS_CA: %w", err)
	}
	return client, nil
}
