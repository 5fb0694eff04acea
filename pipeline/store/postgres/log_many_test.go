package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/postgres"
	"satchel/test/testenv/postgrestest"
)

func openLog(t *testing.T, url, schema string) *eventlog.Log {
	t.Helper()
	db, err := postgres.OpenLog(t.Context(), postgres.LogConfig{URL: url, Schema: schema, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	l, err := eventlog.New(eventlog.Config{Driver: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func system(t *testing.T, tenant string) scope.Scope {
	t.Helper()
	s, err := scope.System(tenant)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func draft(tenant, id string) eventlog.Draft {
	return eventlog.Draft{Tenant: tenant, Agent: "a", Type: "t", Source: "s", ID: id, Subject: "item-" + id, Data: []byte(`"` + id + `"`)}
}

// TestLogManyWorkers has several logs, as processes have them, append to the same tenants,
// partly the same events: positions are dense, no event is there twice, the trees hold.
func TestLogManyWorkers(t *testing.T) {
	t.Parallel()
	url := postgrestest.Open(t)
	const workers, batches = 4, 15
	var wait sync.WaitGroup
	var mu sync.Mutex
	appended := map[string]int{}
	for w := range workers {
		wait.Go(func() {
			l := openLog(t, url, "many")
			random := rand.New(rand.NewPCG(uint64(w), 7))
			for b := range batches {
				var drafts []eventlog.Draft
				for i := range 20 {
					id := fmt.Sprintf("%d-%d-%d", w, b, i)
					if i%2 == 0 {
						id = fmt.Sprintf("shared-%d-%d", b, i)
					}
					drafts = append(drafts, draft(fmt.Sprintf("t%d", i%5), id))
				}
				random.Shuffle(len(drafts), func(i, j int) { drafts[i], drafts[j] = drafts[j], drafts[i] })
				out, err := l.Append(t.Context(), eventlog.Batch{Drafts: drafts})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for i, o := range out {
					if o.Status == eventlog.Appended {
						appended[drafts[i].Tenant+"/"+drafts[i].ID]++
					}
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	l, total := openLog(t, url, "many"), 0
	for i := range 5 {
		h, err := l.Head(t.Context(), system(t, fmt.Sprintf("t%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		total += int(h.Size)
	}
	for id, n := range appended {
		if n != 1 {
			t.Errorf("%s was appended %d times", id, n)
		}
	}
	if want := workers*batches*10 + batches*10; total != want || len(appended) != want {
		t.Errorf("%d entries, %d outcomes, want %d", total, len(appended), want)
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestFenceAcrossWorkers: of those who take a fence at the same time each gets another
// one, and only the newest may write.
func TestFenceAcrossWorkers(t *testing.T) {
	t.Parallel()
	url := postgrestest.Open(t)
	const workers = 6
	fences := make([]int64, workers)
	logs := make([]*eventlog.Log, workers)
	var wait sync.WaitGroup
	for w := range workers {
		logs[w] = openLog(t, url, "fence")
		wait.Go(func() {
			var err error
			if fences[w], _, err = logs[w].TakeFence(t.Context(), "append/p00"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	seen := map[int64]bool{}
	for w, fence := range fences {
		seen[fence] = true
		cp := &eventlog.Checkpoint{Name: "append/p00", Fence: fence, Epoch: "e", StreamSeq: uint64(fence)}
		_, err := logs[w].Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", fmt.Sprint(w))}, Checkpoint: cp})
		if fence == workers && err != nil || fence < workers && !errors.Is(err, eventlog.ErrFenced) {
			t.Errorf("fence %d of %d: %v", fence, workers, err)
		}
	}
	if len(seen) != workers {
		t.Errorf("fences %v", fences)
	}
}

// TestTamper changes every column of every table and removes rows: verify finds each.
func TestTamper(t *testing.T) {
	t.Parallel()
	url := postgrestest.Open(t)
	l := openLog(t, url, "tampered")
	s := system(t, "acme")
	var drafts []eventlog.Draft
	for i := range 70 {
		d := draft("acme", fmt.Sprint(i))
		d.Extensions = map[string]string{"x": "y"}
		drafts = append(drafts, d)
	}
	pack := eventlog.Draft{Tenant: "acme", Type: "p", Source: "s", ID: "p", Attachment: eventlog.Derive([]string{"item-1"}, []byte("x")),
		Data: []byte(`"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"`)}
	cp := &eventlog.Checkpoint{Name: "c", Epoch: "e", StreamSeq: 9}
	if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: append(drafts, pack), Checkpoint: cp}); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	flip := func(column string) string { return "set_byte(" + column + ", 3, get_byte(" + column + ", 3) # 4)" }
	for _, c := range []struct{ table, where, set string }{
		{"tenants", "true", "size = size - 1"}, {"tenants", "true", "size = size + 1"}, {"tenants", "true", "root = " + flip("root")}, {"tenants", "true", "tail = " + flip("tail")}, {"tenants", "true", "name = 'globex'"},
		{"entries", "position = 5", "agent = 'b'"}, {"entries", "position = 5", "type = 'u'"}, {"entries", "position = 5", "source = 'z'"},
		{"entries", "position = 5", "event = 'z'"}, {"entries", "position = 5", "subject = 'z'"}, {"entries", "position = 5", "time = 7"},
		{"entries", "position = 5", "recorded = recorded + 1"}, {"entries", "position = 5", "commitment = " + flip("commitment")},
		{"entries", "position = 71", "attachment = " + flip("attachment")}, {"entries", "position = 71", "attachment = NULL"}, {"entries", "position = 5", "position = 99"}, {"entries", "position = 5", ""},
		{"content", "position = 5", "salt = " + flip("salt")}, {"content", "position = 5", "head = 'x'"}, {"content", "position = 5", "data = 'x'"}, {"content", "position = 5", ""},
		{"attachments", "true", "salt = " + flip("salt")}, {"attachments", "true", "head = ''"}, {"attachments", "true", "data = 'y'"}, {"attachments", "true", ""},
		{"refs", "true", "item = 'item-2'"}, {"refs", "true", "position = 5"}, {"refs", "true", ""},
		{"hashes", "number = 0", "chunk = " + flip("chunk")}, {"hashes", "number = 0", ""}, {"checkpoints", "true", "seq = 10"}, {"checkpoints", "true", "epoch = 'f'"},
	} {
		statement := "UPDATE tampered." + c.table + " SET " + c.set + " WHERE " + c.where
		if c.set == "" {
			statement = "DELETE FROM tampered." + c.table + " WHERE " + c.where
		}
		for _, copy := range []string{"CREATE TABLE kept AS SELECT * FROM tampered." + c.table, statement} {
			if _, err := conn.Exec(t.Context(), copy); err != nil {
				t.Fatalf("%s: %v", copy, err)
			}
		}
		err := l.VerifyAll(t.Context(), nil)
		if err == nil && c.table == "tenants" {
			err = l.Verify(t.Context(), s, &eventlog.Head{Tenant: "acme", Size: 71}, nil) // as a kept checkpoint does
		}
		if err == nil {
			_, _, err = l.TakeFence(t.Context(), "c")
		}
		if !errors.Is(err, eventlog.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", statement, err)
		}
		for _, restore := range []string{"DELETE FROM tampered." + c.table, "INSERT INTO tampered." + c.table + " OVERRIDING SYSTEM VALUE SELECT * FROM kept", "DROP TABLE kept"} {
			if _, err := conn.Exec(t.Context(), restore); err != nil {
				t.Fatalf("%s: %v", restore, err)
			}
		}
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Error("restored:", err)
	}
}

// TestAway: while the server is away or stands still calls fail with ErrUnavailable, and
// when it is back everything that was acknowledged is there, once.
func TestAway(t *testing.T) {
	t.Parallel()
	p := postgrestest.Start(t)
	l, s := openLog(t, p.URL, "away"), system(t, "acme")
	add := func(id string) error {
		_, err := l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", id)}})
		return err
	}
	if err := add("1"); err != nil {
		t.Fatal(err)
	}
	for round, away := range []func(){p.Stop, p.Kill} {
		away()
		if err := add(fmt.Sprint("lost ", round)); !errors.Is(err, eventlog.ErrUnavailable) {
			t.Errorf("append: %v", err)
		}
		if _, err := l.Head(t.Context(), s); !errors.Is(err, eventlog.ErrUnavailable) {
			t.Errorf("head: %v", err)
		}
		p.Start()
		if err := add(fmt.Sprint("after ", round)); err != nil {
			t.Fatal(err)
		}
	}
	if h, err := l.Head(t.Context(), s); err != nil || h.Size != 3 {
		t.Errorf("head %d, %v", h.Size, err)
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestStandsStill: a server that is there and does not answer counts as away after the
// timeout, for appends that nobody can cancel as well, and is used again when it answers.
func TestStandsStill(t *testing.T) {
	t.Parallel()
	p := postgrestest.Start(t)
	db, err := postgres.OpenLog(t.Context(), postgres.LogConfig{URL: p.URL, MaxConns: 2, Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := eventlog.New(eventlog.Config{Driver: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	add := func(id string) error {
		_, err := l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{draft("acme", id)}})
		return err
	}
	for err = add("1"); errors.Is(err, eventlog.ErrUnavailable); err = add("1") { // a busy machine may be slower than that
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Pause()
	if err := add("2"); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Errorf("append: %v", err)
	}
	if _, err := l.Head(t.Context(), system(t, "acme")); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Errorf("head: %v", err)
	}
	p.Resume()
	for err = add("3"); errors.Is(err, eventlog.ErrUnavailable); err = add("3") {
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := l.VerifyAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
