package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/jetstream"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/postgres"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/natstest"
	"satchel/test/testenv/postgrestest"
	"satchel/worker/ingest"
)

// backup is a copy of a stopped node's log.
type backup struct {
	use []string // flags of the commands that use the copy
	put func()   // puts it in the place of the log
}

func copyFile(t *testing.T, dir string) backup {
	t.Helper()
	path := filepath.Join(dir, "log.db")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return backup{put: func() {
		if err := os.Remove(path + "-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}}
}

// copyDatabase copies the log to a database of its own, which then takes the other's place.
func copyDatabase(t *testing.T, url string) backup {
	t.Helper()
	var logs []eventlog.Driver
	older := postgrestest.Open(t)
	for _, u := range []string{url, older} {
		db, err := postgres.OpenLog(t.Context(), postgres.LogConfig{URL: u})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		logs = append(logs, db)
	}
	if _, err := eventlog.Copy(t.Context(), logs[0], logs[1], "main", nil); err != nil {
		t.Fatal(err)
	}
	var names []string
	for partition := range jetstream.Partitions {
		names = append(names, ingest.CheckpointName(jetstream.PartitionName(partition)))
	}
	if err := eventlog.CopyCheckpoints(t.Context(), logs[0], logs[1], names); err != nil {
		t.Fatal(err)
	}
	return backup{use: []string{"--database-url", older}, put: func() {}}
}

// TestAnErasureSurvivesARestore restores a log from a copy that is older than an erasure, and goes
// on with it: by rollback --accept, or, where the kept head is from the backup too, at once.
func TestAnErasureSurvivesARestore(t *testing.T) {
	t.Parallel()
	const secret = "the kiln opens with quumbrax"
	for name, database := range map[string]string{"sqlite": "", "postgres": postgrestest.Open(t)} {
		for _, accepted := range []bool{true, false} {
			if database != "" && !accepted {
				continue
			}
			t.Run(name+map[bool]string{true: " accepted", false: " with its head"}[accepted], func(t *testing.T) {
				t.Parallel()
				var use []string
				if database != "" {
					use = []string{"--database-url", database}
				}
				first := startNode(t, use...)
				dir := first.dir
				on := func(use []string, args ...string) result {
					return satchel(t, "", append(append(args, "--dir", dir), use...)...)
				}
				first.must(t, "emit", "--item", `{"id":"v","content":"`+secret+`","security_label":["level:public"]}`)
				first.must(t, "emit", "--text", "the glaze is blue", "--label", "level:public")
				contains(t, "ask", first.must(t, "ask", "how does the kiln open?"), "quumbrax")
				first.down(t)
				heads := filepath.Join(dir, "heads", "main.checkpoint")
				head, err := os.ReadFile(heads)
				if err != nil {
					t.Fatal(err)
				}
				older := backup{}
				if database != "" {
					older = copyDatabase(t, database)
				} else {
					older = copyFile(t, dir)
				}
				second := startNode(t, append([]string{"--dir", dir}, use...)...)
				second.dir = dir
				contains(t, "forget", second.must(t, "forget", "v"), "erased v: 1 log entry, 1 pack")
				second.down(t)
				older.put()
				if accepted {
					if r := on(older.use, "up", "--nats-port", "0", "--http-addr", ""); r.code == 0 || !strings.Contains(r.err, "was rolled back") {
						t.Errorf("up: exit code %d\n%s%s", r.code, r.out, r.err)
					}
					if r := on(older.use, "verify"); r.code != exitFound {
						t.Errorf("verify: exit code %d\n%s%s", r.code, r.out, r.err)
					}
					r := on(older.use, "rollback", "--accept")
					if r.code != 0 || !strings.Contains(r.out, "main: 1 erasure repeated, as erased/main says") {
						t.Fatalf("rollback --accept: exit code %d\n%s%s", r.code, r.out, r.err)
					}
				} else if err := os.WriteFile(heads, head, 0o600); err != nil {
					t.Fatal(err)
				}
				third := startNode(t, append([]string{"--dir", dir}, older.use...)...)
				third.dir = dir
				if out := third.must(t, "ask", "how does the kiln open?"); strings.Contains(out, "quumbrax") {
					t.Errorf("the erased text is shown again:\n%s", out)
				}
				eventually(t, "the receipt is there again", func() bool { // the erasure may be under way
					r := third.run(t, "forget", "v")
					if r.code != exitUsage || !strings.Contains(r.err, "v: no such item: ") {
						t.Fatalf("forget once more: exit code %d\n%s%s", r.code, r.out, r.err)
					}
					return strings.Contains(r.err, "the receipt is at log position")
				})
				third.down(t)
				if r := on(older.use, "doctor"); !strings.Contains(r.out, "erasures of main       2 erasures are listed beside the log, and in it") {
					t.Errorf("doctor:\n%s%s", r.out, r.err)
				}
				if database == "" {
					if left := testenv.Holding(t, dir, "quumbrax"); len(left) > 0 {
						t.Errorf("the erased text is in %v", left)
					}
				}
			})
		}
	}
}

// TestADamagedListOfErasures: up refuses it; verify and doctor name it.
func TestADamagedListOfErasures(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--item", `{"id":"v","content":"x","security_label":["level:public"]}`)
	n.must(t, "forget", "v")
	n.down(t)
	path := filepath.Join(n.dir, "erased", "main")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(args ...string) result { return satchel(t, "", append(args, "--dir", n.dir)...) }
	write(bytes.Replace(raw, []byte(`["v"]`), []byte(`["w"]`), 1))
	const named = "the list of erasures "
	if r := do("up", "--nats-port", "0", "--http-addr", ""); r.code == 0 || !strings.Contains(r.err, named+path+", record 1: its signature does not hold; docs/reference/troubleshooting.md") {
		t.Errorf("up: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := do("verify"); r.code != exitFound || !strings.Contains(r.out, named+path+", record 1") {
		t.Errorf("verify: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := do("doctor"); r.code != exitFound || !strings.Contains(r.out, named+path+", record 1") {
		t.Errorf("doctor: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	write(raw[:len(raw)-1])
	if r := do("verify"); r.code != exitFound || !strings.Contains(r.out, named+path+" ends in a torn record") {
		t.Errorf("verify of a torn list: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	write(raw)
	other := startNode(t)
	other.down(t)
	keys := filepath.Join(n.dir, "keys")
	if err := errors.Join(os.Rename(keys, keys+".old"), os.RemoveAll(filepath.Join(n.dir, "heads")), os.CopyFS(keys, os.DirFS(filepath.Join(other.dir, "keys")))); err != nil {
		t.Fatal(err)
	}
	if r := do("up", "--nats-port", "0", "--http-addr", ""); r.code != exitUsage || !strings.Contains(r.err, "this folder's key is not the one that signed "+path) {
		t.Errorf("up with another key: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if err := errors.Join(os.RemoveAll(keys), os.Rename(keys+".old", keys)); err != nil {
		t.Fatal(err)
	}
	write(raw[:len(raw)-1])
	again := startNode(t, "--dir", n.dir) // it mends the list, and the log has the torn erasure
	again.dir = n.dir
	eventually(t, "the list is whole", func() bool {
		now, err := os.ReadFile(path)
		return err == nil && bytes.Equal(now, raw)
	})
}

// eventually calls ok until it holds, for half a minute.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, end := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited too long: %s", what)
		}
	}
}

// TestEveryWorkerListsErasures: each has the list in its own folder, as it has the heads.
func TestEveryWorkerListsErasures(t *testing.T) {
	t.Parallel()
	people := filepath.Join(t.TempDir(), "principals.yaml")
	if err := os.WriteFile(people, []byte("tenants:\n  main:\n    principals:\n      - {id: cli, level: restricted, roles: [eraser]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	use := []string{"--database-url", postgrestest.Open(t), "--nats-url", natstest.Start(t, natstest.Config{Servers: 1}).URL(), "--stream-mb", "64", "--principals", people}
	one := startNode(t, use...)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "keys"), os.DirFS(filepath.Join(one.dir, "keys"))); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		if r := satchel(t, "", append(append(args, "--dir", one.dir), use...)...); r.code != 0 {
			t.Fatalf("%v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	run("emit", "--item", `{"id":"before","content":"x","security_label":["level:public"]}`)
	run("forget", "before")
	two := startNode(t, append([]string{"--dir", dir}, use...)...)
	run("emit", "--item", `{"id":"v","content":"x","security_label":["level:public"]}`)
	run("forget", "v")
	for _, dir := range []string{one.dir, dir} {
		eventually(t, "both erasures are listed in "+dir, func() bool {
			raw, err := os.ReadFile(filepath.Join(dir, "erased", "main"))
			return err == nil && bytes.Contains(raw, []byte(`"items":["before"]`)) && bytes.Contains(raw, []byte(`"items":["v"]`))
		})
	}
	two.down(t)
	one.down(t)
	for _, dir := range []string{one.dir, dir} {
		if r := satchel(t, "", append([]string{"verify", "--dir", dir}, use...)...); r.code != 0 {
			t.Errorf("verify: exit code %d\n%s%s", r.code, r.out, r.err)
		}
	}
}

// TestForgottenTextIsNowhere searches every file below the data folder, after an erasure, for words
// of the item, of packs and hand-overs that showed it, and of rejected events about it.
func TestForgottenTextIsNowhere(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	nc := n.connect(t)
	call := func(subject, body string) string {
		t.Helper()
		msg, err := nc.Request(subject, []byte(body), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if code := msg.Header.Get("Nats-Service-Error-Code"); code != "" {
			t.Fatalf("%s: %s %s", subject, code, msg.Data)
		}
		return string(msg.Data)
	}
	const head, tail = "wjkzptvq", "bxdgmnrl" // no text has such words, and no compression hides them
	long := head + " patient file of the violin maker. " + strings.Repeat("The file says more about the violin and its maker. ", 12) + tail
	put := func(id, text string) {
		n.must(t, "emit", "--item", `{"id":"`+id+`","session":"s1","content":"`+text+`","speaker":"Ottokar","security_label":["level:internal"]}`)
	}
	put("victim", long)
	put("other", "The violin was repaired by Ottokar in March. It has a new bridge. The maker was paid in April.")
	const who = `"from":{"id":"a","securityLevel":"internal"}`
	for subject, body := range map[string]string{
		"ctx.v1.main.run":           `{` + who + `,"task":"who repaired the violin?","request_id":"r1"}`,
		"ctx.v1.main.request":       `{"meta":{"type":"ContextRequest",` + who + `},"payload":{"query":{"text":"what is in the patient file of the violin maker?"},"token_budget":800,"include_graph":true}}`,
		"ctx.v1.main.build":         `{` + who + `,"query":"violin maker","template":"detailed","token_budget":800}`,
		"ctx.v1.main.assemble":      `{` + who + `,"query":"violin maker","max_tokens":800}`,
		"ctx.v1.main.search":        `{` + who + `,"query":"violin maker"}`,
		"ctx.v1.main.compact":       `{` + who + `,"session":"s1","query":"violin","budget":60}`,
		"ctx.v1.main.role.sentinel": `{` + who + `,"task":"who repaired the violin?"}`,
	} {
		call(subject, body)
	}
	const event = `"source":"s","type":"io.satchel.memory.recorded.v1"`
	letters := []string{
		`{"specversion":"1.0","id":"1",` + event + `,"data":{"id":"victim","content":"vzqkkfpa`,
		`{"specversion":"0.3","id":"2",` + event + `,"data":{"id":"victim","content":"vzqkkfpb"}}`,
		`{"specversion":"1.0","id":"3",` + event + `,"data":{"id":"victim ","content":"vzqkkfpc"}}`,
		`{"id":"victim","content":"vzqkkfpd"}`,
		`{"specversion":"1.0","id":"4",` + strings.Replace(event, "recorded", "linked", 1) + `,"data":{"from":"other","links":[{"rel":"x vzqkkfpe","to":"victim"}]}}`,
		`{"specversion":"1.0","id":"5",` + event + `,"data_base64":"eyJpZCI6InZpY3RpbSIsImNvbnRlbnQiOiJ2enFra2ZwZiJ9"}`,
		`{"specversion":"1.0","id":"6",` + event + `,"data":{"id":"v\u0069ctim","scope":{"tenant":"elsewhere"},"content":"vzqkkfpg"}}`,
	}
	for _, l := range append(letters, `{"specversion":"1.0","id":"7",`+event+`,"data":{"content":"hqtwbvnk"}}`, `{"specversion":"1.0","id":"8",`+event+`,"data":{"id":"third","content":"zzjqxwvk"}}`) {
		if err := nc.Publish("mem.v1.main.evt.w", []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the dead letters are there", func() bool {
		return strings.Count(n.must(t, "dlq", "ls"), "\n") >= len(letters)+3
	})
	for _, text := range []string{head, tail, "vzqkkfp"} {
		if len(testenv.Holding(t, n.dir, text)) == 0 {
			t.Fatalf("%s is nowhere to begin with", text)
		}
	}
	out := n.must(t, "forget", "victim")
	contains(t, "the receipt", out, "DLQ             removed 7, undecided 1: dead letters that do not name their items")
	contains(t, "dlq ls", n.must(t, "dlq", "ls"), "* does not name its items")
	for _, text := range []string{head, tail, "vzqkkfp"} {
		eventually(t, text+" is nowhere: the server removes a purged folder in the background", func() bool { return len(testenv.Holding(t, n.dir, text)) == 0 })
	}
	for _, text := range []string{"hqtwbvnk", "zzjqxwvk"} {
		if len(testenv.Holding(t, n.dir, text)) == 0 {
			t.Errorf("%s, which is not of the item, is gone", text)
		}
	}
	n.down(t)
	for _, text := range []string{head, tail, "vzqkkfp"} {
		if files := testenv.Holding(t, n.dir, text); len(files) > 0 {
			t.Errorf("after a stop %s is in %v", text, files)
		}
	}
}
