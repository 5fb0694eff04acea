package e2e

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
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
	var days strings.Builder
	for day := range 300 {
		fmt.Fprintf(&days, "On day %d merchant %d sold %d crates of apples. ", day, day, 7*day%41)
	}
	i.Must(t, "emit", "--id", "n3", "--text", days.String()+"Then Ravi repaired the crane of the harbour.")
	i.Must(t, "ask", "--budget", "300", "--limit", "1", "who repaired the crane of the harbour?")
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

	if extract := shown["who repaired the crane of the harbour? n3"]; !strings.Contains(extract, "Ravi repaired the crane") || len(extract) > 2000 {
		t.Errorf("of a long item %d bytes: %.300s", len(extract), extract)
	}
	for _, args := range [][]string{{"--no-content"}, {"--report", again}, {"--key", "x"}} {
		if out, code := i.Run(t, append([]string{"evidence", "--sample", "1", "-o", again}, args...)...); code != 2 {
			t.Errorf("a sample with %v: %d %s", args, code, out)
		}
	}

	if out, code := i.Run(t, "evidence", "--ratings", sheet); code != 2 || !strings.Contains(out, "nothing is rated") {
		t.Errorf("without a rating: %d %s", code, out)
	}
	rate(t, rows, sheet, func([]string) string { return "yes" })
	if out, code := i.Run(t, "evidence", "--ratings", sheet); code != 0 || !strings.Contains(out, "100 %") {
		t.Errorf("all good: %d %s", code, out)
	}
	rate(t, rows, sheet, func([]string) string { return "No" })
	if out, code := i.Run(t, "evidence", "--ratings", sheet); code != 3 || !strings.Contains(out, "fewer than 85 %") {
		t.Errorf("nothing relevant: %d %s", code, out)
	}
	rate(t, append(rows, rows[1]), sheet, func([]string) string { return "yes" })
	if out, code := i.Run(t, "evidence", "--ratings", sheet); code != 2 || !strings.Contains(out, "twice") {
		t.Errorf("a line twice: %d %s", code, out)
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
	i.Must(t, "forget", "n3")
	i.Must(t, "evidence", "--sample", "9", "--since", "1", "-o", sheet)
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
	raw, err := io.ReadAll(file)
	if err != nil || !bytes.HasPrefix(raw, []byte("\ufeff\"pack\",")) {
		t.Fatalf("%.200s (%v)", raw, err)
	}
	rows, err := csv.NewReader(bytes.NewReader(raw[3:])).ReadAll()
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
