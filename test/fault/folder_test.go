package fault

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline/model"
	"satchel/pipeline/model/static"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/postgres"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/store/vector"
	"satchel/worker"
	"satchel/worker/projection"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openLog opens the log of a stopped data folder, in the database if it has one.
func openLog(t *testing.T, dir, database string) *eventlog.Log {
	t.Helper()
	private, err := os.ReadFile(filepath.Join(dir, "keys", "log.key"))
	must(t, err)
	public, err := os.ReadFile(filepath.Join(dir, "keys", "log.pub"))
	must(t, err)
	signer, err := note.NewSigner(string(private))
	must(t, err)
	var driver eventlog.Driver
	if database != "" {
		driver, err = postgres.OpenLog(t.Context(), postgres.LogConfig{URL: database})
	} else {
		driver, err = sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: filepath.Join(dir, "log.db")})
	}
	must(t, err)
	log, err := eventlog.New(eventlog.Config{Driver: driver, Signer: signer, VerifierKey: strings.TrimSpace(string(public)), Keep: filepath.Join(dir, "heads")})
	must(t, err)
	t.Cleanup(func() { must(t, log.Close()) })
	return log
}

// indexes are the projections in a folder, open.
type indexes struct {
	items    *items.Items
	keyword  *memory.Keyword
	vector   *vector.Vectors
	graph    *graph.Graph
	embedder model.Embedder
}

// openIndexes opens the projections in a folder, the items in the database if there is one. The
// vectors are those of the table.
func openIndexes(t *testing.T, dir, database string) *indexes {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	table, err := static.New()
	must(t, err)
	x := &indexes{embedder: table}
	if database != "" {
		itemDB, err := postgres.OpenItems(t.Context(), postgres.ItemsConfig{URL: database})
		must(t, err)
		t.Cleanup(func() { must(t, itemDB.Close()) })
		x.items = items.NewShared(itemDB)
	} else {
		itemDB, err := sqlite.OpenItems(t.Context(), sqlite.IndexConfig{Path: filepath.Join(dir, "items.db")})
		must(t, err)
		t.Cleanup(func() { must(t, itemDB.Close()) })
		x.items = items.New(itemDB)
	}
	graphDB, err := sqlite.OpenGraph(t.Context(), sqlite.IndexConfig{Path: filepath.Join(dir, "graph.db")})
	must(t, err)
	t.Cleanup(func() { must(t, graphDB.Close()) })
	x.graph = graph.New(graphDB)
	x.keyword, err = memory.OpenKeyword(memory.KeywordConfig{Dir: filepath.Join(dir, "keyword")})
	must(t, err)
	t.Cleanup(func() { must(t, x.keyword.Close()) })
	vectors, err := memory.OpenVector(memory.VectorConfig{Dir: filepath.Join(dir, vectorFolder(t, dir)), Model: x.embedder.Model().String(), Dimensions: x.embedder.Model().Dimensions})
	must(t, err)
	t.Cleanup(func() { must(t, vectors.Close()) })
	x.vector = vector.New(vectors)
	return x
}

// vectorFolder is where the vectors of the model that serves are, in a folder of indexes.
func vectorFolder(t *testing.T, dir string) string {
	t.Helper()
	var serving struct{ Folder string }
	raw, err := os.ReadFile(filepath.Join(dir, "embedding.json"))
	if err == nil {
		must(t, json.Unmarshal(raw, &serving))
	}
	return cmp.Or(serving.Folder, "vector")
}

func (x *indexes) projector(log *eventlog.Log) *projection.Projector {
	return worker.NewProjector(worker.Config{Log: log, Embedder: x.embedder, Stores: projection.Stores{Items: x.items, Novelty: x.items, Keyword: x.keyword, Vector: x.vector, Graph: x.graph}})
}

// digests are those of items, keyword index, vector index and graph.
func (x *indexes) digests(t *testing.T, s scope.Scope) map[string][sha256.Size]byte {
	t.Helper()
	all := map[string][sha256.Size]byte{}
	var err error
	all["items"], err = x.items.Digest(t.Context(), s)
	must(t, err)
	all["keyword"], err = x.keyword.Digest(t.Context(), s)
	must(t, err)
	all["vector"], err = x.vector.Digest(t.Context(), s)
	must(t, err)
	all["graph"], err = x.graph.Digest(t.Context(), s)
	must(t, err)
	return all
}
