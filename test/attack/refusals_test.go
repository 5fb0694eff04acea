package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/test/testenv"
)

// TestARefusalIsAlwaysSent: however many problems a request has, the refusal is sent, lists at most 64 of them and
// says how many more there are.
func TestARefusalIsAlwaysSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	const many = 20_000
	signals, unknown, kinds, labels := map[string]any{}, map[string]any{}, make([]any, many), make([]string, many)
	links := make([]map[string]string, many)
	deep := strings.Repeat("n", 300)
	for i := range many {
		signals[fmt.Sprintf("a%d", i)] = map[string]any{"b": []int{1, 1, 1}}
		unknown[fmt.Sprintf("x%d", i)] = 1
		kinds[i], labels[i], links[i] = i, "no label", map[string]string{"rel": "about", "to": "n"}
	}
	from := map[string]any{"id": "public", "securityLevel": "public"}
	item := func(field string, value any) map[string]any {
		d := map[string]any{"id": "l", "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": "main"},
			"created_at": "2026-03-03T10:00:00Z", "security_label": []string{"level:public"}, "content": "x"}
		d[field] = value
		return put("public", "recorded", d, 1)
	}
	request := func(field string, value any) map[string]any {
		return map[string]any{"meta": map[string]any{"type": "ContextRequest", "from": from}, "payload": map[string]any{"query": map[string]any{"text": "x"}, field: value}}
	}
	nested := any(1)
	for range 40 {
		nested = map[string]any{deep: nested}
	}
	conn := w.conns["main/public"]
	for _, c := range []struct {
		name, subject string
		body          any
	}{
		{"signals", "ctx.v1.main.request", request("relevance", map[string]any{"mode": "x", "signals": signals})},
		{"unknown fields", "ctx.v1.main.request", request("relevance", unknown)},
		{"kinds", "ctx.v1.main.request", request("query", map[string]any{"text": "x", "filters": map[string]any{"kind": kinds}})},
		{"links", "mem.v1.main.put", item("links", links)},
		{"labels", "mem.v1.main.put", item("security_label", labels)},
		{"numbers for texts", "mem.v1.main.put", item("pii_flags", kinds)},
		{"deep names", "mem.v1.main.put", item("provenance", nested)},
		{"items of a hold", "ctx.v1.main.hold", map[string]any{"from": from, "place": map[string]any{"reason": "r", "items": labels}}},
	} {
		said := ask(conn, c.subject, c.body)
		if said == "" {
			t.Errorf("%s: no reply", c.name)
			continue
		}
		var refused struct {
			Code     string
			Problems []struct {
				Message string
				More    int
			}
		}
		_, body, _ := strings.Cut(said, "\n")
		if err := json.Unmarshal([]byte(body), &refused); err != nil || refused.Code != "validation_error" {
			t.Errorf("%s: %.300s (%v)", c.name, said, err)
			continue
		}
		n := len(refused.Problems)
		last := refused.Problems[max(n-1, 0)]
		if n > 64 || n == 64 && (last.More < many/100 || !strings.Contains(last.Message, "more problems")) || len(body) > 512<<10 {
			t.Errorf("%s: %d problems in %d bytes, the last %+v", c.name, n, len(body), last)
		}
	}
}

// TestHoldsAreForWhoMayFollow: nothing that a principal may ask tells of a legal hold, unless policy lets it
// follow holds; the entry is proved to anybody as a hash.
func TestHoldsAreForWhoMayFollow(t *testing.T) {
	t.Parallel()
	const why = "litigation-of-the-quay"
	w := newWorld(t, "main")
	item := map[string]any{"id": "case", "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": "main"},
		"created_at": "2026-03-03T10:00:00Z", "security_label": []string{"level:restricted"}, "content": "x y z"}
	if said := reply(t, ask(w.conns["main/writer"], "mem.v1.main.put", put("writer", "recorded", item, 1))); said["level"] == nil {
		t.Fatalf("put: %v", said)
	}
	place := func(ids ...string) map[string]any {
		return reply(t, ask(w.conns["main/writer"], "ctx.v1.main.hold", map[string]any{"from": map[string]any{"id": "writer", "securityLevel": "restricted"},
			"place": map[string]any{"reason": why, "items": ids}}))
	}
	if said := place("case", "csae"); said["code"] != "not_found" || !strings.Contains(fmt.Sprint(said["message"]), "csae") || strings.Contains(fmt.Sprint(said["message"]), "case,") {
		t.Errorf("a hold on an id that is not there: %v", said)
	}
	placed := place("case")
	list, _ := placed["holds"].([]any)
	if len(list) != 1 {
		t.Fatalf("placed: %v", placed)
	}
	id := fmt.Sprint(list[0].(map[string]any)["id"])
	size := 0
	for _, p := range principals {
		conn := w.conn(&p, "main")
		tenant := "main"
		may := p.has("auditor") || p.has("counsel")
		if p.elsewhere {
			continue
		}
		head := reply(t, ask(conn, "log.v1."+tenant+".head", map[string]any{}))
		size = int(head["size"].(float64))
		for _, from := range []any{nil, p.from()} {
			told := 0
			for at := 1; at <= size; at++ {
				body := map[string]any{"position": at}
				if from != nil {
					body["from"] = from
				}
				proof := reply(t, ask(conn, "log.v1.main.prove", body))
				if proof["inclusion"] == nil && !p.unregistered {
					t.Errorf("%s: position %d has no proof: %v", p.name, at, proof)
				}
				if strings.Contains(fmt.Sprint(proof), "holds") {
					told++
				}
			}
			if want := may && !p.unregistered; want != (told > 0) {
				t.Errorf("%s, from %v: %d entries of holds are told", p.name, from, told)
			}
			byID := map[string]any{"source": "satchel://holds", "id": id}
			if from != nil {
				byID["from"] = from
			}
			if said := ask(conn, "log.v1.main.prove", byID); strings.Contains(said, "inclusion") != (may && !p.unregistered) {
				t.Errorf("%s, by id: %s", p.name, said)
			}
		}
		receipt := ask(conn, "log.v1.main.receipt", map[string]any{"source": "satchel://holds", "id": id, "level": "logged", "timeout_ms": 1000})
		if strings.Contains(receipt, `"position"`) && !may {
			t.Errorf("%s, receipt: %s", p.name, receipt)
		}
		for _, door := range []struct {
			subject string
			body    map[string]any
		}{
			{"log.v1.main.entries", map[string]any{"limit": 200}}, {"log.v1.main.entries", map[string]any{"kinds": []string{"hold"}}},
			{"ctx.v1.main.hold", map[string]any{"released": true}}, {"ctx.v1.main.status", map[string]any{}},
		} {
			door.body["from"] = p.from()
			said := ask(conn, door.subject, door.body)
			if tells := strings.Contains(said, id) || strings.Contains(said, why); tells && !may {
				t.Errorf("%s, %s %v: %.400s", p.name, door.subject, door.body, said)
			}
		}
	}
	if size < 3 {
		t.Errorf("the log has %d entries", size)
	}
}

// TestABackupOfAnotherHistoryIsRefused: the log was rolled back and went on, and no form of backup replaces the
// newer backup of what was lost, unless its root is given up.
func TestABackupOfAnotherHistoryIsRefused(t *testing.T) {
	t.Parallel()
	first := testenv.Up(t, binary, filepath.Join(t.TempDir(), "data"))
	emit := func(s *testenv.Satchel, ids ...string) {
		t.Helper()
		for _, id := range ids {
			s.Must(t, "emit", "--id", id, "--text", "walrus lamp "+id, "--wait", "logged")
		}
	}
	old, folder := filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "backup")
	emit(first, "a1", "a2")
	first.Must(t, "backup", old)
	emit(first, "b1", "b2", "b3")
	newer := first.Must(t, "backup", folder)
	before, err := os.ReadFile(filepath.Join(folder, "manifest"))
	must(t, err)
	first.Stop()
	lost := filepath.Join(t.TempDir(), "lost")
	must(t, os.CopyFS(filepath.Join(lost, "keys"), os.DirFS(filepath.Join(first.Dir, "keys"))))
	first.Must(t, "restore", old, "--to", lost)
	second := testenv.Up(t, binary, lost)
	emit(second, "c1")
	for _, more := range [][]string{nil, {"--since", "last"}, {"--replace", "T/4mNGIkfx3fkqiImruPuZcTO7xFJOSWjqT9J61KFQo="}} {
		out, code := second.Run(t, append([]string{"backup", folder}, more...)...)
		if code != 3 || !strings.Contains(out, "--replace ") {
			t.Errorf("backup %v: exit code %d\n%s", more, code, out)
		}
	}
	if now, err := os.ReadFile(filepath.Join(folder, "manifest")); err != nil || string(now) != string(before) {
		t.Errorf("the newer backup was changed: %v", err)
	}
	_, root, _ := strings.Cut(strings.Split(newer, "\n")[0], "root ")
	if out := second.Must(t, "backup", folder, "--replace", root); !strings.Contains(out, "main: 3 entries") {
		t.Errorf("with the root given up: %s", out)
	}
}

// TestReasonsOfErasures: why something was erased is told to the principal that erased it and to auditors.
func TestReasonsOfErasures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "main")
	why := w.canary()
	scope := map[string]any{"tenant": "main"}
	item := map[string]any{"id": "note", "type": "semantic", "kind": "memory", "scope": scope, "created_at": "2026-03-03T10:00:00Z", "security_label": []string{"level:public"}, "content": "x"}
	for n, event := range []map[string]any{put("writer", "recorded", item, 1), put("writer", "erased", map[string]any{"scope": scope, "items": []string{"note"}, "reason": why}, 2)} {
		if said := reply(t, ask(w.conns["main/writer"], "mem.v1.main.put", event)); said["level"] == nil {
			t.Fatalf("put %d: %v", n, said)
		}
	}
	receipt := map[string]any{"source": "attack", "id": "writer-erased-2.receipt", "level": "logged", "timeout_ms": 60_000}
	if said := reply(t, ask(w.conns["main/writer"], "log.v1.main.receipt", receipt)); said["level"] == nil {
		t.Fatalf("the receipt: %v", said)
	}
	for _, p := range principals {
		if p.elsewhere {
			continue
		}
		told := strings.Count(ask(w.conn(&p, "main"), "log.v1.main.entries", map[string]any{"from": p.from(), "kinds": []string{"erasure"}, "limit": 200}), why)
		want := 0
		if p.name == "writer" || p.has("auditor") {
			want = 2 // of the erasure and of its receipt
		}
		if told != want {
			t.Errorf("%s is told %d times, want %d", p.name, told, want)
		}
	}
}
