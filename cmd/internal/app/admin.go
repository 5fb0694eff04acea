package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"satchel/pipeline/scope"
)

// AdminFile is the socket, in the data folder, on which the process that has the folder takes
// the orders of the folder's owner.
const AdminFile = "admin.sock"

// longestSocket is how long the path of a socket may be on every system.
const longestSocket = 100

// serveAdmin answers the folder's owner; nil where the folder's path is too long for a socket.
// The caller holds the folder's lock.
func (a *App) serveAdmin(n *Node) (*webServer, error) {
	path := a.Path(AdminFile)
	if len(path) > longestSocket {
		n.logger.Warn("satchel rebuild cannot reach this process: the path of the data folder is too long for a socket", "socket", path)
		return nil, nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // that of a process that was killed
		return nil, fmt.Errorf("open the admin socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the admin socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("open the admin socket: %w", err), listener.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /rebuild", within(24*time.Hour, n.handleRebuild))
	mux.HandleFunc("GET /artifacts", n.handleArtifactList)
	mux.HandleFunc("GET /artifacts/{tenant}/{sha256}", within(24*time.Hour, n.handleArtifactContent))
	return serve(listener, mux), nil
}

// AdminClient asks the process that has the data folder.
func (a *App) AdminClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", a.Path(AdminFile))
	}}}
}

// RebuildProgress is a line of the answer to POST /rebuild.
type RebuildProgress struct {
	Tenant string `json:"tenant"`
	Done   int64  `json:"done"`
	Total  int64  `json:"total"`
	Digest string `json:"digest,omitempty"` // in the last line
	Error  string `json:"error,omitempty"`
}

// handleRebuild rebuilds a tenant's indexes and streams progress.
func (n *Node) handleRebuild(w http.ResponseWriter, r *http.Request) {
	s, err := scope.System(r.URL.Query().Get("tenant"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	head, err := n.Log.Head(r.Context(), s)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if head.Size == 0 {
		http.Error(w, "no such tenant", http.StatusNotFound)
		return
	}
	flush := func() {}
	if f, ok := w.(http.Flusher); ok {
		flush = f.Flush
	}
	enc := json.NewEncoder(w)
	send := func(p RebuildProgress) {
		p.Tenant = s.Tenant()
		if enc.Encode(p) == nil {
			flush()
		}
	}
	err = n.Worker.Projector.Rebuild(r.Context(), s, func(done, total int64) { send(RebuildProgress{Done: done, Total: total}) })
	if err != nil {
		send(RebuildProgress{Error: err.Error()})
		return
	}
	digest, err := n.Digest(r.Context(), s)
	if err != nil {
		send(RebuildProgress{Error: err.Error()})
		return
	}
	send(RebuildProgress{Done: n.Worker.Projector.Position(s.Tenant()), Total: n.Worker.Projector.Position(s.Tenant()), Digest: digest})
}
