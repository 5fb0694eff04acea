package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/importer/source"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// documentsRead is what an import has read of documentation.
type documentsRead struct {
	files   map[string]string // by id, where they are
	folders []documentFolder  // that were read whole
	ids     map[string]bool   // of their sections, malformed ones too
	left    map[string]bool   // by id, files of the folders that were left out: what is held of them stays
	reasons map[string]int    // how many were, by reason
}

// heldDocuments returns the items of documents that the log has, by id; false when this
// machine does not have the log of the node that answers.
func heldDocuments(ctx context.Context, a *app.App, head *schemas.HeadReply) (map[string]heldItem, bool, error) {
	if a.DatabaseURL == "" {
		if _, err := os.Stat(a.Path("log.db")); errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
	}
	f := fold{items: map[string]heldItem{},
		of:    func(id string) bool { return strings.HasPrefix(id, source.DocumentPrefix) },
		wants: func(m *schemas.MemoryItem) bool { return m.Category == source.DocumentCategory }}
	mine := true
	err := foldLog(ctx, a, f, func(log *app.Reading, s scope.Scope) bool {
		_, err := log.OpenCheckpoint(s, []byte(head.Checkpoint))
		mine = err == nil
		return mine
	})
	return f.items, mine, err
}

// keepDates gives each section that says what it said before the day that it had: the file's own is that of another change.
func keepDates(items []schemas.MemoryItem, held map[string]heldItem) {
	for i := range items {
		m := &items[i]
		if h, ok := held[m.ID]; ok && h.current && h.item.Content.Text() == m.Content.Text() {
			m.CreatedAt = h.item.CreatedAt
		}
	}
}

// had reports whether an item stood in what was read.
func (m *documentsRead) had(item *schemas.MemoryItem) bool {
	id, name, rel := source.FileOf(item)
	of := func(f documentFolder) bool { return f.name == name && f.id(rel) == id }
	return m.files[id] != "" || !m.left[id] && slices.ContainsFunc(m.folders, of)
}

// end publishes the end of the current items of the log that stood in the files that were read
// or in files of the folders that were read whole, and do so no longer, unless
// that cannot be known here. It returns how many items ended.
func (m *documentsRead) end(ctx context.Context, p *publisher) (int, error) {
	var ended []schemas.MemoryItem
	var where []string
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(p.held)) {
		h := p.held[id]
		if h.current && !m.ids[id] && m.had(&h.item) {
			ended = append(ended, endedAt(h.item, now))
			where = append(where, h.item.Provenance.SourceURI)
		}
	}
	before := p.Refused
	if err := p.addAll(ctx, "ending what is gone", ended, where); err != nil {
		return 0, fmt.Errorf("end what is gone: %w", err)
	}
	return len(ended) - (p.Refused - before), nil
}
