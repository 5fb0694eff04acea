package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/config"
	"satchel/emitters/gateway"
)

type webServer struct {
	addr   string
	server *http.Server
	done   chan error
}

func (w *webServer) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := w.server.Shutdown(ctx)
	if served := <-w.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// serveHTTP answers health, readiness, metrics and artifacts on HTTPAddr; nil when there is
// none.
func (a *App) serveHTTP(n *Node) (*webServer, error) {
	if a.HTTPAddr == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", a.HTTPAddr)
	if err != nil {
		return nil, config.Usagef("listen on %s: %v; choose another with --http-addr", a.HTTPAddr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := n.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
		for _, one := range n.damages.all() {
			fmt.Fprintln(w, one.String())
		}
	})
	mux.HandleFunc("GET /status", n.handleStatus)
	mux.HandleFunc("GET /alerts", n.handleAlerts)
	mux.Handle("GET /metrics", n.meters.Handler())
	mux.HandleFunc("GET /artifacts/{handle}", within(15*time.Minute, n.handleArtifact))
	return serve(listener, ownHosts(a.hosts(), mux)), nil
}

// serve answers on a listener until the server is stopped.
func serve(listener net.Listener, handler http.Handler) *webServer {
	web := &webServer{addr: listener.Addr().String(), done: make(chan error, 1),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}}
	go func() { web.done <- web.server.Serve(listener) }()
	return web
}

// hosts are the names under which HTTPAddr may be asked.
func (a *App) hosts() []string {
	names := append([]string{"localhost"}, a.HTTPHosts...)
	if host, _, err := net.SplitHostPort(a.HTTPAddr); err == nil {
		names = append(names, host)
	}
	return names
}

// ownHosts refuses requests for a host name that is not listed. A web page whose name was
// made to lead here cannot read an answer then. An address needs no name.
func ownHosts(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := gateway.HostOf(r)
		_, noAddress := netip.ParseAddr(host)
		if host != "" && noAddress != nil && !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) }) {
			http.Error(w, "this host name is not one of Satchel's; SATCHEL_HTTP_HOSTS names more", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// within gives a handler whose answer is long its own limit in place of the server's.
func within(limit time.Duration, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		until := time.Now().Add(limit)
		// When the time to read ends, the request's context does, too.
		if err := errors.Join(c.SetReadDeadline(until), c.SetWriteDeadline(until)); err != nil {
			http.Error(w, "the connection has no deadlines", http.StatusInternalServerError)
			return
		}
		handle(w, r)
	}
}
