package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

// LedgerPath is where the ledger is followed.
const LedgerPath = "/v1/ledger"

const (
	heartbeat  = 15 * time.Second       // after which a stream that has nothing to say says so
	lookAgain  = 5 * time.Second        // after which a stream looks at its token, and for entries, unasked
	gather     = 100 * time.Millisecond // in which entries are gathered
	writeIn    = 30 * time.Second       // a client takes what is written
	pageOfFeed = 200                    // entries that are read at once
)

// ending is the key of a channel that is closed when the server is shut down, in the context of a request.
type ending struct{}

// Server returns a server of h with the limits that a listener needs: on connections without a
// token, too. Shutdown ends its streams.
func Server(h http.Handler) *http.Server {
	over := make(chan struct{})
	all := newConnections()
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: deadline, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
		ConnState:      all.forgetClosed,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return all.noteConnection(context.WithValue(ctx, ending{}, over), conn)
		},
	}
	s.RegisterOnShutdown(sync.OnceFunc(func() { close(over) }))
	return s
}

// untilShutdown prepares a request whose answer is a stream: it may take as long as it likes, and
// its context ends with the server. The caller MUST call the function at the end.
func untilShutdown(w http.ResponseWriter, r *http.Request) (*http.Request, context.CancelFunc) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a writer that cannot has no deadline
	ctx, cancel := context.WithCancel(r.Context())
	over, _ := ctx.Value(ending{}).(chan struct{}) // nil, which never ends, of another server
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	})
	return r.WithContext(ctx), func() { cancel(); watching.Wait() }
}

// followLedger serves the ledger of the token's tenant as events (text/event-stream), as it grows. Policy
// decides at each read on the kinds, and a token that holds no longer ends the stream.
func (g *gateway) followLedger(w http.ResponseWriter, r *http.Request) {
	who, ok := g.allowCaller(w, r, ScopeAudit)
	if !ok {
		return
	}
	done, err := g.streams.takePlace(who.makeFingerprint())
	if err != nil {
		refuseRequest(w, err)
		return
	}
	defer done()
	if !g.NC.IsConnected() {
		refuseRequest(w, emitters.ErrNotConnected)
		return
	}
	client, err := g.obtainClient(who)
	if err != nil {
		refuseRequest(w, err)
		return
	}
	f, err := feedOf(r, client)
	if err != nil {
		refuseRequest(w, err)
		return
	}
	rung, leave, err := g.bells.hearBell(g.NC, who.Tenant)
	if err != nil {
		refuseRequest(w, err)
		return
	}
	defer leave()
	r, cancel := untilShutdown(w, r)
	defer cancel()
	f.w, f.out = w, http.NewResponseController(w)
	f.still, f.asked = func() error { return g.checkTokenUnchanged(r, who) }, time.Now()
	if err := f.serveEntries(r.Context(), rung); err != nil && !errors.Is(err, errLeft) {
		f.reportFailure(err)
	}
}

// checkTokenUnchanged reports why the token of a request is not what it was.
func (g *gateway) checkTokenUnchanged(r *http.Request, who Token) error {
	secret, _ := bearerOf(r)
	now, err := g.findToken(r.Context(), secret)
	switch {
	case err != nil:
		return err
	case now.makeFingerprint() != who.makeFingerprint():
		return &schemas.Error{Code: schemas.CodeUnauthenticated, Message: "the token was changed"}
	}
	return nil
}

// errLeft says that a client takes nothing more.
var errLeft = errors.New("the client takes nothing more")

// feed is one client that follows the ledger.
type feed struct {
	client *emitters.Emitter
	kinds  []schemas.LedgerKind
	at     int64 // position up to which entries were looked at

	still func() error // reports why the token holds no longer
	asked time.Time    // still, last

	w    http.ResponseWriter
	out  *http.ResponseController
	sent time.Time // something, last; zero before the header
}

// feedOf reads where a stream begins: behind the event that the client had last, or behind after, or
// now.
func feedOf(r *http.Request, client *emitters.Emitter) (*feed, error) {
	f := &feed{client: client}
	from := r.Header.Get("Last-Event-ID")
	for name, values := range r.URL.Query() {
		switch name {
		case "after":
			from = cmp.Or(from, values[0])
		case "kind":
			for _, v := range values {
				kind := schemas.LedgerKind(v)
				if !slices.Contains(schemas.LedgerKinds(), kind) {
					return nil, newFieldError("/kind", fmt.Sprintf("the kinds are %v", schemas.LedgerKinds()))
				}
				f.kinds = append(f.kinds, kind)
			}
		default:
			return nil, newFieldError("/"+name, "there is no such parameter: after and kind are known")
		}
	}
	if from == "" {
		status, err := client.Status(r.Context())
		f.at = status.Size
		return f, err
	}
	at, err := strconv.ParseInt(from, 10, 64)
	if err != nil || at < 0 {
		return nil, newFieldError("/after", "after, or Last-Event-ID, must be a log position")
	}
	status, err := client.Status(r.Context())
	if err == nil && at > status.Size {
		err = newFieldError("/after", fmt.Sprintf("the log ends at position %d; it was restored, or the position is of another tenant", status.Size))
	}
	f.at = at
	return f, err
}

func newFieldError(field, why string) error {
	return &schemas.Error{Code: schemas.CodeValidation, Field: field, Message: why}
}

// serveEntries sends entries until the client leaves, the server is shut down, or something fails.
func (f *feed) serveEntries(ctx context.Context, rung func() <-chan struct{}) error {
	for {
		next := rung() // before the log is read, so that nothing is missed
		if err := f.sendNewEntries(ctx); err != nil {
			return err
		}
		if time.Since(f.sent) >= heartbeat && !f.writeText(": nothing new\n\n") {
			return errLeft
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgain):
		case <-next:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(gather):
			}
		}
		if err := f.recheckToken(); err != nil {
			return err
		}
	}
}

// recheckToken asks whether the token still holds, at most every lookAgain.
func (f *feed) recheckToken() error {
	if time.Since(f.asked) < lookAgain {
		return nil
	}
	f.asked = time.Now()
	return f.still()
}

// sendNewEntries sends what the log has that was not sent.
func (f *feed) sendNewEntries(ctx context.Context) error {
	if f.at == 0 { // nothing stands before the first entry that after could name
		status, err := f.client.Status(ctx)
		if err != nil {
			return ignoreIfGone(ctx, err)
		}
		if status.Size > 0 {
			if _, err = f.sendPage(ctx, schemas.EntriesRequest{Kinds: f.kinds, Before: 2, Limit: 1}); err != nil {
				return ignoreIfGone(ctx, err)
			}
			f.at = 1
		}
	}
	for more := f.at > 0; more; {
		if err := f.recheckToken(); err != nil {
			return err
		}
		next, err := f.sendPage(ctx, schemas.EntriesRequest{Kinds: f.kinds, After: f.at, Limit: pageOfFeed})
		if err != nil {
			return ignoreIfGone(ctx, err)
		}
		more = next > 0
		f.at = max(f.at, next)
	}
	if f.sent.IsZero() {
		f.sendHeader()
	}
	return nil
}

// ignoreIfGone is an error, but none for a client that left.
func ignoreIfGone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// sendPage sends a page of entries, and returns the position after which there are more.
func (f *feed) sendPage(ctx context.Context, req schemas.EntriesRequest) (next int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	reply, err := f.client.Entries(ctx, req)
	if err != nil {
		return 0, err
	}
	if f.sent.IsZero() {
		f.sendHeader()
	}
	for i := range reply.Entries {
		raw, err := json.Marshal(reply.Entries[i])
		if err != nil {
			return 0, fmt.Errorf("encode entry: %w", err)
		}
		if err := f.recheckToken(); err != nil {
			return 0, err
		}
		f.at = reply.Entries[i].Position
		if !f.writeText(fmt.Sprintf("id: %d\ndata: %s\n\n", f.at, raw)) {
			return 0, errLeft
		}
	}
	return reply.Next, nil
}

// sendHeader sends the header.
func (f *feed) sendHeader() {
	f.w.Header().Set("Content-Type", "text/event-stream")
	f.w.Header().Set("X-Accel-Buffering", "no") // of a proxy in front
	f.w.WriteHeader(http.StatusOK)
	f.writeText("retry: 2000\n\n")
}

// writeText sends a text at once. It reports whether the client still takes it.
func (f *feed) writeText(text string) bool {
	_ = f.out.SetWriteDeadline(time.Now().Add(writeIn)) // a writer that cannot has no deadline
	_, err := f.w.Write([]byte(text))
	if err = errors.Join(err, f.out.Flush()); err == nil {
		f.sent = time.Now()
	}
	return err == nil
}

// reportFailure tells the client why the stream ends.
func (f *feed) reportFailure(err error) {
	if f.sent.IsZero() {
		refuseRequest(f.w, err)
		return
	}
	if raw, err := json.Marshal(emitters.Refusal(err)); err == nil {
		f.writeText(fmt.Sprintf("event: error\ndata: %s\n\n", raw))
	}
}

// bells tell the streams of a tenant that its ledger has grown, by one subscription for all of them.
type bells struct {
	mu sync.Mutex
	of map[string]*bell
}

type bell struct {
	streams int
	sub     *nats.Subscription
	rung    chan struct{} // is closed when it rings, and replaced
}

// hearBell returns a function for the next ring, and one to leave. Nothing of a message is read.
func (b *bells) hearBell(nc *nats.Conn, tenant string) (rung func() <-chan struct{}, leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.of[tenant]
	if one == nil {
		subject, err := jetstream.LedgerTenantSubject(tenant)
		if err != nil {
			return nil, nil, err
		}
		one = &bell{rung: make(chan struct{})}
		one.sub, err = nc.Subscribe(subject, func(*nats.Msg) {
			b.mu.Lock()
			defer b.mu.Unlock()
			close(one.rung)
			one.rung = make(chan struct{})
		})
		if err != nil {
			return nil, nil, fmt.Errorf("follow the ledger: %w", err)
		}
		b.of[tenant] = one
	}
	one.streams++
	rung = func() <-chan struct{} {
		b.mu.Lock()
		defer b.mu.Unlock()
		return one.rung
	}
	return rung, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		one.streams--
		if one.streams == 0 {
			_ = one.sub.Unsubscribe() // the connection is gone
			delete(b.of, tenant)
		}
	}, nil
}
