package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	embed "satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	vecinproc "satchel/pipeline/store/memory"
	"satchel/pipeline/store/sqlite"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// memory and question are lines of a set, as docs/selection.md describes them.
type memory struct {
	ID      string `json:"id"`
	Tenant  string `json:"tenant"`
	Session string `json:"session"`
	TS      string `json:"ts"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

type question struct {
	ID       string   `json:"id"`
	Tenant   string   `json:"tenant"`
	Text     string   `json:"text"`
	TS       string   `json:"ts"`
	Category string   `json:"category"`
	Relevant []string `json:"relevant"`
}

// set is a labelled set.
type set struct {
	name      string
	memories  []memory
	tools     bool
	questions []question
}

func readSet(dir, name string) (set, error) {
	out := set{name: name}
	err := readLines(filepath.Join(dir, name, "memories.jsonl"), &out.memories)
	if errors.Is(err, fs.ErrNotExist) {
		out.tools = true
		err = readLines(filepath.Join(dir, name, "tools.jsonl"), &out.memories)
	}
	if err == nil {
		err = readLines(filepath.Join(dir, name, "queries.jsonl"), &out.questions)
	}
	return out, err
}

// conversations reads the sets of a folder as one.
func conversations(dir string) (set, error) {
	out := set{name: "talk"}
	names, err := folders(dir)
	for i := 0; i < len(names) && err == nil; i++ {
		var one set
		one, err = readSet(dir, names[i])
		out.memories, out.questions = append(out.memories, one.memories...), append(out.questions, one.questions...)
	}
	return out, err
}

// asked is when a question is asked; without a time no day is near.
func (q *question) asked() (time.Time, error) {
	if q.TS == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, q.TS)
}

func readLines[T any](path string, into *[]T) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		*into = append(*into, one)
	}
	return lines.Err()
}

// store is the items of a set, by tenant, in indexes of this process.
type store struct {
	config   selection.Config
	selector *selection.Selector
	tenants  map[string]string // of the set → of the store
	ids      map[string]string // of the store → of the set
	db       *sqlite.Items
	dir      string
}

func open(ctx context.Context, s *set, by makers) (*store, error) {
	dir, err := os.MkdirTemp("", "calibrate-")
	if err != nil {
		return nil, err
	}
	out := &store{tenants: map[string]string{}, ids: map[string]string{}, dir: dir}
	if out.db, err = sqlite.OpenItems(ctx, sqlite.IndexConfig{Path: filepath.Join(dir, "items.db")}); err != nil {
		return nil, err
	}
	words, err := vecinproc.OpenKeyword(vecinproc.KeywordConfig{})
	if err != nil {
		return nil, err
	}
	kept := items.New(out.db)
	near, err := openVectors(by.table)
	if err != nil {
		return nil, err
	}
	out.config = selection.Config{Items: kept, Keyword: words, Vector: near, Embedder: by.table}
	if by.encoder != nil {
		if out.config.Encoded, err = openVectors(by.encoder); err != nil {
			return nil, err
		}
		out.config.Encoder = by.encoder
	}
	byTenant := map[string][]schemas.MemoryItem{}
	for i := range s.memories {
		m := &s.memories[i]
		tenant, ok := out.tenants[m.Tenant]
		if !ok {
			tenant = fmt.Sprint("t", len(out.tenants))
			out.tenants[m.Tenant] = tenant
		}
		byTenant[tenant] = append(byTenant[tenant], out.item(s, m, tenant, len(out.ids)))
	}
	for tenant, list := range byTenant {
		sc, err := scope.System(tenant)
		if err != nil {
			return nil, err
		}
		if err := out.index(ctx, sc, list); err != nil {
			return nil, err
		}
	}
	return out, out.weigh(nil)
}

// weigh ranks by other weights from now on; nil are the shipped ones.
func (st *store) weigh(weights *rank.Weights) (err error) {
	st.config.Weights = weights
	st.selector, err = selection.New(st.config)
	return err
}

func (st *store) close() error {
	return errors.Join(st.db.Close(), os.RemoveAll(st.dir))
}

func (st *store) item(s *set, m *memory, tenant string, n int) schemas.MemoryItem {
	id := fmt.Sprint("i", n)
	st.ids[id] = m.ID
	at, err := time.Parse(time.RFC3339, m.TS)
	if err != nil {
		at = time.Unix(0, 0).UTC()
	}
	item := schemas.MemoryItem{ID: id, Kind: schemas.KindMemory, Type: schemas.Episodic, Scope: schemas.MemoryScope{Tenant: tenant}, CreatedAt: at,
		SecurityLabel: []string{"level:internal"}, Session: m.Session, Seq: int64(n), Speaker: m.Speaker, Content: schemas.TextContent(m.Text)}
	if m.Speaker == "user" || m.Speaker == "assistant" {
		item.Role = m.Speaker
	}
	if s.tools {
		item.Kind, item.Type = schemas.KindTool, schemas.Procedural
	}
	return item
}

func openVectors(by embed.Embedder) (*vector.Vectors, error) {
	x, err := vecinproc.OpenVector(vecinproc.VectorConfig{Model: by.Model().String(), Dimensions: by.Model().Dimensions})
	return vector.New(x), err
}

func (st *store) index(ctx context.Context, sc scope.Scope, list []schemas.MemoryItem) error {
	var ic []items.Change
	var kc []keyword.Change
	vc, ec := make([]vector.Change, len(list)), make([]vector.Change, len(list))
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = schemas.SearchText(&list[i])
	}
	for i := range list {
		m, at := list[i], int64(i+1)
		text, facets := texts[i], m.Facets()
		ic = append(ic, items.Change{Position: at, At: m.CreatedAt, Put: &schemas.Record{MemoryItem: m, Position: at, RecordedAt: m.CreatedAt, Terms: language.CountTerms(text), Facets: facets}})
		kc = append(kc, keyword.Change{Position: at, Put: &keyword.Doc{ID: m.ID, Position: at, Text: text, Facets: facets}})
		vc[i] = vector.Change{Position: at, Put: &vector.Doc{ID: m.ID, Position: at, Facets: facets}}
		ec[i] = vector.Change{Position: at, Put: &vector.Doc{ID: m.ID, Position: at, Facets: facets}}
	}
	n := int64(len(list))
	err := errors.Join(st.config.Items.Apply(ctx, sc, ic, n), st.config.Keyword.Apply(ctx, sc, kc, n), fill(ctx, sc, st.config.Vector, st.config.Embedder, texts, vc))
	if st.config.Encoder != nil {
		err = errors.Join(err, fill(ctx, sc, st.config.Encoded, st.config.Encoder, texts, ec))
	}
	return err
}

// fill gives the items of the changes their vectors and applies them.
func fill(ctx context.Context, sc scope.Scope, into vector.Index, by embed.Embedder, texts []string, changes []vector.Change) error {
	vectors, err := by.Embed(ctx, texts)
	if err != nil {
		return err
	}
	for i := range changes {
		changes[i].Put.Chunks = []vector.Chunk{{Vector: vectors[i]}}
	}
	return into.Apply(ctx, sc, changes, int64(len(changes)))
}

// ask returns the best candidates of a question that is asked now.
func (st *store) ask(ctx context.Context, tenant, text string, limit int, now time.Time) ([]candidate.Candidate, error) {
	sc, err := scope.System(tenant)
	if err != nil {
		return nil, err
	}
	pool, err := st.selector.Find(ctx, sc, selection.Query{Text: text, Filter: schemas.MatchAll(), Limit: limit, Now: now})
	if err != nil {
		return nil, err
	}
	defer st.selector.Release(pool)
	var seen candidate.Authorized
	for _, r := range pool.Records() {
		if r == nil {
			seen.Visible = append(seen.Visible, nil)
		} else {
			v := candidate.NewVisible(r.Record, false)
			seen.Visible = append(seen.Visible, &v)
		}
	}
	seen.Verdicts, seen.Own = slices.Repeat([]*schemas.Verdict{{}}, len(seen.Visible)), make([]bool, len(seen.Visible))
	ranking, err := st.selector.Rank(ctx, sc, pool, seen)
	return ranking.Candidates, err
}
