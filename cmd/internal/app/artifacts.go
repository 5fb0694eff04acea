package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	js "github.com/nats-io/nats.go/jetstream"

	"satchel/cmd/internal/config"
	"satchel/jetstream"
	"satchel/pipeline/infra/files"
	"satchel/worker/transport"
)

// ArtifactReader lists and reads artifacts of every tenant.
type ArtifactReader interface {
	// List returns every artifact, sorted.
	List(ctx context.Context) ([]jetstream.StoredArtifact, error)
	// Open returns an artifact's bytes, transport.ErrNoArtifact when there is none. The reader MUST
	// compare them with the hash.
	Open(ctx context.Context, tenant, sum string) (io.ReadCloser, error)
}

// ReadArtifacts opens the artifacts to look into them: on the NATS that is named, else through the
// process that has the data folder, else in the folder. The caller must call done.
func (a *App) ReadArtifacts(ctx context.Context) (_ ArtifactReader, done func() error, err error) {
	done = func() error { return nil }
	if a.NATSURL != "" {
		nc, err := jetstream.Connect(ctx, a.Connection(a.NATSURL, "satchel backup"), a.Logger(a.Err))
		if err != nil {
			return nil, nil, ExplainNATS(a.NATSURL, err)
		}
		conn, err := jetstream.Open(ctx, nc)
		if err != nil {
			nc.Close()
			return nil, nil, err
		}
		return jetstream.NewArtifacts(conn), func() error { nc.Close(); return nil }, nil
	}
	if _, err := os.Stat(a.Path("streams")); errors.Is(err, os.ErrNotExist) {
		return noArtifacts{}, done, nil
	}
	n, conn, err := a.OpenStreams(ctx)
	var held *files.HeldError
	if errors.As(err, &held) {
		return &adminArtifacts{a.AdminClient(), a, held}, done, nil
	}
	if err != nil {
		return nil, nil, a.ExplainStart(err)
	}
	return jetstream.NewArtifacts(conn), func() error { return n.Stop(context.WithoutCancel(ctx)) }, nil
}

// OpenStreams takes the data folder and opens its streams, or those of the NATS that is named, where
// no one else reaches them. The caller must stop the node.
func (a *App) OpenStreams(ctx context.Context) (*Node, js.JetStream, error) {
	n := &Node{Draining: make(chan struct{}), Done: make(chan error, 1)}
	err := a.OpenTransport(ctx, n, NodeOptions{NoListen: true}, a.Logger(a.Err))
	var conn js.JetStream
	if err == nil {
		conn, err = jetstream.Open(ctx, n.NC)
	}
	if err != nil {
		return nil, nil, errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
	}
	return n, conn, nil
}

type noArtifacts struct{}

func (noArtifacts) List(context.Context) ([]jetstream.StoredArtifact, error) { return nil, nil }

func (noArtifacts) Open(context.Context, string, string) (io.ReadCloser, error) {
	return nil, transport.ErrNoArtifact
}

// adminArtifacts asks the process that has the data folder.
type adminArtifacts struct {
	client *http.Client
	app    *App
	held   *files.HeldError
}

func (r *adminArtifacts) List(ctx context.Context) (list []jetstream.StoredArtifact, err error) {
	body, err := r.get(ctx, "/artifacts")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(json.NewDecoder(body).Decode(&list), body.Close()); err != nil {
		return nil, fmt.Errorf("list artifacts: %w", err)
	}
	return list, nil
}

func (r *adminArtifacts) Open(ctx context.Context, tenant, sum string) (io.ReadCloser, error) {
	return r.get(ctx, "/artifacts/"+tenant+"/"+sum)
}

func (r *adminArtifacts) get(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://satchel"+path, nil)
	if err != nil {
		return nil, fmt.Errorf("read artifacts: %w", err)
	}
	resp, err := r.client.Do(req)
	switch {
	case ctx.Err() != nil:
		return nil, errors.Join(ctx.Err(), closed(resp))
	case err != nil:
		return nil, config.Usagef("process %d works on %s and does not answer on %s: stop it", r.held.PID, r.app.Dir, r.app.Path(AdminFile))
	case resp.StatusCode == http.StatusGone:
		return nil, errors.Join(transport.ErrNoArtifact, resp.Body.Close())
	case resp.StatusCode != http.StatusOK:
		return nil, errors.Join(fmt.Errorf("read artifacts: process %d answers %s", r.held.PID, resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}

func closed(resp *http.Response) error {
	if resp == nil {
		return nil
	}
	return resp.Body.Close()
}

// handleArtifactList lists the artifacts of every tenant to the folder's owner.
func (n *Node) handleArtifactList(w http.ResponseWriter, r *http.Request) {
	list, err := jetstream.NewArtifacts(n.JetStream).List(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(list); err != nil {
		n.logger.WarnContext(r.Context(), "list of artifacts cut off", "error", err)
	}
}

// handleArtifactContent sends an artifact to the folder's owner, who compares it with its hash.
func (n *Node) handleArtifactContent(w http.ResponseWriter, r *http.Request) {
	content, err := jetstream.NewArtifacts(n.JetStream).Open(r.Context(), r.PathValue("tenant"), r.PathValue("sha256"))
	if errors.Is(err, transport.ErrNoArtifact) {
		http.Error(w, err.Error(), http.StatusGone)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, err = io.Copy(w, content)
	if err := errors.Join(err, content.Close()); err != nil {
		n.logger.WarnContext(r.Context(), "artifact cut off", "error", err)
	}
}
