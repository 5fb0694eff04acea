package testenv

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"satchel/test/must"
)

// Wire is the network between a client and a real server: it forwards TCP connections and
// can be slow, stand still, lose connections without a word to either side, or cut them.
type Wire struct {
	Address string // where clients connect to, host:port

	t        testing.TB
	target   string
	listener net.Listener
	done     sync.WaitGroup

	mu    sync.Mutex
	links map[*link]bool
	delay time.Duration // of every piece that arrives
	held  chan struct{} // closed when it moves again; nil while it does
	ended bool
}

// link is a connection through the wire, seen from both ends.
type link struct {
	client, server net.Conn
	lost           bool // what arrives goes nowhere
}

// StartWire returns a wire to a server at target, host:port, that forwards until the test
// ends.
func StartWire(t testing.TB, target string) *Wire {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	w := &Wire{Address: l.Addr().String(), t: t, target: target, listener: l, links: map[*link]bool{}}
	w.done.Go(w.accept)
	t.Cleanup(func() {
		w.Pass()
		w.mu.Lock()
		w.ended = true
		w.mu.Unlock()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		w.Cut()
		w.done.Wait()
	})
	return w
}

// Slow delays every piece of data, in both directions.
func (w *Wire) Slow(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = by
}

// Hold lets nothing through, and nothing be lost, until Pass.
func (w *Wire) Hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == nil {
		w.held = make(chan struct{})
	}
}

// Lose makes the connections there are half-open: both ends think that they stand, and
// nothing that is sent arrives. New ones are whole.
func (w *Wire) Lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.links {
		l.lost = true
	}
}

// Cut closes the connections there are.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.links {
		w.close(l)
	}
}

// Pass ends Slow and Hold.
func (w *Wire) Pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = 0
	if w.held != nil {
		close(w.held)
		w.held = nil
	}
}

func (w *Wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil { // the server is away: so is the wire's other end
			w.closed(client.Close())
			continue
		}
		l := &link{client: client, server: server}
		w.mu.Lock()
		w.links[l] = true
		if w.ended {
			w.close(l)
		}
		w.mu.Unlock()
		w.done.Go(func() { w.forward(l, l.client, l.server) })
		w.done.Go(func() { w.forward(l, l.server, l.client) })
	}
}

// forward carries data one way until an end closes.
func (w *Wire) forward(l *link, from, to net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && w.pass(l) {
			_, e := to.Write(buf[:n])
			err = errors.Join(err, e)
		}
		if err != nil {
			w.mu.Lock()
			if !l.lost || errors.Is(err, net.ErrClosed) { // the other end of a lost one does not hear of it
				w.close(l)
			}
			w.mu.Unlock()
			return
		}
	}
}

// pass waits as the wire is, and reports whether data arrives.
func (w *Wire) pass(l *link) bool {
	w.mu.Lock()
	delay, held := w.delay, w.held
	w.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-w.t.Context().Done():
		}
	}
	if held != nil {
		<-held
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !l.lost
}

// close closes both ends of a link. The caller holds the lock.
func (w *Wire) close(l *link) {
	if w.links[l] {
		delete(w.links, l)
		w.closed(l.client.Close())
		w.closed(l.server.Close())
	}
}

func (w *Wire) closed(err error) {
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
		w.t.Logf("close a connection of the wire: %v", err)
	}
}
