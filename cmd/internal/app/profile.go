package app

import (
	"net"
	"net/http"
	"net/http/pprof"

	"satchel/cmd/internal/config"
)

// serveProfiles answers Go's profiler on PProf; nil when there is none. A profile names
// functions and holds no memories, but a stranger could slow the process down: the address
// must be loopback.
func (a *App) serveProfiles() (*webServer, error) {
	if a.PProf == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", a.PProf)
	if err != nil {
		return nil, config.Usagef("listen on %s: %v; choose another with --pprof", a.PProf, err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		if err := listener.Close(); err != nil {
			return nil, err
		}
		return nil, config.Usagef("SATCHEL_PPROF=%s: it must be a loopback address, as 127.0.0.1:6060", a.PProf)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return serve(listener, ownHosts([]string{"localhost"}, mux)), nil
}
