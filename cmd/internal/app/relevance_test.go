package app

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline/relevance"
)

// A worker reads a changed file again. While it is broken, everything is included.
func TestAChangedRelevanceConfigIsReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "relevance.json")
	at := time.Now().Add(-time.Hour)
	write := func(text string) {
		t.Helper()
		at = at.Add(time.Minute)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"template_masks":{"M":{"facts":false}}}`)
	g, err := (&App{Settings: &config.Settings{Relevance: path}}).OpenGate(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text     string
		included int
	}{{"", 16}, {`{"template_masks":{"M":{"facts":false,"gists":false}}}`, 15}, {`{`, 17}, {`{"template_masks":{"M":{}}}`, 17}, {`{"template_masks":{"M":{"focus":false}}}`, 16}} {
		if c.text != "" {
			write(c.text)
			g.load(at)
		}
		if d := g.current.Decide(relevance.Input{Mode: "M"}); d.Trace.TotalIncluded != c.included {
			t.Errorf("%s: %d nodes are included, want %d", c.text, d.Trace.TotalIncluded, c.included)
		}
	}
}
