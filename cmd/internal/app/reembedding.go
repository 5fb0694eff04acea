package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/vector"
	"satchel/worker/erasure"
	"satchel/worker/projection"
)

// servingModel is what index/embedding.json keeps: the model whose vectors serve, and how
// to ask for it again.
type servingModel struct {
	Model      string `json:"model"`            // with its revision, as in a vector's key
	Name       string `json:"name"`             // of the endpoint's; "" for the table
	Revision   string `json:"revision"`         // as it was set
	Dimensions int    `json:"dimensions"`       //
	Shorten    bool   `json:"shorten"`          //
	Folder     string `json:"folder,omitempty"` // of the vectors in the process, under index/
}

// defaultFolder has the vectors of the first model.
const defaultFolder = "vector"

func (a *App) readServing() (*servingModel, error) {
	raw, err := os.ReadFile(a.Path("index", "embedding.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which model serves: %w", err)
	}
	var m servingModel
	if json.Unmarshal(raw, &m) != nil || m.Model == "" || filepath.Base(m.Folder) != m.Folder {
		return nil, nil // a projection's note: without it everything is embedded again
	}
	return &m, nil
}

// writeServing notes that the configured model serves.
func (a *App) writeServing(s *VectorTarget, folder string) error {
	m := servingModel{Model: s.Model().String(), Dimensions: s.Model().Dimensions, Folder: folder}
	if s.remote != nil {
		m.Name = a.EmbedModel
		m.Revision = a.EmbedRevision
		m.Shorten = a.EmbedShorten
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("note which model serves: %w", err)
	}
	path := a.Path("index", "embedding.json")
	if err := os.WriteFile(path+".new", append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("note which model serves: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("note which model serves: %w", err)
	}
	return nil
}

// folderOf is where a model's vectors in the process are kept, under index/.
func folderOf(model string) string {
	sum := sha256.Sum256([]byte(model))
	return defaultFolder + "-" + hex.EncodeToString(sum[:6])
}

// openSides opens the index of every model that is open. A model that did not serve until
// now has a folder of its own, until it serves; folders of others are removed.
func (a *App) openSides(ctx context.Context, s *Stores, bytes int64, logger *slog.Logger) error {
	onError := s.damages.snapshotDamage("vector")
	was, err := a.readServing()
	if err != nil {
		return err
	}
	folders := []string{defaultFolder}
	switch {
	case was != nil && was.Folder != "" && was.Model == s.Embedder.first.Model().String():
		folders[0] = was.Folder
	case was != nil && was.Model != s.Embedder.first.Model().String():
		folders[0] = folderOf(s.Embedder.first.Model().String())
	}
	for _, side := range s.Embedder.sides()[1:] {
		folders = append(folders, folderOf(side.Model().String()))
	}
	there, err := filepath.Glob(a.Path("index", defaultFolder+"*"))
	if err != nil {
		return fmt.Errorf("list vectors: %w", err)
	}
	for _, path := range there {
		if !slices.Contains(folders, filepath.Base(path)) {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("remove another model's vectors: %w", err)
			}
		}
	}
	for i, side := range s.Embedder.sides() {
		told := onError
		every := 0
		if e := s.Embedder.encoding; e != nil && side == &e.VectorTarget {
			every = 1000 // what is lost costs more than with the table
			told = func(tenant string, err error) {
				logger.Warn("the encoder's vectors", "tenant", tenant, "error", err)
				if errors.Is(err, memory.ErrDamaged) { // the table serves, until they are made again
					e.reindexer.LookAgain()
				}
			}
		}
		x, k, err := openStore(ctx, a, a.drivers().vector, opening{stores: s, name: folders[i], memory: bytes / int64(len(folders)), onError: told,
			contents: side.contents(), dimensions: side.Model().Dimensions, every: every})
		if err != nil {
			return err
		}
		side.index = vector.New(x)
		side.kept = k
	}
	s.Vector = servingIndex{s.Embedder}
	if s.Embedder.encoding != nil {
		a.openEncoding(s, logger)
	}
	if s.Embedder.next == nil {
		return a.writeServing(s.Embedder.first, folders[0])
	}
	return nil
}

// reembedding fills the next model's index in the background and then lets it serve.
type reembedding struct {
	reindexer *projection.Reindexer
	from      string
	to        string
}

// reembeddingState is how far it is.
type reembeddingState struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Done  int64  `json:"done"` // log entries
	Total int64  `json:"total"`
}

func (r *reembedding) state() *reembeddingState {
	done, total := r.reindexer.Progress()
	return &reembeddingState{From: r.from, To: r.to, Done: done, Total: total}
}

// ownsVectors says whether a tenant's vectors are this process's work; nil: all of them are.
func (n *Node) ownsVectors() func(tenant string) bool {
	if n.membership == nil || !n.shared.Vector {
		return nil
	}
	return func(tenant string) bool {
		owned, _ := n.membership.Owned()
		return owned[n.membership.Partition(tenant)]
	}
}

// reembed begins to fill the next model's index in the background, when there is one.
func (a *App) reembed(ctx context.Context, n *Node, logger *slog.Logger) {
	next := n.Embedder.next
	if next == nil {
		return
	}
	cfg := projection.ReindexerConfig{Log: n.Log, Index: next.index, Embedder: next, Sanitizer: n.public, Registry: n.grants, Busy: n.Worker.Projector.Busy, Logger: logger, Owns: n.ownsVectors()}
	r := &reembedding{reindexer: projection.NewReindexer(cfg), from: n.Embedder.Model().String(), to: next.Model().String()}
	n.reindexer = func() *projection.Reindexer { return r.reindexer }
	n.reembed.Store(r)
	n.background.Go(func() { r.run(ctx, a, n, logger) })
}

// run fills the index and lets it serve. It returns when that is done or ctx is.
func (r *reembedding) run(ctx context.Context, a *App, n *Node, logger *slog.Logger) {
	logger.Info("embedding everything anew", "from", r.from, "to", r.to)
	err := r.reindexer.Run(ctx)
	if err == nil {
		next := n.Embedder.next
		n.Worker.Projector.SwitchIndex(n.Embedder.projected(next), next)
		n.Embedder.adopt()
		n.reembed.Store(nil)
		tenants, unread := n.Log.Tenants(ctx)
		for _, tenant := range tenants {
			n.Log.NotifyGrowth(tenant) // what came meanwhile
		}
		err = errors.Join(a.writeServing(next, folderOf(r.to)), unread)
	}
	switch {
	case err == nil:
		logger.Info("everything is embedded anew", "model", r.to)
	case ctx.Err() == nil:
		logger.Error("embedding everything anew: the old vectors serve on", "error", err)
	}
}

// scrubSides cleans the indexes after an erasure: of the side that serves no more all
// is removed, and what the one being filled has of it is taken out.
func (s *Stores) scrubSides() []erasure.Scrubber {
	reindexer := func() *projection.Reindexer {
		if s.reindexer == nil {
			return nil
		}
		return s.reindexer()
	}
	first := erasure.Scrubber{Store: "vector", Shared: s.shared.Vector, Remaining: s.Embedder.first.kept.remaining,
		Scrub: func(ctx context.Context, sc scope.Scope) error {
			if s.Embedder.now.Load() != s.Embedder.first {
				return s.Embedder.first.index.Reset(ctx, sc)
			}
			return s.Embedder.first.kept.scrub(ctx, sc)
		}}
	all := []erasure.Scrubber{first}
	if next := s.Embedder.next; next != nil {
		all = append(all, scrubBehind("vector of the next model", next, s.shared.Vector, reindexer))
	}
	if e := s.Embedder.encoding; e != nil {
		all = append(all, scrubBehind("vector of the encoder", &e.VectorTarget, s.shared.Vector, func() *projection.Reindexer { return e.reindexer }))
		all = append(all, erasure.Scrubber{Store: "work of the encoder", Scrub: func(_ context.Context, sc scope.Scope) error {
			e.reindexer.Interrupt(sc.Tenant())
			return nil
		}})
	}
	return all
}
