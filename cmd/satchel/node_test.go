package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer"
	"satchel/schemas"
)

func TestEmitAskForgetOnANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	contains(t, "emit", n.must(t, "emit", "--id", "n1", "--text", "the kiln is fired on Mondays", "--speaker", "Ida"), "indexed: item n1 (event ", "log position 1", "leaf ")
	r := mustJSON[schemas.Receipt](t, n, "emit", "--item", `{"content":{"glaze":"celadon"}}`, "--wait", "proved")
	if r.Level != schemas.ReceiptProved || r.Position != 2 || r.Inclusion == nil {
		t.Errorf("receipt %+v", r)
	}
	first := mustJSON[schemas.Receipt](t, n, "emit", "--item", strings.Replace(goodLine, `"n1"`, `"n3"`, 1), "--event-id", "e1")
	again := mustJSON[schemas.Receipt](t, n, "emit", "--item", strings.Replace(goodLine, `"n1"`, `"n3"`, 1), "--event-id", "e1")
	if again.Position != first.Position || !again.Duplicate {
		t.Errorf("the same event again: %+v", again)
	}

	out := n.must(t, "ask", "when", "is", "the", "kiln", "fired?")
	contains(t, "ask", out, "Ida: the kiln is fired on Mondays", "shown    ", " tokens (cl100k_base)", "is entry ", "of the log")
	contains(t, "ask --explain", n.must(t, "ask", "--explain", "when is the kiln fired?"), "score ", "keyword #1", "recency ")
	if text := n.must(t, "ask", "--text", "when is the kiln fired?"); !strings.HasPrefix(out, strings.TrimRight(text, "\n")) {
		t.Errorf("ask --text printed\n%s", text)
	}
	res := mustJSON[schemas.ContextResult](t, n, "ask", "when is the kiln fired?")
	if !slices.ContainsFunc(res.Payload.Results, func(r schemas.ResultItem) bool { return r.ID == "n1" }) || res.Payload.Pack.TokenActual > 2000 {
		t.Errorf("result %+v", res.Payload.Results)
	}
	if out := n.must(t, "ask", "--level", "public", "when is the kiln fired?"); strings.Contains(out, "Mondays") {
		t.Errorf("a public principal sees\n%s", out)
	}

	explain := []string{"policy", "explain", "--dir", n.dir, "--action", "erase", "--as", "stranger", "--item", `{"id": "n1", "security_label": ["level:internal"], "content": "x"}`}
	for role, allowed := range map[string]bool{"auditor": false, "eraser": true} {
		if out := n.must(t, append(explain, "--role", role)...); strings.HasPrefix(out, "allowed") != allowed {
			t.Errorf("policy explain of an erasure as %s:\n%s", role, out)
		}
	}
	if r := n.run(t, "forget", "n1", "--agent", "stranger", "--role", "auditor"); r.code == 0 || !strings.Contains(r.err, "this agent may not erase these items") {
		t.Errorf("forget without the role eraser: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	contains(t, "forget", n.must(t, "forget", "n1", "--reason", "asked for"), "erased n1: 1 log entry, ", "log ", "items ", "keyword ", "vector ", "graph ", "MEMORY ", "nothing left")
	for id, why := range map[string]string{"n1": ": it was erased, and the receipt is at log position ", "note-x": ", nothing was erased\n"} {
		if r := n.run(t, "forget", id); r.code != exitUsage || !strings.HasPrefix(r.err, "satchel: "+id+": no such item"+why) {
			t.Errorf("forget of what is not there: exit code %d\n%s%s", r.code, r.out, r.err)
		}
	}
	if out := n.must(t, "ask", "when is the kiln fired?"); strings.Contains(out, "Mondays") {
		t.Errorf("after forget\n%s", out)
	}
	text := []string{"emit", "--text", "the glaze is celadon", "--event-id", "glaze-1", "--created-at", "2026-03-03T10:00:00Z"}
	once, twice := mustJSON[schemas.Receipt](t, n, text...), mustJSON[schemas.Receipt](t, n, text...)
	if twice.Position != once.Position || !twice.Duplicate {
		t.Errorf("the same text under the same event id again: %+v", twice)
	}
	text[2] = "the glaze is blue"
	if r := n.run(t, text...); r.code != exitUsage || !strings.Contains(r.err, "id_reuse") {
		t.Errorf("another text under the same event id: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	for _, args := range [][]string{{"ask", ""}, {"emit", "--text", "x", "--label", "secret"}} {
		if r := n.run(t, args...); r.code != exitUsage {
			t.Errorf("satchel %q: exit code %d\n%s", args, r.code, r.err)
		}
	}
	if r := n.run(t, "ask", "x", "--budget=-1"); r.code != exitUsage || !strings.Contains(r.err, "/payload/token_budget") {
		t.Errorf("a bad budget: exit code %d\n%s", r.code, r.err)
	}
}

func TestLedgerVerifyDoctorOnANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	if out := n.must(t, "ledger"); out != "" {
		t.Errorf("an empty ledger printed\n%s", out)
	}
	n.must(t, "emit", "--text", "kiln", "--id", "n1")
	n.must(t, "ask", "kiln")
	awaitLedger(t, n, 4)
	out := n.must(t, "ledger", "--verify")
	contains(t, "ledger", out, "memory.recorded", "context.packed", "context.dropped", "policy.decided", "n1", "  proved", " for cli, 1 item, ", " tokens", time.Now().UTC().Format("2006-"))
	if strings.Contains(out, "NOT PROVED") || len(strings.Split(strings.TrimSpace(out), "\n")) != 4 {
		t.Errorf("ledger --verify printed\n%s", out)
	}
	for _, c := range []struct {
		args []string
		want int
	}{{nil, 4}, {[]string{"--kind", "pack"}, 1}, {[]string{"--kind", "pack", "--kind", "drop"}, 2}, {[]string{"--after", "3"}, 1}, {[]string{"--kind", "artifact"}, 0}} {
		lines := strings.Fields(strings.ReplaceAll(n.must(t, append([]string{"ledger", "--json"}, c.args...)...), " ", ""))
		if len(lines) != c.want {
			t.Errorf("ledger %v printed %d lines, want %d", c.args, len(lines), c.want)
		}
		for _, line := range lines {
			var l command.LedgerLine
			if err := json.Unmarshal([]byte(line), &l); err != nil || l.Position == 0 || l.ID == "" {
				t.Errorf("ledger --json printed %s (%v)", line, err)
			}
		}
	}
	contains(t, "verify", n.must(t, "verify"), "main: 4 entries verified, root ")
	if logs := mustJSON[[]command.Verified](t, n, "verify"); len(logs) != 1 || !logs[0].OK || logs[0].Size != 4 || logs[0].Root == "" {
		t.Errorf("verify --json: %+v", logs)
	}
	contains(t, "doctor", n.must(t, "doctor"), "data folder", "principals", "accepted survives", "logged survives", "yes; tenant main has 4 log entries", "log of main")
	for _, f := range mustJSON[[]app.Finding](t, n, "doctor") {
		if !f.OK {
			t.Errorf("doctor: %+v", f)
		}
	}
	live := mustJSON[app.RebuildProgress](t, n, "rebuild")
	again := mustJSON[app.RebuildProgress](t, n, "rebuild")
	if live.Digest == "" || live.Digest != again.Digest || live.Total != 4 {
		t.Errorf("rebuild: %+v, then %+v", live, again)
	}
	n.down(t)
	cold := satchel(t, "", "rebuild", "--dir", n.dir)
	contains(t, "rebuild without a node", cold.out, "main: rebuilt from 4 log entries", live.Digest)
	if r := satchel(t, "", "rebuild", "--dir", n.dir, "--tenant", "a.b"); r.code != exitUsage {
		t.Errorf("rebuild of a malformed tenant: exit code %d\n%s", r.code, r.err)
	}
}

// awaitLedger waits until the ledger has position.
func awaitLedger(t *testing.T, n *testNode, position int64) {
	t.Helper()
	nc := n.connect(t)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	sub, err := js.SubscribeSync("prov.v1.main.>", nats.OrderedConsumer())
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, err := sub.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Satchel-Position") == fmt.Sprint(position) {
			return
		}
	}
}

func TestDeadLettersOnANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	if out := n.must(t, "dlq", "ls"); out != "no dead letters\n" {
		t.Errorf("dlq ls printed %q", out)
	}
	nc := n.connect(t)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range []string{
		`{"id":"n1","type":"episodic","kind":"memory","scope":{"tenant":"main"},"created_at":"2026-03-01T00:00:00Z","content":"no label"}`,
		`{"id":"n2","type":"episodic","kind":"mood","scope":{"tenant":"main"},"created_at":"yesterday","security_label":["level:internal"],"content":"x"}`,
		`not json`,
	} {
		msg := nats.NewMsg("mem.v1.main.evt.tester")
		msg.Header = nats.Header{"ce-specversion": {"1.0"}, "ce-id": {fmt.Sprintf("e%d", i)}, "ce-source": {"test"}, "ce-type": {schemas.TypeMemoryRecorded}, "content-type": {"application/json"}}
		msg.Data = []byte(data)
		if _, err := js.PublishMsg(msg); err != nil {
			t.Fatal(err)
		}
	}
	n.must(t, "emit", "--text", "behind them", "--agent", "tester")
	out := n.must(t, "dlq", "ls")
	contains(t, "dlq ls", out, "SEQ", "unlabelled  /data/security_label", "malformed", "/data/kind", "e0", "e1", "e2")
	for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
		if f := strings.Fields(line); strings.HasPrefix(f[2], "/") && strings.Count(line, f[2]) > 1 || strings.Contains(line, f[1]+": /") {
			t.Errorf("the cause repeats reason or pointer: %s", line)
		}
	}
	list := mustJSON[[]struct{ Seq uint64 }](t, n, "dlq", "ls")
	if len(list) != 3 {
		t.Fatalf("dlq ls --json lists %d", len(list))
	}
	contains(t, "dlq show", n.must(t, "dlq", "show", "1"), "reason   unlabelled", "pointer  /data/security_label", "subject  mem.v1.main.evt.tester", "ce-id: e0", `"content":"no label"`)
	shown := mustJSON[map[string]any](t, n, "dlq", "show", "1")
	if shown["data"] == "" || shown["header"] == nil {
		t.Errorf("dlq show --json: %v", shown)
	}
	contains(t, "dlq retry", n.must(t, "dlq", "retry", "1"), "1 published again; see satchel dlq ls")
	n.must(t, "emit", "--text", "behind it", "--agent", "tester")
	contains(t, "dlq drop", n.must(t, "dlq", "drop", "2", "3"), "2 dropped", "3 dropped")
	if list := mustJSON[[]struct{ Seq uint64 }](t, n, "dlq", "ls"); len(list) != 1 || list[0].Seq != 4 {
		t.Errorf("after retry and drop: %v", list)
	}
	for _, subject := range []string{"mem.v1.a$b.evt.tester", "mem.v1.main.evt.my$agent"} {
		if _, err := js.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both letters are listed", func() bool {
		return strings.Contains(n.must(t, "dlq", "ls", "--tenant", "_"), "malformed") && strings.Contains(n.must(t, "dlq", "ls"), "malformed")
	})
	nobodys := fmt.Sprint(mustJSON[[]struct{ Seq uint64 }](t, n, "dlq", "ls", "--tenant", "_")[0].Seq)
	contains(t, "dlq show", n.must(t, "dlq", "show", nobodys, "--tenant", "_"), "subject  mem.v1.a$b.evt.tester")
	contains(t, "dlq drop", n.must(t, "dlq", "drop", nobodys, "--tenant", "_"), nobodys+" dropped")
	list = mustJSON[[]struct{ Seq uint64 }](t, n, "dlq", "ls")
	contains(t, "dlq show", n.must(t, "dlq", "show", fmt.Sprint(list[len(list)-1].Seq)), "subject  mem.v1.main.evt.my$agent")
	for _, args := range [][]string{{"dlq", "show", "99"}, {"dlq", "drop", "99"}, {"dlq", "show", "4", "--tenant", "other"}} {
		if r := n.run(t, args...); r.code != exitUsage {
			t.Errorf("satchel %v: exit code %d\n%s", args, r.code, r.err)
		}
	}
	if list := n.must(t, "dlq", "ls", "--tenant", "other", "--json"); strings.TrimSpace(list) != "[]" {
		t.Errorf("dlq ls --json of a tenant without any printed %s", list)
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	dir := folder(t, map[string]string{
		"chat.jsonl":      `{"id":"c1","ts":"2026-02-01T10:00:00Z","speaker":"Ann","text":"the ferry leaves at nine","session":"s1"}` + "\n" + `{"ts":"2026-02-01T10:01:00Z","speaker":"Bo","text":"the bus leaves at ten","session":"s1"}` + "\n",
		"bad.jsonl":       `{"text":"fine"}` + "\n" + `{"text":7}` + "\nnot json\n",
		"docs/kiln.md":    "# Kiln\nFire it on Mondays.",
		"docs/sub/a.MD":   "# Glaze\nCeladon is green.",
		"docs/ignore.txt": "not Markdown",
	})
	chat, docs, bad := filepath.Join(dir, "chat.jsonl"), filepath.Join(dir, "docs"), filepath.Join(dir, "bad.jsonl")
	mapped := []string{"import", chat, "--map", "content=text", "--map", "created_at=ts", "--map", "speaker=speaker", "--map", "session=session"}
	contains(t, "import", n.must(t, mapped...), "2 items read, 2 published: 2 new, 0 known already, 0 malformed")
	if c := mustJSON[importer.FilesResult](t, n, "import", docs, "--kind", "knowledge"); !reflect.DeepEqual(c, importer.FilesResult{Read: 2, Published: 2, LeftOut: map[string]int{"neither documentation nor .jsonl": 1}}) {
		t.Errorf("import of a folder: %+v", c)
	}
	n.must(t, "emit", "--text", "the last one", "--agent", "import")
	contains(t, "ask", n.must(t, "ask", "when does the ferry leave and when is the kiln fired?"), "Ann: the ferry leaves at nine", "Fire it on Mondays", "1 February 2026")
	size := mustJSON[[]command.Verified](t, n, "verify")[0].Size
	n.must(t, mapped...)
	n.must(t, "import", docs, "--kind", "knowledge")
	n.must(t, "emit", "--text", "a fence", "--agent", "import")
	if after := mustJSON[[]command.Verified](t, n, "verify")[0].Size; after != size+1 {
		t.Errorf("importing again grew the log from %d to %d entries", size, after-1)
	}
	if list := mustJSON[[]struct{ Seq uint64 }](t, n, "dlq", "ls"); len(list) != 0 {
		t.Errorf("importing again left %d dead letters", len(list))
	}

	r := n.run(t, "import", chat)
	if r.code != exitFound || strings.Count(r.err, "--map content=text") != 1 {
		t.Errorf("an import of lines without content: exit code %d\n%s", r.code, r.err)
	}
	r = n.run(t, "import", bad, "--map", "content=text", "--strict")
	if strings.Contains(r.err, "if that is it") {
		t.Errorf("who maps is told to map:\n%s", r.err)
	}
	if r.code != exitFound || !strings.Contains(r.err, "nothing was published") {
		t.Errorf("a strict import: exit code %d\n%s", r.code, r.err)
	}
	contains(t, "import", r.err, "bad.jsonl:2: /content: ", "bad.jsonl:3: ")
	r = n.run(t, "import", bad, "--map", "content=text", "--json")
	var c importer.FilesResult
	if err := json.Unmarshal([]byte(r.out), &c); r.code != exitFound || err != nil || !reflect.DeepEqual(c, importer.FilesResult{Read: 3, Published: 1, Malformed: 2}) {
		t.Errorf("an import with malformed lines: exit code %d, %+v, %v", r.code, c, err)
	}
	if r := n.runIn(t, `{"content":"from standard input"}`, "import", "-"); r.code != 0 || !strings.Contains(r.out, "1 item read, 1 published") {
		t.Errorf("import -: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestHTTPAndDrain(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--http-hosts", "satchel.agents.svc,Satchel")
	get := func(method, path, host string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+n.http+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Satchel-Admin", "1")
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for _, c := range []struct {
		method, path, host string
		want               int
	}{{"GET", "/healthz", "", 200}, {"GET", "/readyz", "", 200}, {"POST", "/rebuild?tenant=main", "", 404}, {"GET", "/rebuild", "", 404},
		{"GET", "/healthz", "localhost", 200}, {"GET", "/healthz", "LOCALHOST.:80", 200}, {"GET", "/readyz", "10.1.2.3:8230", 200}, {"GET", "/readyz", "[fd00::1]:8230", 200}, {"GET", "/readyz", "[::1]", 200},
		{"GET", "/readyz", "satchel.agents.svc:8230", 200}, {"GET", "/readyz", "satchel", 200},
		{"GET", "/healthz", "evil.example", 403}, {"GET", "/readyz", "evil.example:8230", 403}, {"GET", "/status", "127.0.0.1.evil.example", 403}, {"GET", "/artifacts/x", "evil.example", 403},
		{"GET", "/metrics", "localhost.evil.example", 403}, {"GET", "/healthz", "2130706433", 403}, {"GET", "/healthz", "satchel.agents.svc.evil.example", 403}} {
		if got := get(c.method, c.path, c.host); got != c.want {
			t.Errorf("%s %s of host %q: %d, want %d", c.method, c.path, c.host, got, c.want)
		}
	}
	socket, err := os.Stat(filepath.Join(n.dir, app.AdminFile))
	if err != nil || socket.Mode().Perm() != 0o600 {
		t.Errorf("the admin socket: %v, %v", socket, err)
	}
	if r := satchel(t, "", "up", "--dir", n.dir, "--nats-port", "0", "--http-addr", ""); r.code == 0 || !strings.Contains(r.err, "process") || !strings.Contains(r.err, "--dir") {
		t.Errorf("a second process on the folder: exit code %d\n%s", r.code, r.err)
	}
	if r := satchel(t, "", "up", "--dir", t.TempDir(), "--nats-port", "0", "--http-addr", n.http); r.code != exitUsage || !strings.Contains(r.err, "--http-addr") {
		t.Errorf("a port in use: exit code %d\n%s", r.code, r.err)
	}
	if code := n.down(t); code != 0 || !strings.Contains(n.out.String(), "draining…") {
		t.Errorf("after Ctrl-C: exit code %d\n%s", code, n.out.String())
	}
	if _, err := os.Stat(filepath.Join(n.dir, app.AdminFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the admin socket stays: %v", err)
	}
	for _, addr := range []string{n.http, strings.TrimPrefix(n.url, "nats://")} {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			t.Errorf("%s still accepts connections", addr)
		}
	}
	if r := satchel(t, "", "doctor", "--dir", n.dir, "--nats-port", n.url[strings.LastIndex(n.url, ":")+1:], "--json"); !json.Valid([]byte(r.out)) {
		t.Errorf("doctor --json printed\n%s", r.out)
	}
}

func TestTheRelevanceGateIsThere(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--text", "the kiln is fired on Mondays")
	nc := n.connect(t)
	m, err := nc.Request("ctx.v1.main.request", []byte(`{"meta":{"type":"ContextRequest","from":{"id":"a","securityLevel":"internal"}},
		"payload":{"query":{"text":"when is the kiln fired?"},"relevance":{"mode":"task"}}}`), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(m.Data), "there is no gate") || !strings.Contains(string(m.Data), `"relevance":{"mode":"task"`) {
		t.Errorf("reply %s", m.Data)
	}
}

// A task behind a greeting gets its memory; a greeting in any known language does without.
func TestATaskBehindAGreetingHasItsMemoryOnANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--wait", "indexed", "--id", "down", "--text", "The invoice database is down since noon; Ilse restarts it.")
	nc := n.connect(t)
	for text, greeting := range map[string]bool{
		"Hi, database down!": false, "Hey restart database": false, "Hallo, Datenbank!": false, "Hola, database down": false,
		"Hi Ilse": true, "Hola": true, "Привет!": true, "谢谢": true, "Merci beaucoup": true,
	} {
		m, err := nc.Request("ctx.v1.main.request", fmt.Appendf(nil, `{"meta":{"type":"ContextRequest","from":{"id":"a","securityLevel":"internal"}},
			"payload":{"query":{"text":%q},"relevance":{"mode":"RESPOND"}}}`, text), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var res schemas.ContextResult
		if err := json.Unmarshal(m.Data, &res); err != nil || res.Payload.Pack.Relevance == nil {
			t.Fatalf("%q: %v: %s", text, err, m.Data)
		}
		left := slices.Contains(res.Payload.Pack.Relevance.ExcludedHard, "episodic_memory")
		if shown := len(res.Payload.Results) > 0; left != greeting || strings.Contains(text, "database") && !shown {
			t.Errorf("%q: episodic memory is left out: %v, shown %v", text, left, shown)
		}
	}
}

func TestAWaitingRequestDoesNotHoldUpTheDrain(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	nc := n.connect(t)
	replies, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	waits := nats.NewMsg("log.v1.main.receipt")
	waits.Reply, waits.Data = replies.Subject, []byte(`{"source":"nobody","id":"never","level":"logged","timeout_ms":60000}`)
	if err := nc.PublishMsg(waits); err != nil {
		t.Fatal(err)
	}
	// Behind it at the same endpoint: when this is answered, that one waits.
	if _, err := nc.Request(waits.Subject, []byte(`{"source":"nobody","id":"never","level":"logged","timeout_ms":1}`), time.Minute); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if code := n.down(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("the drain took %s", took)
	}
	if m, err := replies.NextMsg(time.Second); err != nil || !strings.Contains(string(m.Data), "deadline_exceeded") {
		t.Errorf("the waiting request was answered with %v, %v", m, err)
	}
}

// TestAPortThatIsGivenIsAsked: the address in the data folder is for who names no port.
func TestAPortThatIsGivenIsAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, app.AddressFile), []byte("nats://127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		port string // in the complaint that nobody answers there
	}{
		{nil, "1"}, {[]string{"--nats-port", "2"}, "2"}, {[]string{"--nats-port", "0"}, "1"},
	} {
		r := satchel(t, "", append([]string{"search", "kiln", "--dir", dir}, c.args...)...)
		if r.code == 0 || !strings.Contains(r.err, "nats://127.0.0.1:"+c.port) {
			t.Errorf("%q: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
	for given, want := range map[bool]string{false: "nats://127.0.0.1:1", true: "nats://127.0.0.1:4222"} {
		a := &app.App{Settings: &config.Settings{Dir: dir, NATSPort: app.NatsPort}, PortGiven: given}
		if got := a.Address(); got != want {
			t.Errorf("the usual port, given on the command line: %v: %s, want %s", given, got, want)
		}
	}
}

// TestTheFolderSaysWhereHTTPIs: commands read the HTTP address from the data folder, unless another one is set.
func TestTheFolderSaysWhereHTTPIs(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	in := func(args ...string) result { return satchel(t, "", append(args, "--dir", n.dir)...) }
	if r := in("doctor"); r.code != 0 || !strings.Contains(r.out, "ok   ready                  yes") {
		t.Errorf("doctor: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := in("reembed"); r.code != 0 {
		t.Errorf("reembed: exit code %d\n%s", r.code, r.err)
	}
	for _, args := range [][]string{{"--http-addr", "127.0.0.1:1"}, {"--http-addr", ""}} { // what is given is asked
		if r := in(append([]string{"reembed"}, args...)...); r.code != exitFailed {
			t.Errorf("reembed %q: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	a := &app.App{Settings: &config.Settings{Dir: n.dir, HTTPAddr: app.HTTPAddr}}
	given := &app.App{Settings: a.Settings, HTTPGiven: true}
	if usual := "http://" + app.HTTPAddr; a.HTTPAddress() != "http://"+n.http || given.HTTPAddress() != usual {
		t.Errorf("%s, and %s where the usual address is given; the node is at %s", a.HTTPAddress(), given.HTTPAddress(), n.http)
	}
	n.down(t)
	if got := a.HTTPAddress(); got != "http://"+app.HTTPAddr {
		t.Errorf("%s after the node", got)
	}
	if _, err := a.ShowAddress(app.HTTPAddressFile, ""); err != nil || a.HTTPAddress() != "" {
		t.Errorf("%q beside a process without HTTP, %v", a.HTTPAddress(), err)
	}
	path := filepath.Join(n.dir, app.HTTPAddressFile)
	for _, content := range []string{"root:x:0:0:root", "http://", strings.Repeat("x", 1<<20)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil || a.HTTPAddress() != "http://"+app.HTTPAddr {
			t.Errorf("%q of a file that holds no address, %v", a.HTTPAddress(), err)
		}
	}
	if err := errors.Join(os.Remove(path), os.Symlink(filepath.Join(n.dir, "elsewhere"), path)); err != nil || a.HTTPAddress() != "http://"+app.HTTPAddr {
		t.Errorf("%q of a link, %v", a.HTTPAddress(), err)
	}
}
