package attack

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"satchel/test/parts"
)

// flagsOf are n paths that all lead through the same list, each in another spelling.
func flagsOf(n int) []string {
	flags := []string{"$.content[*].a[*].b[*]"}
	for i := 1; i < n; i++ {
		flags = append(flags, fmt.Sprintf("$.content[*].a[*].b[%0*d]", i, 0))
	}
	return flags
}

// A write costs what its size is, whatever it flags. What takes more than its bounds allow is hidden whole from
// who may not see all of it, is counted, stops no index, not after a kill either, and is erased like any other.
func TestAWriteCostsWhatItsSizeIs(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w := newWorld(t, "main")
	hidden, said := w.canary(), w.canary()
	write := func(n int, id string, content any, flags []string) {
		t.Helper()
		data := map[string]any{"id": id, "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": "main"}, "created_at": "2026-03-03T10:00:00Z",
			"security_label": []string{"level:public"}, "content": content}
		if flags != nil {
			data["pii_flags"] = flags
		}
		if text := ask(w.conns["main/public"], "mem.v1.main.put", put("public", "recorded", data, n)); !strings.Contains(text, `"indexed"`) {
			t.Fatalf("record %s: %.300s", id, text)
		}
	}
	rows := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = map[string]any{"a": []any{map[string]any{"b": []any{fmt.Sprintf("%s-%d", hidden, i)}}}, "c": fmt.Sprint("walrus lamp ", said, " ", hidden, "-", i)}
		}
		return list
	}
	write(1, "lamp", "The walrus lamp stands in the hall.", nil)
	write(2, "alike", rows(900), flagsOf(2)[:1])
	write(3, "repeated", rows(900), append(flagsOf(1), flagsOf(1)...))
	write(4, "unbounded", rows(900), flagsOf(200))
	random := make([]byte, 300<<10)
	for i := range random {
		random[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[rand.IntN(64)]
	}
	write(5, "random", string(random), nil)

	asks := func(name, words string) string {
		p := principals[0]
		for _, one := range principals {
			if one.name == name {
				p = one
			}
		}
		return ask(w.conns["main/"+name], "ctx.v1.main.request", operations["context_request"](question{words: words, from: p.from()})[0])
	}
	answers := func(moment string) {
		t.Helper()
		if text := asks("internal", "walrus lamp"); !strings.Contains(text, "stands in the hall") {
			t.Errorf("%s: the question has no answer: %.300s", moment, text)
		}
		for _, words := range []string{"walrus lamp", said, hidden, hidden + "-7"} {
			if text := asks("internal", words); strings.Contains(strings.ReplaceAll(text, words, ""), hidden) {
				t.Errorf("%s: a flagged value is shown: %.300s", moment, text)
			}
		}
	}
	answers("live")
	res, err := http.Get("http://" + w.HTTP + "/status")
	must(t, err)
	status, err := io.ReadAll(res.Body)
	must(t, err)
	res.Body.Close()
	if !strings.Contains(string(status), `"unanalysed":1`) {
		t.Errorf("the item that is hidden whole is not counted: %s", status)
	}
	if text, _ := w.Run(t, "doctor"); !strings.Contains(text, "could not be analysed within their bounds since the start and are hidden whole: 1") {
		t.Errorf("doctor does not tell: %s", text)
	}
	w.Kill()
	w.restart(t)
	answers("after a kill")
	erase := put("writer", "erased", map[string]any{"scope": map[string]any{"tenant": "main"}, "items": []string{"unbounded"}}, 6)
	erase["event"].(map[string]any)["satchelroles"] = "eraser"
	if text := ask(w.conns["main/writer"], "mem.v1.main.put", erase); !strings.Contains(text, `"level"`) {
		t.Errorf("erase: %.300s", text)
	}
	answers("after the erasure")
}
