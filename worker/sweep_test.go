package worker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"satchel/jetstream"
	"satchel/schemas"
	"satchel/worker"
	"satchel/worker/transport"
)

// TestArtifactsOfNobodyGo: a running worker removes the contents that no item was recorded
// with within a week, and leaves what an item has.
func TestArtifactsOfNobodyGo(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	artifacts := jetstream.NewArtifacts(w.js)
	put := func(text string) string {
		t.Helper()
		sum, _, err := artifacts.Put(within(t), "acme", "ada", strings.NewReader(text))
		must(t, err)
		return sum
	}
	mine, nobodys := put("an item has this"), put("no item has this")
	now := time.Now()
	w.change = func(c *worker.Config) {
		c.Artifacts, c.Uploads, c.Sweep = artifacts, artifacts, 10*time.Millisecond
		c.Clock = func() time.Time { return now }
	}
	w.start(t)
	w.publish(t, "acme", recorded(t, "log1", "an extract", func(data map[string]any) {
		data["attributes"] = map[string]any{schemas.ArtifactAttribute: schemas.ArtifactAttributes{
			Object: schemas.ArtifactObject("acme", mine), SHA256: mine, Size: 16, MediaType: "text/plain"}}
	}))
	if got := w.entries(t, "acme", 2); got[1].Type != schemas.TypeArtifactStored {
		t.Fatalf("entries %v", ids(got))
	}
	there := func(sum string) bool {
		content, err := artifacts.Open(within(t), "acme", sum)
		if errors.Is(err, transport.ErrNoArtifact) {
			return false
		}
		must(t, err)
		must(t, content.Close())
		return true
	}
	must(t, w.stop())
	if !there(mine) || !there(nobodys) {
		t.Fatal("what is young is gone")
	}
	now = now.Add(8 * 24 * time.Hour)
	w.start(t)
	poll(t, "the content of nobody is removed", func() bool { return !there(nobodys) })
	must(t, w.stop())
	if !there(mine) {
		t.Error("what an item has is gone")
	}
}
