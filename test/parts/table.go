package parts

import (
	"os"
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
