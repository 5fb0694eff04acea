package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

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
func (a *app) heldMarkdown(ctx context.Context, head *schemas.HeadReply) (map[string]heldValue, bool, error) {
	if a.DatabaseURL == "" {
		if _, err := os.Stat(a.path("log.db")); errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
	}
	f := fold{items: map[string]heldValue{},
		of:    func(id string) bool { return strings.HasPrefix(id, markdownID) },
		wants: func(m *schemas.MemoryItem) bool { return m.Category == markdownCategory }}
	mine := true
	err := a.foldLog(ctx, f, func(verifierKey string) bool {
		v, err := note.NewVerifier(verifierKey)
		if err == nil {
			_, err = note.Open([]byte(head.Checkpoint), note.VerifierList(v))
		}
		mine = err == nil
		return mine
	})
	return f.items, mine, err
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

// had reports whether an item stood in what was read. Its id, which is made from the file
// and its headings, says so for certain: files of other folders have other ids.
func (m *markdownRead) had(item *schemas.MemoryItem) bool {
	uri := strings.TrimPrefix(item.Provenance.SourceURI, "file:")
	for file, where := range m.files {
		if strings.Contains(uri, "/"+filepath.Base(where)+"#") && sectionOf(item, file) {
			return true
		}
	}
	for _, folder := range m.folders {
		rest, ok := strings.CutPrefix(uri, folder.file.name+"/")
		if !ok {
			continue
		}
		file := folder.file
		if file.rel = rest; file.id(folder.root) == item.ID {
			return !m.left[item.ID]
		}
		if hash := strings.LastIndexByte(rest, '#'); hash >= 0 {
			file.rel = rest[:hash]
			if id := file.id(folder.root); sectionOf(item, id) {
				return !m.left[id]
			}
		}
	}
	return false
}

// sectionOf reports whether an item is a section of the file, and not its first.
func sectionOf(item *schemas.MemoryItem, file string) bool {
	title, _, _ := strings.Cut(item.Content.Text(), "\n")
	s := section{path: strings.Split(title, pathMark)}
	if s.id(file, false) == item.ID {
		return true
	}
	uri := item.Provenance.SourceURI
	n, err := strconv.Atoi(uri[strings.LastIndexByte(uri, '-')+1:])
	s.place = n
	return err == nil && s.id(file, false) == item.ID
}

// end publishes the end of what is no longer in the Markdown that was read, unless that
// cannot be known here. It returns how many items ended.
func (f *fileItems) end(ctx context.Context, md *markdownRead) (int, error) {
	ended := md.gone(f.held, time.Now())
	where := make([]string, len(ended))
	for i := range ended {
		where[i] = ended[i].Provenance.SourceURI
	}
	before := f.refused()
	for start := 0; start < len(ended); start += importChunk {
		end := min(start+importChunk, len(ended))
		if _, err := f.publish(ctx, ended[start:end], where[start:end]); err != nil {
			return start, fmt.Errorf("end what is gone: %w", err)
		}
	}
	return len(ended) - (f.refused() - before), nil
}
