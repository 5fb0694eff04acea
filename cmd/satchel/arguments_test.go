package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/cmd/internal/command"
	"satchel/schemas"
)

// TestArgumentsSayWhatTheyTake: what is refused names the form that would be taken.
func TestArgumentsSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"emit", "--text", "x", "--agent", "a b"}, `the name of the agent "a b" must be 1 to 64 of the characters A-Z a-z 0-9 _ -`},
		{[]string{"emit", "--text", "x", "--label", "extract:abc"}, "must be extract:N with N tokens from 1 to 999999"},
		{[]string{"emit", "--item", `{"content":"x","id":"a","id":"b"}`}, "is given twice"},
		{[]string{"emit", "--item", `["x"]`}, "--item: must be an object"},
		{[]string{"emit", "--item", `{`}, "--item: is not valid JSON at byte 1"},
		{[]string{"policy", "explain", "--item", `{"id":5}`}, "/id: must be a string"},
		{[]string{"policy", "explain", "--item", `{"id":"a","id":"b"}`}, "is given twice"},
		{[]string{"policy", "explain", "--item", `{`}, "is not valid JSON at byte 1"},
		{[]string{"emit", "--text", "bad \xff\xfe"}, `argument 3, "bad \xff\xfe", is not UTF-8`},
		{[]string{"ask", "ki\xff\xfeln"}, "argument 2,"},
		{[]string{"search", "--from", "2026", "x"}, `"2026" is neither a date such as 2026-01-31 nor a time such as 2026-01-31T10:00:00Z`},
		{[]string{"search", "--to", "2026-02-30", "x"}, "is neither a date such as"},
		{[]string{"search", "--to", "2026-02-20T10:00:00+24:00", "x"}, "is neither a date such as"},
		{[]string{"emit", "--text", "x", "--created-at", "2026-02-20T10:00:00+24:00"}, "is not an RFC 3339 time"},
	} {
		if r := n.run(t, c.args...); r.code != exitUsage || !strings.Contains(r.err, c.says) || strings.Contains(r.err, "subject") || strings.Contains(r.err, "json:") {
			t.Errorf("satchel %s: exit code %d\n%s%s", strings.Join(c.args, " "), r.code, r.out, r.err)
		}
	}
	dir := folder(t, map[string]string{"m.jsonl": `{"content":"one","content":"two"}` + "\n", "g.jsonl": `{"goal":"one","goal":"two","domain":"d","outcome_status":"confirmed"}` + "\n",
		"e.jsonl": `{"specversion":"1.0","id":"1","id":"2","source":"s","type":"io.satchel.memory.accessed.v1","data":{"scope":{"tenant":"main"},"items":["a"]}}` + "\n"})
	for _, c := range [][]string{{"import", "m.jsonl", "/content is"}, {"import", "experiences", "g.jsonl", "/goal: is"}, {"lint", "e.jsonl", "/id is"}} {
		args := append(c[:len(c)-2:len(c)-2], filepath.Join(dir, c[len(c)-2]))
		if r := n.run(t, args...); r.code != exitFound || !strings.Contains(strings.ReplaceAll(r.out+r.err, ": is", " is"), strings.ReplaceAll(c[len(c)-1], ": is", " is")+" given twice") {
			t.Errorf("satchel %v: exit code %d\n%s%s", c, r.code, r.out, r.err)
		}
	}
	f := command.SearchFlags{From: command.TimeFlag{Time: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)}}
	var day, at command.TimeFlag
	if err := day.UnmarshalText([]byte("2026-01-31")); err != nil || !f.Request(&command.PrincipalFlags{}, "").DateFrom.Equal(day.Time) {
		t.Errorf("a date: %v, %v", day, err)
	}
	if err := at.UnmarshalText([]byte("2026-01-31T01:00:00+01:00")); err != nil || !at.Equal(day.Time) {
		t.Errorf("a time: %v, %v", at, err)
	}
	n.must(t, "emit", "--text", "the kiln is hot", "--label", "extract:12", "--label", "level:internal")
	if out := mustJSON[schemas.SearchReply](t, n, "search", "--depth", "4", "--from", "2026-01-31T10:00:00Z", "kiln"); len(out.Results) != 1 || !strings.Contains(strings.Join(out.Warnings, " "), "followed 3 hops") {
		t.Errorf("%+v", out)
	}
}
