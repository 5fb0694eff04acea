package fault

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	_ "modernc.org/sqlite" // the driver, to change rows behind the log's back

	"satchel/jetstream"
	"satchel/schemas"
)

// filled returns a stopped node whose log holds items, packs, decisions and a finished
// erasure, with a kept head.
func filled(t *testing.T) (*node, *record) {
	t.Helper()
	n, r := newNode(t), newRecord()
	r.fill(t, n)
	return n, r
}

// fill starts the node, adds to it, and stops it.
func (r *record) fill(t *testing.T, n *node) {
	t.Helper()
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := r.producer(n, 1)
	p.tenant = "acme"
	for range 5 {
		p.put(ctx)
	}
	p.forget(ctx)
	r.settle(t, n, []string{"acme"})
	n.stop()
}

// copied returns a node over a copy of the folder.
func copied(t *testing.T, from *node) *node {
	t.Helper()
	to := newNode(t)
	copyDir(t, from.dir, to.dir)
	return to
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		if !d.Type().IsRegular() { // the admin socket of a process that was killed
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), raw, 0o600)
	}))
}

// alter runs statements on the log's database.
func (n *node) alter(t *testing.T, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(n.dir, "log.db"))
	must(t, err)
	defer db.Close()
	result, err := db.ExecContext(t.Context(), statement, args...)
	must(t, err)
	if rows, err := result.RowsAffected(); err != nil || rows == 0 {
		t.Fatalf("%s changed %d rows, %v", statement, rows, err)
	}
}

// verified is a line of satchel verify --json.
type verified struct {
	Tenant   string
	OK       bool
	Position int64
	Problem  string
}

// blames fails the test unless verify exits with 3 and names position of acme; 0 for
// any position.
func (n *node) blames(t *testing.T, what string, position int64) {
	t.Helper()
	out, code := n.run(t, "verify", "--json")
	if code != 3 {
		t.Errorf("%s: exit code %d, want 3\n%s", what, code, out)
		return
	}
	var list []verified
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&list); err != nil {
		t.Errorf("%s: %v\n%s", what, err, out)
		return
	}
	for _, v := range list {
		if !v.OK && v.Tenant == "acme" && v.Problem != "" && v.Position > 0 && (position == 0 || v.Position == position) {
			return
		}
	}
	t.Errorf("%s: verify does not name position %d:\n%s", what, position, out)
}

// flip is an SQL expression that changes one byte of a column.
func flip(column string, blob bool) string {
	if blob {
		return fmt.Sprintf("CAST(CASE substr(%[1]s, 1, 1) WHEN x'41' THEN x'42' ELSE x'41' END || substr(%[1]s, 2) AS BLOB)", column)
	}
	return column + " || 'x'"
}

func TestVerifyNamesEveryTamperedColumn(t *testing.T) {
	t.Parallel()
	seed, _ := filled(t)
	if out, code := seed.run(t, "verify"); code != 0 {
		t.Fatalf("untouched: exit code %d\n%s", code, out)
	}
	const at = 2 // a put item
	row := fmt.Sprintf(" WHERE id = (SELECT id << 40 FROM tenants WHERE name = 'acme') + %d", at)
	cases := map[string]struct {
		statement string
		position  int64
	}{
		"subject":     {"UPDATE entries SET subject = " + flip("subject", false) + row, at},
		"time":        {"UPDATE entries SET time = time + 1" + row, at},
		"recorded":    {"UPDATE entries SET recorded = recorded + 1" + row, at},
		"commitment":  {"UPDATE entries SET commitment = " + flip("commitment", true) + row, at},
		"type":        {"UPDATE entries SET type = (SELECT max(type) FROM entries)" + row, at},
		"source":      {"UPDATE entries SET source = (SELECT max(source) FROM entries)" + row, at},
		"agent":       {"UPDATE entries SET agent = (SELECT max(agent) FROM entries)" + row, at},
		"event":       {"UPDATE entries SET event = " + flip("event", false) + row, at},
		"attachment":  {"UPDATE entries SET attachment = randomblob(32)" + row, at},
		"salt":        {"UPDATE content SET salt = " + flip("salt", true) + " WHERE id = (SELECT content FROM entries" + row + ")", at},
		"extensions":  {"UPDATE content SET head = " + flip("head", true) + " WHERE id = (SELECT content FROM entries" + row + ")", 0},
		"data":        {"UPDATE content SET data = " + flip("data", true) + " WHERE id = (SELECT content FROM entries" + row + ")", 0},
		"hashes":      {"UPDATE hashes SET chunk = " + flip("chunk", true) + " WHERE id = (SELECT id << 32 FROM tenants WHERE name = 'acme')", 1},
		"head's root": {"UPDATE tenants SET root = " + flip("root", true) + " WHERE name = 'acme'", 0},
		"head's size": {"UPDATE tenants SET size = size - 1 WHERE name = 'acme'", 0},
		"row":         {"DELETE FROM entries" + row, at},
		"content":     {"DELETE FROM content WHERE id = (SELECT content FROM entries" + row + ")", at},
		"erased":      {"UPDATE content SET salt = zeroblob(32), data = zeroblob(length(data)) WHERE id = (SELECT content FROM entries" + row + ")", at},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := copied(t, seed)
			n.alter(t, c.statement)
			n.blames(t, what, c.position)
		})
	}
}

// A row that was changed while nothing ran, and that nobody reads, is found in the background.
func TestATamperedRowIsFoundInTheBackground(t *testing.T) {
	t.Parallel()
	n, _ := filled(t)
	n.alter(t, "UPDATE entries SET time = time + 1 WHERE id = (SELECT id << 40 FROM tenants WHERE name = 'acme') + 2")
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	poll(t, 2*time.Minute, "readiness names the position", func() bool {
		code, said := n.ready()
		return code == 503 && strings.Contains(said, "acme") && strings.Contains(said, "position 2")
	})
	resp, err := http.Get("http://" + n.http + "/metrics")
	must(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(t, err)
	for _, line := range []string{"satchel_log_damaged 1", "satchel_verify_last_success_timestamp_seconds 0", "satchel_ready 0"} {
		if !strings.Contains(string(raw), "\n"+line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}

func TestARolledBackLogIsNamed(t *testing.T) {
	t.Parallel()
	n, r := filled(t)
	older := t.TempDir()
	copyDir(t, n.dir, older)
	r.fill(t, n)
	for _, name := range []string{"log.db", "log.db-wal", "log.db-shm"} {
		must(t, os.RemoveAll(filepath.Join(n.dir, name)))
		if raw, err := os.ReadFile(filepath.Join(older, name)); err == nil {
			must(t, os.WriteFile(filepath.Join(n.dir, name), raw, 0o600))
		}
	}
	n.blames(t, "an older log behind a kept head", 0)
	if n.start(t) { // it may run, and then must say that it is not well
		poll(t, 2*time.Minute, "readiness says that the index or the stream does not fit the log", func() bool {
			code, _ := n.ready()
			return code == 503
		})
	}
}

func TestADamagedLogFileIsANamedError(t *testing.T) {
	t.Parallel()
	seed, _ := filled(t)
	for what, damage := range map[string]func(raw []byte) []byte{
		"truncated":     func(raw []byte) []byte { return raw[:len(raw)/2+100] },
		"garbage":       func(raw []byte) []byte { return []byte(strings.Repeat("not a database ", 1000)) },
		"zeroed header": func(raw []byte) []byte { return append(make([]byte, 100), raw[100:]...) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := copied(t, seed)
			path := filepath.Join(n.dir, "log.db")
			raw, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, damage(raw), 0o600))
			must(t, os.RemoveAll(path+"-wal"))
			must(t, os.RemoveAll(path+"-shm"))
			out, code := n.run(t, "verify")
			if (code != 1 && code != 3) || !strings.Contains(out, "damaged") && !strings.Contains(out, "BAD") {
				t.Errorf("verify: exit code %d\n%s", code, out)
			}
			if strings.Contains(out, "panic") || strings.Contains(out, "goroutine ") {
				t.Errorf("verify panics:\n%s", out)
			}
			if n.start(t) {
				poll(t, 2*time.Minute, "a damaged log is not ready", func() bool {
					code, _ := n.ready()
					return code == 503
				})
			} else if !strings.Contains(n.said(t), "damaged") {
				t.Errorf("up says: %s", n.said(t))
			}
		})
	}
}

// A bit that flips in the inbox may cost what was not logged yet; it never makes the log
// skip anything silently.
func TestAFlippedBitInTheInbox(t *testing.T) {
	t.Parallel()
	seed := newNode(t)
	r := newRecord()
	if !seed.start(t) {
		t.Fatal("satchel up did not start")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := r.producer(seed, 1)
	for range 30 {
		p.put(ctx)
	}
	seed.kill()
	block := filepath.Join("streams", "jetstream", "$G", "streams", jetstream.MemoryStream, "msgs", "1.blk")
	raw, err := os.ReadFile(filepath.Join(seed.dir, block))
	must(t, err)
	for _, share := range []int{3, 50, 97} {
		t.Run(fmt.Sprint(share, " %"), func(t *testing.T) {
			t.Parallel()
			n := copied(t, seed)
			bad := append([]byte(nil), raw...)
			bad[len(bad)*share/100] ^= 0x10
			must(t, os.WriteFile(filepath.Join(n.dir, block), bad, 0o600))
			if !n.start(t) {
				if said := n.said(t); !strings.Contains(said, "MEMORY") && !strings.Contains(said, "partition") {
					t.Errorf("up ends without naming the stream: %s", said)
				}
				return
			}
			if !n.takes(t, p.tenant) {
				poll(t, 2*time.Minute, "readiness names the partition", func() bool {
					code, body := n.ready()
					return code == 503 && strings.Contains(body, "partition")
				})
			}
			n.stop()
			if out, code := n.run(t, "verify"); code != 0 {
				t.Errorf("verify: exit code %d\n%s", code, out)
			}
			log := openLog(t, n.dir, "")
			for k := range r.acked {
				if _, err := log.Find(t.Context(), system(t, k.tenant), k.source, k.id); err != nil {
					t.Errorf("LOST: %v: %v", k, err)
				}
			}
		})
	}
}

// takes reports whether the node logs a new event within a second.
func (n *node) takes(t *testing.T, tenant string) bool {
	t.Helper()
	nc, err := nats.Connect(n.address(t.Context()))
	must(t, err)
	defer nc.Close()
	p := newRecord().producer(n, 77)
	p.tenant, p.name, p.nc = tenant, "after", nc
	p.js, err = js.New(nc)
	must(t, err)
	ev := p.item()
	raw, err := ev.MarshalJSON()
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var receipt schemas.Receipt
	return p.request(ctx, "mem.v1."+tenant+".put", schemas.PutRequest{Agent: p.name, Event: raw, Wait: "logged"}, &receipt) == nil
}
