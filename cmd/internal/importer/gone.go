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
	"satchel/cmd/internal/importer/source/document"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// markdownRead is what an import has read of Markdown.
type markdownRead struct {
	files   map[string]string // by id, where they are
	folders []markdownFolder  // that were read whole
	ids     map[string]bool   // of their sections, malformed ones too
	left    map[string]bool   // by id, files of the folders that were left out: what is held of them stays
	reasons map[string]int    // how many were, by reason
}

func newMarkdownRead() *markdownRead {
	return &markdownRead{files: map[string]string{}, ids: map[string]bool{}, left: map[string]bool{}, reasons: map[string]int{}}
}

// markdownFolder is a folder of Markdown and where it is.
type markdownFolder struct {
	root string
	file markdownFile
}

// heldMarkdown returns the items of Markdown that the log has, by id; false when this
// machine does not have the log of the node that answers.
func heldMarkdown(ctx context.Context, a *app.App, head *schemas.HeadReply) (map[string]heldValue, bool, error) {
	if a.LogInFolder() {
		if _, err := os.Stat(a.Path("log.db")); errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
	}
	f := fold{items: map[string]heldValue{},
		of:    func(id string) bool { return strings.HasPrefix(id, document.IDPrefix) },
		wants: func(m *schemas.MemoryItem) bool { return m.Category == document.Category }}
	mine := true
	err := foldLog(ctx, a, f, func(log *app.Reading, s scope.Scope) bool {
		_, err := log.OpenCheckpoint(s, []byte(head.Checkpoint))
		mine = err == nil
		return mine
	})
	return f.items, mine, err
}

// keepDates gives each section that says what it said before the day that it had: the file's own is that of another change.
func keepDates(items []schemas.MemoryItem, held map[string]heldValue) {
	for i := range items {
		m := &items[i]
		if h, ok := held[m.ID]; ok && h.current && h.item.Content.Text() == m.Content.Text() {
			m.CreatedAt = h.item.CreatedAt
		}
	}
}

// gone returns, ended, the current items of the log that stood in the files that were read
// or in files of the folders that were read whole, and do so no longer.
func (m *markdownRead) gone(held map[string]heldValue, now time.Time) []schemas.MemoryItem {
	var out []schemas.MemoryItem
	for _, id := range slices.Sorted(maps.Keys(held)) {
		h := held[id]
		if !h.current || m.ids[id] || !m.had(&h.item) {
			continue
		}
		item := h.item
		item.ValidTo = now.UTC().Truncate(time.Second)
		item.Signer, item.Provenance.Signer, item.Provenance.Checksum = "", "", ""
		out = append(out, item)
	}
	return out
}

// had reports whether an item stood in what was read.
func (m *markdownRead) had(item *schemas.MemoryItem) bool {
	id, name, rel := document.FileOf(item)
	if m.files[id] != "" {
		return true
	}
	for _, folder := range m.folders {
		file := folder.file
		if file.rel = rel; name == file.name && file.id(folder.root) == id {
			return !m.left[id]
		}
	}
	return false
}

// end publishes the end of what is no longer in the documentation that was read, unless
// that cannot be known here. It returns how many items ended.
func (m *markdownRead) end(ctx context.Context, p *publisher) (int, error) {
	ended := m.gone(p.held, time.Now())
	where := make([]string, len(ended))
	for i := range ended {
		where[i] = ended[i].Provenance.SourceURI
	}
	before := p.Refused()
	if err := p.addAll(ctx, "ending what is gone", ended, where); err != nil {
		return 0, fmt.Errorf("end what is gone: %w", err)
	}
	return len(ended) - (p.Refused() - before), nil
}
