package jetstream

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// PermissionErrors keeps what the server does not let the connections use that are given it as
// ConnectConfig.PermissionErrors: a subscription until that connection connects anew, a subject to
// publish on for a minute after the last try. Subjects that are not Satchel's own are left
// out, since a caller may name any as where to reply. A connection that lacks a subscription connects
// anew from time to time: the server does not say when it would be let have it. The zero value is ready,
// and safe for concurrent use.
type PermissionErrors struct {
	mu    sync.Mutex
	seen  map[denial]time.Time    // the zero time: until the next connection
	again map[*nats.Conn]*attempt // of those that lack a subscription
}

// attempt is when a connection connects anew.
type attempt struct {
	pause time.Duration
	due   bool // it will after the pause
}

// mostPauses is the longest pause before a connection connects anew, in first ones.
const mostPauses = 12

// denial is what one connection may not do, in words.
type denial struct {
	nc   *nats.Conn
	what string
}

// manyDenials is how many are kept.
const manyDenials = 64

// needed are the subjects that Satchel uses. Of those that end in a wildcard there is
// another for each message.
var needed = []string{"mem.v1.", "ctx.v1.", "art.v1.", "log.v1.", "prov.v1.", "dlq.v1.", "wrk.v1.", "$JS.API.", "$JS.ACK.>", "$JS.FC.>",
	"$SRV.", IdentifiedPrefix + ">", "$O.SATCHEL_ARTIFACTS.>", "$O.SATCHEL_REPLIES.>", "$KV.SATCHEL_REVOKED.>", "_INBOX.>"}

// notePermissionError keeps an error that a connection reports when it is of permissions. Where it lacks a subscription by that, it
// connects anew after a pause, which grows.
func (d *PermissionErrors) notePermissionError(nc *nats.Conn, err error, now time.Time, pause time.Duration) {
	if d == nil {
		return
	}
	if errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
		d.keepDenial(denial{nc, "have more subscriptions: the server or the account has a limit"}, time.Time{}, pause)
		return
	}
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	_, text, _ := strings.Cut(err.Error(), "iolation for ") // Permissions Violation for Publish to "subject"
	kind, rest, _ := strings.Cut(text, " to \"")
	subject, _, quoted := strings.Cut(rest, "\"")
	i := slices.IndexFunc(needed, func(need string) bool { return strings.HasPrefix(subject, strings.TrimSuffix(need, ">")) })
	if !quoted || i < 0 {
		return
	}
	if strings.HasSuffix(needed[i], ">") {
		subject = needed[i]
	}
	kind = strings.ToLower(kind)
	if kind != "publish" {
		kind = "subscribe to"
		now = time.Time{}
	} else {
		kind = "publish to"
	}
	d.keepDenial(denial{nc, kind + " " + subject}, now, pause)
}

// keepDenial keeps what is denied, until a connection connects anew where there is no time.
func (d *PermissionErrors) keepDenial(at denial, now time.Time, pause time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expireDenials()
	if d.seen == nil {
		d.seen = map[denial]time.Time{}
		d.again = map[*nats.Conn]*attempt{}
	}
	if _, known := d.seen[at]; known || len(d.seen) < manyDenials {
		d.seen[at] = now
	}
	if !now.IsZero() {
		return
	}
	a := d.again[at.nc]
	if a == nil {
		a = &attempt{pause: pause / 2}
		d.again[at.nc] = a
	}
	if a.due {
		return
	}
	a.due = true
	a.pause = min(2*a.pause, mostPauses*pause)
	time.AfterFunc(a.pause, func() { d.reconnectDenied(at.nc, a) })
}

// reconnectDenied connects anew where something is still denied.
func (d *PermissionErrors) reconnectDenied(nc *nats.Conn, a *attempt) {
	d.mu.Lock()
	a.due = false
	lacks := false
	for denied, at := range d.seen {
		lacks = lacks || denied.nc == nc && at.IsZero()
	}
	if !lacks {
		delete(d.again, nc)
	}
	d.mu.Unlock()
	if lacks {
		_ = nc.ForceReconnect() // a closed one needs none
	}
}

// expireDenials drops what is over.
func (d *PermissionErrors) expireDenials() {
	maps.DeleteFunc(d.seen, func(_ denial, at time.Time) bool { return !at.IsZero() && time.Since(at) > time.Minute })
}

// forgetDenials drops what was denied to a connection, which has connected anew.
func (d *PermissionErrors) forgetDenials(nc *nats.Conn) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.seen, func(denied denial, _ time.Time) bool { return denied.nc == nc })
}

// List returns what is denied, as "publish to subject" and "subscribe to subject", sorted.
func (d *PermissionErrors) List() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expireDenials()
	list := make([]string, 0, len(d.seen))
	for denied := range d.seen {
		list = append(list, denied.what)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Err is an ErrPermission that names the first of what is denied, nil when nothing is.
func (d *PermissionErrors) Err() error {
	list := d.List()
	switch len(list) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w: it may not %s", ErrPermission, list[0])
	}
	return fmt.Errorf("%w: it may not %s, and %d more", ErrPermission, list[0], len(list)-1)
}
