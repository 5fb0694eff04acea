package measure_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/cmd/internal/lab/measure"
)

func TestInjectionLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "set"), 0o700); err != nil {
		t.Fatal(err)
	}
	rows := `{"text":"a","label":1,"source":"one"}` + "\n" + `{"text":"b","label":1,"source":"one"}` + "\n" + `{"text":"c","label":0,"source":"two"}` + "\n" + `{"text":"d","label":0}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "set", "texts.jsonl"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	if !measure.HasLabels(dir, "set") || measure.HasLabels(dir, "other") {
		t.Error("a labelled set is not known")
	}
	texts, err := measure.LoadJudged(dir, "set")
	if err != nil {
		t.Fatal(err)
	}
	texts[0].Dropped, texts[0].Score = true, .9
	texts[1].Fenced, texts[1].Score = true, .5
	texts[2].Unread, texts[2].Fenced, texts[2].Score = true, true, .1
	texts[3].Score = .5
	want := []measure.InjectionLine{
		{Source: "-", Texts: 1},
		{Source: "one", Injected: true, Texts: 2, Caught: 2, Dropped: 1, Fenced: 1},
		{Source: "two", Texts: 1, Unread: 1},
		{Source: "all", Injected: true, Texts: 2, Caught: 2, Dropped: 1, Fenced: 1},
		{Source: "all", Texts: 2, Unread: 1},
	}
	if diff := cmp.Diff(want, measure.InjectionLines(texts)); diff != "" {
		t.Error(diff)
	}
	if got := measure.AUROC(texts); got != .875 {
		t.Errorf("AUROC %g, want .875", got)
	}
}
