package parts

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Table fails the test unless the page has the table, made from code, between the two lines that begin and end it.
// With SATCHEL_GOLDEN=write it puts the table there instead; make reference does so for all pages.
func Table(t testing.TB, page, name, table string) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": written by make reference -->\n", "<!-- end of "+name+" -->\n"
	head, rest, begins := strings.Cut(string(raw), begin)
	was, tail, ends := strings.Cut(rest, end)
	switch {
	case !begins || !ends:
		t.Errorf("%s has no lines %q and %q", page, begin, end)
	case was == table:
	case os.Getenv("SATCHEL_GOLDEN") != "write":
		t.Errorf("%s: the table %q is not what the code says: make reference", page, name)
	default:
		if err := os.WriteFile(page, []byte(head+begin+table+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Commented returns the table, in Markdown, that begins with a text in a comment of a Go file: lines behind a tab, columns
// two spaces or more apart, and rows that go on behind an empty first column. Without a header its first row is one.
func Commented(t testing.TB, file, begins string, header ...string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "\n//\t"+begins)
	if !found {
		t.Fatalf("%s has no table that begins with %q", file, begins)
	}
	var rows [][]string
	for line := range strings.Lines("//\t" + begins + rest) {
		text, inside := strings.CutPrefix(line, "//\t")
		if !inside {
			break
		}
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(text), -1)
		if strings.HasPrefix(text, " ") {
			last := rows[len(rows)-1]
			last[len(last)-1] += " " + strings.Join(cells, " ")
			continue
		}
		rows = append(rows, cells)
	}
	if header != nil {
		rows = append([][]string{header}, rows...)
	}
	var b strings.Builder
	for i, cells := range rows {
		for j := range cells {
			cells[j] = strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(cells[j])
		}
		if i > 0 {
			cells[0] = "`" + strings.ReplaceAll(cells[0], `\`, "") + "`"
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(cells)) + "\n")
		}
	}
	return b.String()
}
