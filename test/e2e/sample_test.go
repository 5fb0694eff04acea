package e2e

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"satchel/test/testenv"
)

// TestPeopleRatePacks writes packs with their questions for people to rate, and reads the ratings back. A question
// stands in the stored result alone, and goes when an item that was shown is erased.
func TestPeopleRatePacks(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	i := testenv.Up(t, binary("satchel"), t.TempDir())
	i.Must(t, "emit", "--id", "n1", "--text", "the lake house has a red door", "--speaker", "Ann")
	i.Must(t, "emit", "--id", "n2", "--text", "=HYPERLINK(1) the kiln is cold on Sundays")
	ask(t, i, "what colour has the door of the lake house, quetzal?")
	ask(t, i, "when is the kiln cold?")
	sheet, again := filepath.Join(work, "rate.csv"), filepath.Join(work, "again.csv")
	i.Must(t, "evidence", "--sample", "20", "-o", sheet)
	i.Must(t, "evidence", "--sample", "20", "-o", again)
	rows := readSheet(t, sheet)
	if !slices.EqualFunc(rows, readSheet(t, again), slices.Equal) {
		t.Error("the same log gives another sample")
	}
	shown := map[string]string{}
	for _, row := range rows[1:] {
		shown[row[1]+" "+row[2]] = row[3]
	}
	if shown["what colour has the door of the lake house, quetzal? n1"] != "the lake house has a red door" ||
		shown["when is the kiln cold? n2"] != "'=HYPERLINK(1) the kiln is cold on Sundays" {
		t.Errorf("sample %v", rows)
	}

	if out, code := i.Run(t, "evidence", "--ratings", sheet); code != 2 || !strings.Contains(out, "nothing is rated") {
		t.Errorf("without a rating: %d %s", code, out)
	}
	rate(t, rows, sheet, func(row []string) string {
		return map[bool]string{true: "yes", false: "no"}[strings.Contains(row[1], "door") == (row[2] == "n1")]
	})
	if out, code := i.Run(t, "evidence", "--ratings", sheet); code != 0 || !strings.Contains(out, "100 %") {
		t.Errorf("all good: %d %s", code, out)
	}
	rate(t, rows, sheet, func([]string) string { return "No" })
	if out, code := i.Run(t, "evidence", "--ratings", sheet); code != 3 || !strings.Contains(out, "fewer than 85 %") {
		t.Errorf("nothing relevant: %d %s", code, out)
	}
	rate(t, rows, sheet, func([]string) string { return "perhaps" })
	if out, code := i.Run(t, "evidence", "--ratings", sheet); code != 2 || !strings.Contains(out, "line 2") {
		t.Errorf("no answer: %d %s", code, out)
	}

	if out := i.Must(t, "ledger", "--json"); strings.Contains(out, "quetzal") {
		t.Errorf("the ledger tells what was asked:\n%s", out)
	}
	i.Must(t, "forget", "n1")
	i.Must(t, "evidence", "--sample", "1", "--since", "1", "-o", sheet)
	if left := readSheet(t, sheet); len(left) != 2 || left[1][2] != "n2" {
		t.Errorf("after the erasure: %v", left)
	}
}

func readSheet(t *testing.T, path string) [][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%v (%v)", rows, err)
	}
	return rows
}

// rate writes the rows with an answer each, as a spreadsheet would.
func rate(t *testing.T, rows [][]string, path string, answer func(row []string) string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := csv.NewWriter(file)
	for n, row := range rows {
		row = slices.Clone(row)
		if n == 0 {
			row[0] = "\ufeff" + row[0]
		} else {
			row[len(row)-1] = answer(row)
		}
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		t.Fatal(err)
	}
}
