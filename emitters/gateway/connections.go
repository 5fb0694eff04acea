package gateway

import (
	linked "container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// What connections a listener keeps.
const (
	mostUnproven  = 512 // on which no token was sent yet
	mostOfOneSeat = 128 // on which a token was sent first
)

// connections are those of a listener. Beyond mostUnproven the oldest on which no token was sent
// is closed, so that a flood of them takes neither files nor memory from the others. It is safe
// for concurrent use.
type connections struct {
	mu       sync.Mutex
	unproven *linked.List // of *connection, oldest first
	all      map[net.Conn]*connection
	proven   map[string]int // by the fingerprint of the token's entry
}

// connection is one connection.
type connection struct {
	of          *connections
	conn        net.Conn
	at          *linked.Element // nil: a token was sent
	fingerprint string
}

// connected is the key of a request's connection in its context.
type connected struct{}

func newConnections() *connections {
	return &connections{unproven: linked.New(), all: map[net.Conn]*connection{}, proven: map[string]int{}}
}

// noteConnection notes a connection, in the context of its requests.
func (l *connections) noteConnection(ctx context.Context, conn net.Conn) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unproven.Len() >= mostUnproven {
		oldest, _ := l.unproven.Remove(l.unproven.Front()).(*connection)
		delete(l.all, oldest.conn)
		_ = oldest.conn.Close() // its server notes the end
	}
	c := &connection{of: l, conn: conn}
	c.at = l.unproven.PushBack(c)
	l.all[conn] = c
	return context.WithValue(ctx, connected{}, c)
}

// forgetClosed forgets connections that end.
func (l *connections) forgetClosed(conn net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.all[conn]
	if c == nil {
		return
	}
	delete(l.all, conn)
	if c.at != nil {
		l.unproven.Remove(c.at)
	} else if l.proven[c.fingerprint]--; l.proven[c.fingerprint] == 0 {
		delete(l.proven, c.fingerprint)
	}
}

// proveConnection notes that a valid token was sent on the connection of a request. It reports whether the
// connection may stay when it is answered.
func proveConnection(ctx context.Context, fingerprint string) bool {
	c, _ := ctx.Value(connected{}).(*connection)
	if c == nil { // of another server
		return true
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.at == nil || c.of.all[c.conn] != c {
		return true
	}
	if c.of.proven[fingerprint] >= mostOfOneSeat {
		return false
	}
	c.of.unproven.Remove(c.at)
	c.at = nil
	c.fingerprint = fingerprint
	c.of.proven[fingerprint]++
	return true
}
