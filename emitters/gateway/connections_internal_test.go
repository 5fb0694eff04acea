package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestConnectionsWithoutATokenAreBounded: connections on which no token is sent push out the
// oldest of their kind and no other, and a token has so many.
func TestConnectionsWithoutATokenAreBounded(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.Config = Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("Authorization"); token != "" && !proveConnection(r.Context(), token) {
			w.Header().Set("Connection", "close")
		}
	}))
	server.Start()
	t.Cleanup(server.Close)
	dial := func() net.Conn {
		t.Helper()
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	ask := func(conn net.Conn, token string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+conn.RemoteAddr().String()+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", token)
		}
		if err := r.Write(conn); err != nil {
			return nil, err
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), r)
		if err == nil {
			_ = res.Body.Close()
		}
		return res, err
	}
	honest := dial()
	if _, err := ask(honest, "ada"); err != nil {
		t.Fatal(err)
	}
	first := dial()
	if _, err := ask(first, ""); err != nil {
		t.Fatal(err)
	}
	for range mostUnproven {
		if _, err := ask(dial(), ""); err != nil { // the server has it
			t.Fatal(err)
		}
	}
	if _, err := first.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the oldest connection without a token is not closed: %v", err)
	}
	if _, err := ask(honest, "ada"); err != nil {
		t.Errorf("a connection with a token: %v", err)
	}
	for i := range mostOfOneSeat {
		res, err := ask(dial(), "flood")
		if err != nil || res.Close {
			t.Fatalf("connection %d of a token: %v", i, err)
		}
	}
	if res, err := ask(dial(), "flood"); err != nil || !res.Close {
		t.Errorf("a token has more connections than it may: %v", err)
	}
	if res, err := ask(dial(), "ada"); err != nil || res.Close {
		t.Errorf("another token's connection: %v", err)
	}
}

// TestConnectionsAreForgotten: nothing is kept of a connection that has ended.
func TestConnectionsAreForgotten(t *testing.T) {
	t.Parallel()
	l := newConnections()
	var all []net.Conn
	for i := range 3 * mostUnproven {
		conn, other := net.Pipe()
		t.Cleanup(func() { _ = other.Close() })
		ctx := l.noteConnection(t.Context(), conn)
		if i%5 == 0 {
			proveConnection(ctx, string(rune('a'+i%3)))
		}
		all = append(all, conn)
	}
	if len(l.all) > mostUnproven+3*mostOfOneSeat {
		t.Errorf("%d connections are kept", len(l.all))
	}
	for _, conn := range all {
		l.forgetClosed(conn, http.StateClosed)
	}
	if len(l.all) != 0 || l.unproven.Len() != 0 || len(l.proven) != 0 {
		t.Errorf("left: %d connections, %d without a token, %v", len(l.all), l.unproven.Len(), l.proven)
	}
}
