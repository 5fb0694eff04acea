package measure

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"satchel/schemas"
)

// Timestamp is a time that a set may leave empty.
type Timestamp struct{ time.Time }

// UnmarshalJSON reads RFC 3339 or an empty string.
func (t *Timestamp) UnmarshalJSON(raw []byte) error {
	if string(raw) == `""` || string(raw) == "null" {
		t.Time = time.Time{}
		return nil
	}
	return t.Time.UnmarshalJSON(raw)
}

// Memory is one item of an evaluation set.
type Memory struct {
	ID      string    `json:"id"`
	Tenant  string    `json:"tenant"`
	Session string    `json:"session"`
	TS      Timestamp `json:"ts"`
	Speaker string    `json:"speaker"`
	Text    string    `json:"text"`
	Name    string    `json:"name"`
	Tool    bool      `json:"-"` // it came from tools.jsonl
}

// Item returns the memory as an item of a tenant, under an id. One without a time is of 1970.
func (m *Memory) Item(tenant, id string, seq int64) schemas.MemoryItem {
	item := schemas.MemoryItem{ID: id, Type: schemas.Episodic, Kind: schemas.KindMemory, Scope: schemas.MemoryScope{Tenant: tenant},
		CreatedAt: m.TS.Time, SecurityLabel: []string{"level:internal"}, Session: m.Session, Seq: seq, Speaker: m.Speaker,
		Content: schemas.TextContent(m.Text)}
	if item.CreatedAt.IsZero() {
		item.CreatedAt = time.Unix(0, 0).UTC()
	}
	if m.Speaker == "user" || m.Speaker == "assistant" {
		item.Role = m.Speaker
	}
	if m.Tool {
		item.Kind = schemas.KindTool
		item.Type = schemas.Procedural
	}
	return item
}

// Query is one labelled question. It searches its own tenant.
type Query struct {
	ID               string             `json:"id"`
	Tenant           string             `json:"tenant"`
	Text             string             `json:"text"`
	Category         string             `json:"category"`
	TS               Timestamp          `json:"ts"`
	Relevant         []string           `json:"relevant"`
	RelevantSessions []string           `json:"relevant_sessions"`
	Answer           any                `json:"answer"` // text or number
	Grades           map[string]float64 `json:"grades"`
}

// BySession reports whether the query is labelled by session only: the ranking is
// collapsed to sessions before it is scored.
func (q *Query) BySession() bool { return len(q.Relevant) == 0 && len(q.RelevantSessions) > 0 }

// Scored reports whether the query has labels; one without asks for what is not there.
func (q *Query) Scored() bool { return len(q.Relevant) > 0 || len(q.RelevantSessions) > 0 }

// Labels returns the grades of what is relevant.
func (q *Query) Labels() Labels {
	l := Labels{}
	ids := q.Relevant
	if q.BySession() {
		ids = q.RelevantSessions
	}
	for _, id := range ids {
		l[id] = 1
		if g, ok := q.Grades[id]; ok && g > 0 {
			l[id] = g
		}
	}
	return l
}

// Set is an evaluation set.
type Set struct {
	Name     string
	Memories []Memory
	Queries  []Query
}

// Load reads the set called name below dir.
func Load(dir, name string) (Set, error) {
	s := Set{Name: name}
	folder := filepath.Join(dir, name)
	queries, err := readLines[Query](filepath.Join(folder, "queries.jsonl"))
	if err != nil {
		return Set{}, err
	}
	s.Queries = queries
	s.Memories, err = readLines[Memory](filepath.Join(folder, "memories.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		s.Memories, err = readLines[Memory](filepath.Join(folder, "tools.jsonl"))
		for i := range s.Memories {
			s.Memories[i].Tool = true
		}
	}
	if err != nil {
		return Set{}, err
	}
	return s, nil
}

// Sets lists the folders below dir that hold labelled queries.
func Sets(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read folder %q: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(dir, e.Name(), "queries.jsonl")); err == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func readLines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read evaluation data: %w", err)
	}
	defer f.Close()
	var list []T
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, 1<<20), 64<<20)
	for line := 1; sc.Scan(); line++ {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("read %s line %d: %w", filepath.Base(path), line, err)
		}
		list = append(list, v)
	}
	return list, sc.Err()
}
