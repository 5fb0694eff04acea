package jetstream

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Denials keeps what the server does not let the connections use that are given it as
// ConnectConfig.Denials: a subscription until they connect anew, a subject to publish on for a
// minute after the last try. Subjects that are not Satchel's own are left out, since a
// caller may name any as where to reply. The zero value is ready, and safe for concurrent use.
type Denials struct {
	mu   sync.Mutex
	seen map[string]time.Time // by sentence; the zero time: until the next connection
}

// needed are the subjects that Satchel uses.
var needed = []string{"mem.v1.", "ctx.v1.", "art.v1.", "log.v1.", "prov.v1.", "dlq.v1.", "wrk.v1.", "$JS.", "$SRV.",
	"$O.SATCHEL_", "$KV.SATCHEL_", "_INBOX."}

// note keeps an error that a connection reports when it is of permissions.
func (d *Denials) note(err error, now time.Time) {
	if d == nil || !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	_, text, _ := strings.Cut(err.Error(), "iolation for ") // Permissions Violation for Publish to "subject"
	kind, rest, _ := strings.Cut(text, " to \"")
	subject, _, quoted := strings.Cut(rest, "\"")
	if !quoted || !slices.ContainsFunc(needed, func(prefix string) bool { return strings.HasPrefix(subject, prefix) }) {
		return
	}
	if kind = strings.ToLower(kind); kind != "publish" {
		kind, now = "subscribe to", time.Time{}
	} else {
		kind = "publish to"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = map[string]time.Time{}
	}
	d.seen[kind+" "+subject] = now
}

func (d *Denials) forget() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.seen)
}

// List returns what is denied, as "publish to subject" and "subscribe to subject", sorted.
func (d *Denials) List() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]string, 0, len(d.seen))
	for what, at := range d.seen {
		if !at.IsZero() && time.Since(at) > time.Minute {
			delete(d.seen, what)
			continue
		}
		list = append(list, what)
	}
	slices.Sort(list)
	return list
}

// Err is an ErrPermission that names the first of what is denied, nil when nothing is.
func (d *Denials) Err() error {
	list := d.List()
	switch len(list) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w: it may not %s", ErrPermission, list[0])
	}
	return fmt.Errorf("%w: it may not %s, and %d more", ErrPermission, list[0], len(list)-1)
}
