package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"satchel/schemas"
	"satchel/test/parts"
)

// Search, preview and ask look among the items that a filter lets through, far down the ranking, too.
func TestFilterFlag(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	n := startNode(t)
	var lines strings.Builder
	for i := range 2000 {
		label, text := fmt.Sprintf("project:p%d", i%40), fmt.Sprintf("The launch %d was moved by the board.", i)
		if i == 1000 {
			label, text = "project:apollo", "In the end nobody wanted to move that date."
		}
		fmt.Fprintf(&lines, `{"id":"m%d","content":%q,"security_label":["level:internal",%q],"trust":%.1f}`+"\n", i, text, label, .3+float64(i%3)/10)
	}
	n.must(t, "import", folder(t, map[string]string{"m.jsonl": lines.String()})+"/m.jsonl")
	n.must(t, "emit", "--id", "secret", "--text", "The launch was moved.", "--label", "level:restricted", "--label", "project:apollo", "--label", "project:zeus")
	const question = "why was the launch moved?"
	for _, c := range []struct {
		filters []string
		want    []string
		n       int
	}{
		{[]string{"labels=project:apollo"}, []string{"m1000"}, 1},
		{[]string{"labels=project:zeus"}, nil, 0},
		{[]string{"labels=project:none"}, nil, 0},
		{[]string{"labels=project:p7"}, []string{"m7", "m47"}, 50},
		{[]string{"labels=project:p7", "labels=project:apollo"}, []string{"m7", "m1000"}, 51},
		{[]string{"labels=project:p7", `trust={"gte":0.5}`}, []string{"m47", "m167"}, 17},
		{[]string{"id=m3"}, []string{"m3"}, 1},
	} {
		var args []string
		for _, f := range c.filters {
			args = append(args, "--filter", f)
		}
		args = append(args, "--limit", "100", question)
		var found []string
		for _, r := range mustJSON[schemas.SearchReply](t, n, append([]string{"search"}, args...)...).Results {
			found = append(found, r.Memory.ID)
		}
		if len(found) != c.n || slices.ContainsFunc(c.want, func(id string) bool { return !slices.Contains(found, id) }) {
			t.Errorf("search %v: %d results, want %d with %v: %v", c.filters, len(found), c.n, c.want, found)
		}
		preview := mustJSON[schemas.PreviewReply](t, n, append([]string{"preview", "--budget", "20000"}, args...)...)
		slices.Sort(found)
		if slices.Sort(preview.MemoryIDs); !slices.Equal(preview.MemoryIDs, found) {
			t.Errorf("preview %v: %v, want %v", c.filters, preview.MemoryIDs, found)
		}
		results := mustJSON[schemas.ContextResult](t, n, append([]string{"ask", "--budget", "20000"}, args...)...).Payload.Results
		if len(results) == 0 != (c.n == 0) || slices.ContainsFunc(results, func(r schemas.ResultItem) bool { return !slices.Contains(found, r.ID) }) {
			t.Errorf("ask %v: %d results", c.filters, len(results))
		}
	}
	if out := n.must(t, "search", "--filter", "labels=project:zeus", "--level", "restricted", question); !strings.Contains(out, "secret") {
		t.Errorf("who may see it gets\n%s", out)
	}
	for _, c := range [][2]string{
		{"labels", "write FIELD=VALUE"}, {"lables=project:apollo", "labels"}, {"trust=high", "/filters/trust"}, {`trust={"near":1}`, "/filters/trust/near"},
	} {
		if r := n.run(t, "search", "--filter", c[0], question); r.code != exitUsage || !strings.Contains(r.err, c[1]) {
			t.Errorf("--filter %s: exit code %d\n%s%s", c[0], r.code, r.out, r.err)
		}
	}
}

// A filter goes by all digits of a number, the whole day of a date, names with dots, and what is not or need not be.
func TestFilterValues(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	lines := `{"id":"a","content":"An order of pears.","created_at":"2026-03-02T23:59:00Z","attributes":{"big":653247040368672768,"http.status":200}}
{"id":"b","content":"An order of plums.","created_at":"2026-03-03T00:00:00Z","attributes":{"big":653247040368672769,"http.status":404,"paid":true}}
`
	n.must(t, "import", folder(t, map[string]string{"m.jsonl": lines})+"/m.jsonl")
	for filter, want := range map[string]string{
		"big=653247040368672768": "a", `big=[653247040368672769]`: "b", `big={"gt":653247040368672768}`: "b",
		`created_at={"lte":"2026-03-02"}`: "a", "created_at=2026-03-03": "b", "http.status=404": "b", `http.status={"ne":404}`: "a",
		`paid={"exists":false}`: "a", `or=[{"http.status":404},{"big":1}]`: "b", `or=[{"paid":true},{"http.status":200}]`: "a b",
	} {
		var found []string
		for _, r := range mustJSON[schemas.SearchReply](t, n, "search", "--filter", filter, "an order").Results {
			found = append(found, r.Memory.ID)
		}
		if slices.Sort(found); strings.Join(found, " ") != want {
			t.Errorf("%s: %v, want %s", filter, found, want)
		}
	}
	for filter, says := range map[string]string{"or=x": "attributes.or", `paid={"exists":"yes"}`: "true or false", `paid={"not":1}`: "ne, in"} {
		if r := n.run(t, "search", "--filter", filter, "an order"); r.code != exitUsage || !strings.Contains(r.err, says) {
			t.Errorf("--filter %s: exit code %d\n%s%s", filter, r.code, r.out, r.err)
		}
	}
}
