// Package witness has witnesses cosign the signed heads of the logs, as C2SP tlog-witness has it, and
// keeps the heads that enough of them cosigned. Which witnesses there are, and how many are enough,
// says a tlog-policy.
//
// It promises that a kept head bears the log's signature and cosignatures that satisfy the policy.
// A witness that cosigned what this log does not continue is a conflict: the log was rolled back or
// rewritten, or it has a double. Conflicts are in Err until that witness cosigns again. A witness that
// does not answer holds up nobody: its heads wait.
package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	policy "github.com/transparency-dev/formats/witness"
	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline/infra/files"
	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/meter"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// suffix ends the names of the files of cosigned heads.
const suffix = ".witnessed"

// askLimit is how long one witness may take for one head.
const askLimit = 10 * time.Second

// Config is what a client is made of. Policy, Log, Dir and Meter are required.
type Config struct {
	Policy []byte // tlog-policy: "witness NAME VKEY URL", "group NAME N NAME…", "quorum NAME"
	Log    *eventlog.Log
	Dir    string // folder of the cosigned heads
	Meter  *meter.Set
	Retry  time.Duration    // between two tries of a head that a witness did not cosign; default 10 s
	Logger *slog.Logger     // default discards
	Clock  func() time.Time // default time.Now
}

// Client asks witnesses. Make one with New. It is safe for concurrent use.
type Client struct {
	cfg     Config
	quorum  policy.Group
	http    *httpclient.Client
	servers []*server
	wake    chan struct{}
	away    map[*server]bool // that did not answer Confirm

	mu    sync.Mutex
	tasks map[string]*task // by tenant: heads that some witness has not cosigned
}

// task is a tenant's newest head, until every witness has cosigned it.
type task struct {
	head  schemas.HeadReply
	lines map[*server]string // the cosignatures it has
	next  time.Time          // when it is tried again
	told  string             // what was logged of the tenant last
}

// New returns a client. It fails for a policy that cannot be read, or that names no witness.
func New(cfg Config) (*Client, error) {
	quorum, err := policy.ParsePolicy(cfg.Policy)
	if err != nil {
		return nil, fmt.Errorf("read witness policy: %w", err)
	}
	endpoints := quorum.Endpoints()
	if len(endpoints) == 0 || quorum.N < 1 {
		return nil, errors.New("read witness policy: the quorum names no witness")
	}
	if cfg.Retry <= 0 {
		cfg.Retry = 10 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	c := &Client{cfg: cfg, quorum: quorum, wake: make(chan struct{}, 1), away: map[*server]bool{}, tasks: map[string]*task{}}
	header := map[string]string{"Content-Type": "text/plain", "Accept": "*/*"}
	if c.http, err = httpclient.New(httpclient.Config{MaxAnswer: 64 << 10, Dial: askLimit / 2, Header: header}); err != nil {
		return nil, err
	}
	for _, address := range slices.Sorted(maps.Keys(endpoints)) {
		if _, err := httpclient.Endpoint(address, ""); err != nil {
			return nil, fmt.Errorf("read witness policy: the URL of %s: %w", endpoints[address].Name(), err)
		}
		c.servers = append(c.servers, newServer(address, endpoints[address], cfg.Meter))
	}
	cfg.Meter.BeforeReading(c.showGauges)
	return c, nil
}

// Offer has the witnesses cosign a tenant's newest head, soon. It does not wait.
func (c *Client) Offer(tenant string, head schemas.HeadReply) {
	if head.Size == 0 {
		return
	}
	c.mu.Lock()
	t := c.tasks[tenant]
	if t == nil || t.head.Checkpoint != head.Checkpoint {
		next := &task{head: head, lines: map[*server]string{}}
		if t != nil {
			next.told = t.told
		}
		c.tasks[tenant] = next
		for _, s := range c.servers {
			s.noteWaiting(tenant, c.cfg.Clock())
		}
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run asks the witnesses until ctx is done.
func (c *Client) Run(ctx context.Context) error {
	defer c.http.Close()
	tick := time.NewTicker(c.cfg.Retry)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-tick.C:
		}
		c.tryDueHeads(ctx)
	}
}

// tryDueHeads tries every head that is due. A witness that did not answer is not asked again in it.
func (c *Client) tryDueHeads(ctx context.Context) {
	now := c.cfg.Clock()
	c.mu.Lock()
	due := map[string]*task{}
	for tenant, t := range c.tasks {
		if !t.next.After(now) {
			due[tenant] = t
		}
	}
	c.mu.Unlock()
	silent := map[*server]bool{}
	for tenant, t := range due {
		if ctx.Err() != nil {
			return
		}
		if err := c.cosignHead(ctx, tenant, t, silent); ctx.Err() == nil {
			c.logOutcome(ctx, tenant, t, err)
		}
	}
}

// logOutcome logs what is new of a tenant.
func (c *Client) logOutcome(ctx context.Context, tenant string, t *task, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	c.mu.Lock()
	same := t.told == text
	t.told = text
	if next := c.tasks[tenant]; next != nil {
		next.told = text
	}
	c.mu.Unlock()
	if text != "" && !same {
		c.cfg.Logger.WarnContext(ctx, "have head witnessed", "tenant", tenant, "error", err)
	}
}

// Confirm asks every witness, once, whether the log's head continues what it cosigned; one that agrees
// cosigns the head. The error joins what each of the others said: a *ConflictError of a witness that cosigned
// what the log does not continue. One that did not answer is not asked for other tenants. Not for calls at once.
func (c *Client) Confirm(ctx context.Context, s scope.Scope, head schemas.HeadReply) error {
	answers := make([]error, len(c.servers))
	var wait sync.WaitGroup
	for i, srv := range c.servers {
		if c.away[srv] {
			continue
		}
		wait.Go(func() {
			if _, err := c.askWitness(ctx, srv, s, &head); err != nil {
				answers[i] = fmt.Errorf("witness %s: %w", srv.key.Name(), err)
			}
		})
	}
	wait.Wait()
	for i, srv := range c.servers {
		if isUnanswered(answers[i]) {
			c.away[srv] = true
		}
	}
	return errors.Join(answers...)
}

// cosignHead asks the witnesses that have not cosigned a head, and keeps it when enough have.
func (c *Client) cosignHead(ctx context.Context, tenant string, t *task, silent map[*server]bool) error {
	s, err := scope.System(tenant)
	if err != nil {
		return err
	}
	type answer struct {
		line string
		err  error
	}
	answers := make([]answer, len(c.servers))
	var wait sync.WaitGroup
	for i, srv := range c.servers {
		if t.lines[srv] == "" && !silent[srv] {
			wait.Go(func() { answers[i].line, answers[i].err = c.askWitness(ctx, srv, s, &t.head) })
		}
	}
	wait.Wait()
	var failed []error
	more := false
	for i, srv := range c.servers {
		switch a := &answers[i]; {
		case a.line != "":
			t.lines[srv] = a.line
			more = true
		case a.err != nil:
			silent[srv] = silent[srv] || isUnanswered(a.err)
			srv.noteWaiting(tenant, c.cfg.Clock())
			failed = append(failed, fmt.Errorf("witness %s: %w", srv.key.Name(), a.err))
		}
	}
	if more {
		failed = append(failed, c.keepHead(tenant, t))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.next = c.cfg.Clock().Add(c.cfg.Retry)
	if c.tasks[tenant] == t && len(t.lines) == len(c.servers) {
		delete(c.tasks, tenant)
	}
	return errors.Join(failed...)
}

// keepHead keeps a head with its cosignatures, if they are enough.
func (c *Client) keepHead(tenant string, t *task) error {
	signed := t.head.Checkpoint
	for _, srv := range c.servers {
		signed += t.lines[srv]
	}
	if !c.quorum.Satisfied([]byte(signed)) {
		return nil
	}
	err := os.MkdirAll(c.cfg.Dir, 0o700)
	if err == nil {
		err = files.Write(filepath.Join(c.cfg.Dir, tenant+suffix), func(w io.Writer) error {
			_, err := io.WriteString(w, signed)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("keep cosigned head: %w", err)
	}
	return nil
}

// Newest returns the newest head of a tenant that enough witnesses cosigned, "" for none.
func (c *Client) Newest(tenant string) string {
	raw, err := os.ReadFile(filepath.Join(c.cfg.Dir, tenant+suffix))
	if err != nil || !c.quorum.Satisfied(raw) {
		return ""
	}
	return string(raw)
}

// Err names the conflicts; nil when there are none.
func (c *Client) Err() error {
	var all []error
	for _, srv := range c.servers {
		all = append(all, srv.joinConflicts())
	}
	return errors.Join(all...)
}

// showGauges sets the gauges.
func (c *Client) showGauges() {
	for _, srv := range c.servers {
		srv.setGauges(c.cfg.Clock())
	}
}

// findCosignature returns the line of a witness among those of its answer, "" where there is none that holds.
func findCosignature(checkpoint string, answer []byte, key note.Verifier) string {
	n, err := note.Open(append([]byte(checkpoint), answer...), note.VerifierList(key))
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(answer) {
		if strings.HasPrefix(string(line), "— "+key.Name()+" ") && strings.Contains(string(line), n.Sigs[0].Base64) {
			return string(line)
		}
	}
	return ""
}
