package witness

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/meter"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// server is one witness.
type server struct {
	address string
	key     note.Verifier

	size, last prometheus.Gauge
	conflicts  prometheus.Counter

	mu      sync.Mutex
	known   map[string]int64     // by tenant: the size that it cosigned last, as far as this process knows
	waiting map[string]time.Time // by tenant: since when a head waits for it
	against map[string]string    // by tenant: why its head and this log's are of two histories
}

func newServer(address string, key note.Verifier, m *meter.Set) *server {
	return &server{address: address, key: key,
		known: map[string]int64{}, waiting: map[string]time.Time{}, against: map[string]string{},
		size: m.Gauge(schemas.MetricWitnessSize, key.Name()), last: m.Gauge(schemas.MetricWitnessTimestamp, key.Name()),
		conflicts: m.Counter(schemas.MetricWitnessConflicts, key.Name())}
}

// noteWaiting notes that a tenant's head waits, from now on if none did.
func (s *server) noteWaiting(tenant string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waits := s.waiting[tenant]; !waits {
		s.waiting[tenant] = now
	}
}

// noteCosigned notes that a head of a size is cosigned.
func (s *server) noteCosigned(tenant string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[tenant] = size
	delete(s.waiting, tenant)
	delete(s.against, tenant)
}

// ConflictError says that a witness cosigned a history of a tenant's log which the log does not continue.
type ConflictError struct{ Why string }

func (e *ConflictError) Error() string { return e.Why }

// noteConflict notes that the witness speaks against the log of a tenant, and returns why.
func (s *server) noteConflict(tenant, why string) error {
	s.conflicts.Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.against[tenant] = why
	return &ConflictError{why}
}

func (s *server) joinConflicts() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for _, tenant := range slices.Sorted(maps.Keys(s.against)) {
		why := s.against[tenant]
		all = append(all, fmt.Errorf("witness %s, tenant %s: %s; see docs/how-to/witness.md", s.key.Name(), tenant, why))
	}
	return errors.Join(all...)
}

func (s *server) setGauges(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var size int64
	for _, n := range s.known {
		size += n
	}
	last := now
	for _, since := range s.waiting {
		if since.Before(last) {
			last = since
		}
	}
	s.size.Set(float64(size))
	s.last.Set(float64(last.Unix()))
}

// sizeOf is the size that the witness is known to have cosigned.
func (s *server) sizeOf(tenant string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[tenant]
}

// isUnanswered reports whether a witness did not answer, so that it need not be asked for other tenants now.
func isUnanswered(err error) bool {
	var failed *httpclient.Error
	return errors.As(err, &failed) && failed.Transient()
}

// rounds is how often a witness may correct the size that it cosigned last.
const rounds = 3

// askWitness has one witness cosign a head, and returns the line of its cosignature.
func (c *Client) askWitness(ctx context.Context, srv *server, s scope.Scope, head *schemas.HeadReply) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	old := min(srv.sizeOf(s.Tenant()), head.Size)
	for range rounds {
		body, err := c.buildRequest(ctx, s, old, head)
		if err != nil {
			return "", err
		}
		answer, err := c.http.Post(ctx, srv.address, body)
		if err == nil {
			line := findCosignature(head.Checkpoint, answer, srv.key)
			if line == "" {
				return "", errors.New("its answer has no cosignature by its key")
			}
			srv.noteCosigned(s.Tenant(), head.Size)
			return line, nil
		}
		if old, err = c.interpretRefusal(ctx, srv, s, old, head, err); err != nil {
			return "", err
		}
	}
	return "", errors.New("its size changes as fast as it is asked")
}

// What a conflict means.
const (
	rewritten  = "the history was rewritten, or there are two"
	rolledBack = "the log was rolled back, or there are two"
)

// interpretRefusal says what a witness' refusal means: an error, or the size it cosigned last, with which it is
// asked again.
func (c *Client) interpretRefusal(ctx context.Context, srv *server, s scope.Scope, old int64, head *schemas.HeadReply, err error) (
	int64, error,
) {
	var failed *httpclient.Error
	if !errors.As(err, &failed) {
		return 0, err
	}
	switch failed.Status {
	case http.StatusNotFound:
		return 0, fmt.Errorf("it does not know this log: give it the log's key, %s", head.PublicKey)
	case http.StatusForbidden:
		return 0, fmt.Errorf("it knows this log by another key than %s", head.PublicKey)
	case http.StatusUnprocessableEntity:
		return 0, srv.noteConflict(s.Tenant(), fmt.Sprintf("it cosigned a head of %d entries that this log does not continue: %s", old, rewritten))
	case http.StatusConflict:
	default:
		return 0, err
	}
	known, parsed := strconv.ParseInt(strings.TrimSpace(string(failed.Body)), 10, 64)
	if parsed != nil || known < 0 {
		return 0, errors.New("it answers 409 without a size")
	}
	now, err := c.cfg.Log.Head(ctx, s)
	switch {
	case err != nil:
		return 0, err
	case known > now.Size:
		return 0, srv.noteConflict(s.Tenant(), fmt.Sprintf("it cosigned %d entries, and this log has %d: %s", known, now.Size, rolledBack))
	case known == old && old == head.Size:
		return 0, srv.noteConflict(s.Tenant(), fmt.Sprintf("it cosigned another head of %d entries: %s", known, rewritten))
	case known > head.Size:
		return 0, errors.New("it has a newer head of this log") // another worker's, whose next one is on its way
	}
	return known, nil
}

// buildRequest is the body of an add-checkpoint, with the proof that head continues the first old entries.
func (c *Client) buildRequest(ctx context.Context, s scope.Scope, old int64, head *schemas.HeadReply) ([]byte, error) {
	body := fmt.Appendf(nil, "old %d\n", old)
	if old > 0 && old < head.Size {
		proof, err := c.cfg.Log.ProveConsistencyAt(ctx, s, old, head.Size)
		if err != nil {
			return nil, fmt.Errorf("prove to a witness that the log only grew: %w", err)
		}
		for _, text := range proof.Hashes {
			hash, err := hex.DecodeString(text)
			if err != nil {
				return nil, fmt.Errorf("%w: a hash of the tree", eventlog.ErrCorrupt)
			}
			body = append(base64.StdEncoding.AppendEncode(body, hash), '\n')
		}
	}
	return append(append(body, '\n'), head.Checkpoint...), nil
}
