package attack

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go/jetstream"
	_ "modernc.org/sqlite"

	"satchel/jetstream/embedded"
	"satchel/schemas"
	"satchel/test/testenv"
)

// What is forgotten is nowhere: in no file, stream, letter or reply, whatever was made of it
// before, and not after a kill, a restart and a rebuild either.
func TestWhatIsForgottenIsNowhere(t *testing.T) {
	t.Parallel()
	w, canaries := newWorld(t, "main"), map[string]secret{}
	ids := w.fill(t, "main", canaries)
	subjects, packs := contract(t), w.packsOf(t, ids)
	w.derive(t, subjects, packs, ids)
	letters := w.deadLetters(t, canaries)
	held := w.everywhere(t, canaries)
	if len(held) < len(canaries)/2 {
		t.Fatalf("only %d of %d canaries are found before the erasure: the search sees too little", len(held), len(canaries))
	}
	doomed := func(id string) bool {
		return strings.HasSuffix(id, "-memory") || strings.HasSuffix(id, "-tool") || strings.HasPrefix(id, "plain-")
	}
	n := 200000
	for _, id := range ids {
		if doomed(id) && !strings.HasPrefix(id, "erased-") {
			n++
			body := put("writer", "erased", map[string]any{"scope": map[string]any{"tenant": "main"}, "items": []string{id}}, n)
			body["event"].(map[string]any)["satchelroles"] = "eraser"
			if text := ask(w.conns["main/writer"], "mem.v1.main.put", body); !strings.Contains(text, `"level"`) {
				t.Fatalf("erase %s: %.300s", id, text)
			}
		}
	}
	forgotten := map[string]secret{}
	for word, s := range canaries {
		if doomed(s.state.name+"-"+string(s.kind)) || s.state.name == "erased" {
			forgotten[word] = s
		}
	}
	for end := time.Now().Add(time.Minute); len(w.everywhere(t, forgotten)) > 0 && time.Now().Before(end); {
		w.settle(t, "main", n) // what the erasures leave to do is done behind them
		n++
	}
	search := func(moment string) {
		for word, place := range w.everywhere(t, forgotten) {
			t.Errorf("%s: %s is still in %s", moment, forgotten[word], place)
		}
		for i := range principals {
			if p := &principals[i]; !p.elsewhere && share(i, 4) {
				for _, operation := range asksWords {
					for _, body := range operations[operation](question{words: shared + " plain memory tool", from: p.from(), ids: ids, packs: packs}) {
						for _, word := range canariesIn(ask(w.conn(p, "main"), subjectFor(subjects[operation], "main"), body), forgotten) {
							t.Errorf("%s: %s as %s shows %s", moment, operation, p.name, forgotten[word])
						}
					}
				}
			}
		}
	}
	search("afterwards")
	w.Kill()
	w.restart(t)
	search("after a kill")
	w.Must(t, "rebuild", "--tenant", "main")
	search("after a rebuild")
	w.Must(t, "verify", "--tenant", "main")
	t.Logf("%d canaries forgotten of %d, %d dead letters", len(forgotten), len(canaries), letters)
}

// Whatever was made of several items goes with each of them, wherever it stands among them, and what
// was made of others stays.
func TestWhatIsMadeOfItemsGoesWithEach(t *testing.T) {
	t.Parallel()
	const nc = "main/writer"
	w := newWorld(t, "main")
	n, alive, canaries := 0, []string{}, map[string]secret{}
	send := func(kind string, data map[string]any) {
		t.Helper()
		n++
		data["scope"] = map[string]any{"tenant": "main"}
		body := put("writer", kind, data, n)
		body["event"].(map[string]any)["satchelroles"] = "eraser"
		if text := ask(w.conns[nc], "mem.v1.main.put", body); !strings.Contains(text, `"level"`) {
			t.Fatalf("%s %v: %.300s", kind, data, text)
		}
	}
	record := func(id, content string) {
		word := w.canary()
		canaries[word] = secret{state: &state{name: id}, kind: schemas.KindMemory, field: "Content"}
		send("recorded", map[string]any{"id": id, "type": "semantic", "kind": "memory", "created_at": "2026-03-03T10:00:00Z",
			"security_label": []string{"level:internal"}, "content": content + " " + word + "."})
	}
	for i := range 6 {
		id := fmt.Sprint("barn-", i)
		alive = append(alive, id)
		record(id, fmt.Sprintf("The barn door number %d was painted green by Anna", i))
	}
	record("harbour", "Ships in the harbour wait for the pilot boat")
	from := principals[0].from()
	request := func(words string, limit int) (pack string, shown []string) {
		t.Helper()
		var r struct {
			Payload struct {
				PackID  string `json:"pack_id"`
				Results []struct{ ID string }
			}
		}
		body := map[string]any{"meta": map[string]any{"type": "ContextRequest", "from": from}, "payload": map[string]any{"query": map[string]any{"text": words}, "limit": limit, "token_budget": 4000}}
		decode(t, ask(w.conns[nc], "ctx.v1.main.request", body), &r)
		for _, item := range r.Payload.Results {
			shown = append(shown, item.ID)
		}
		return r.Payload.PackID, shown
	}
	other, shown := request("ships in the harbour", 1)
	if !slices.Equal(shown, []string{"harbour"}) {
		t.Fatalf("the pack of the harbour shows %v", shown)
	}
	const words, task = "who painted the barn door green", "Who painted the barn door green?"
	for round := 0; len(alive) > 1; round++ {
		_, shown := request(words, 20)
		shown = slices.DeleteFunc(shown, func(id string) bool { return id == "harbour" }) // few items are left
		if len(shown) != len(alive) {
			t.Fatalf("the pack of the barn shows %v, not %v", shown, alive)
		}
		ask(w.conns[nc], "ctx.v1.main.run", map[string]any{"from": from, "task": task, "token_budget": 4000})
		if round == 0 {
			ask(w.conns[nc], "ctx.v1.main.compact", map[string]any{"from": from, "query": words, "budget": 60})
		}
		doomed := []string{shown[0], shown[len(shown)-1], alive[0], alive[len(alive)-1], shown[len(shown)/2]}[round]
		forgotten := map[string]secret{}
		for word, s := range canaries {
			if s.state.name == doomed {
				forgotten[word] = s
			}
		}
		alive = slices.DeleteFunc(alive, func(id string) bool { return id == doomed })
		send("erased", map[string]any{"items": []string{doomed}})
		left := w.everywhere(t, forgotten)
		for end := time.Now().Add(20 * time.Second); len(left) > 0 && time.Now().Before(end); left = w.everywhere(t, forgotten) {
			n = w.settle(t, "main", n)
		}
		for word, place := range left {
			t.Errorf("round %d: %s is still in %s; the pack showed %v", round, forgotten[word], place, shown)
		}
	}
	if text := ask(w.conns[nc], "log.v1.main.pack", map[string]any{"from": from, "pack_id": other}); !strings.Contains(text, "pilot boat") {
		t.Errorf("the pack of the harbour went with the barn's: %.600s", text)
	}
}

// derive has packs, summaries, hand-overs, templates and drop reports made of the items.
func (w *world) derive(t *testing.T, subjects map[string]string, packs, ids []string) {
	t.Helper()
	for i := range principals {
		p := &principals[i]
		if p.elsewhere || !share(i, 3) {
			continue
		}
		for _, operation := range asksWords {
			for _, body := range operations[operation](question{words: shared + " plain memory", from: p.from(), ids: ids, packs: packs}) {
				ask(w.conn(p, "main"), subjectFor(subjects[operation], "main"), body)
			}
		}
	}
}

// deadLetters publishes events that cannot be taken, with an item's id and words in them.
func (w *world) deadLetters(t *testing.T, canaries map[string]secret) int {
	t.Helper()
	js, err := jetstream.New(w.conns["main/writer"])
	must(t, err)
	n := 0
	for _, word := range sorted(canaries) {
		s := canaries[word]
		if s.state.name != "plain" || s.field != "Content" {
			continue
		}
		id := s.state.name + "-" + string(s.kind)
		for _, body := range []string{
			fmt.Sprintf(`{"specversion":"1.0","id":"x%s","source":"attack","type":"io.satchel.memory.recorded.v1","data":{"id":%q,"content":%q`, word[:4], id, word),
			fmt.Sprintf(`{"specversion":"0.3","id":"y%s","source":"attack","type":"io.satchel.memory.recorded.v1","data":{"id":%q,"content":%q}}`, word[:4], id, word),
			fmt.Sprintf(`{"specversion":"1.0","id":"z%s","source":"attack","type":"io.satchel.memory.recorded.v1","data":{"id":%q,"type":"semantic","content":%q}}`, word[:4], id, word),
			fmt.Sprintf(`{"id":%q,"content":%q}`, id, word),
		} {
			_, err := js.Publish(patient(t), "mem.v1.main.evt.writer", []byte(body))
			must(t, err)
			n++
		}
	}
	w.settle(t, "main", 150000)
	return n
}

// everywhere returns the canaries that stand in a file of the data folder, a compressed cell of a
// database or a message of a stream, and where.
func (w *world) everywhere(t *testing.T, canaries map[string]secret) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // files and folders come and go while it runs
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		name, _ := filepath.Rel(w.Dir, path)
		text := string(raw)
		if strings.HasPrefix(text, "SQLite format 3") {
			text += unpacked(t, path)
		}
		for _, word := range canariesIn(text, canaries) {
			found[word] = name
		}
		return err
	}))
	js, err := jetstream.New(w.conns[""])
	must(t, err)
	streams := js.StreamNames(patient(t))
	for name := range streams.Name() {
		c, err := js.OrderedConsumer(patient(t), name, jetstream.OrderedConsumerConfig{})
		must(t, err)
		info, err := c.Info(patient(t))
		must(t, err)
		for left := int(info.NumPending); left > 0; {
			batch, err := c.Fetch(min(left, 500), jetstream.FetchMaxWait(5*time.Second))
			must(t, err)
			got := 0
			for m := range batch.Messages() {
				got++
				for _, word := range canariesIn(fmt.Sprint(m.Headers(), string(m.Data())), canaries) {
					found[word] = "stream " + name + ", subject " + m.Subject()
				}
			}
			if left -= got; got == 0 {
				break
			}
		}
	}
	must(t, streams.Err())
	return found
}

// unpacked returns what the Zstandard frames in a database's tables hold.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(60000)")
	must(t, err)
	defer db.Close()
	frames, err := zstd.NewReader(nil)
	must(t, err)
	defer frames.Close()
	var all strings.Builder
	for _, table := range column[string](t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'") {
		for _, name := range column[string](t, db, "SELECT name FROM pragma_table_info(?)", table) {
			const query = `SELECT "%s" FROM "%s" WHERE typeof("%[1]s") = 'blob' AND substr("%[1]s", 1, 4) = x'28b52ffd'`
			for _, cell := range column[[]byte](t, db, fmt.Sprintf(query, name, table)) {
				text, err := frames.DecodeAll(cell, nil)
				must(t, err)
				all.Write(text)
			}
		}
	}
	return all.String()
}

// column returns the first column of a query's rows.
func column[T any](t *testing.T, db *sql.DB, query string, args ...any) (values []T) {
	t.Helper()
	rows, err := db.Query(query, args...)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var value T
		must(t, rows.Scan(&value))
		values = append(values, value)
	}
	must(t, rows.Err())
	return values
}

// restart starts the process again on the same folder.
func (w *world) restart(t *testing.T) {
	t.Helper()
	w.Satchel = testenv.Up(t, binary, w.Dir, w.args...)
	for name, nc := range w.conns {
		options := nc.Opts
		options.Url, options.Servers = w.URL, []string{w.URL}
		if name == "" {
			user, err := embedded.Operator(filepath.Join(w.Dir, "streams"))
			must(t, err)
			must(t, user(&options))
		}
		again, err := options.Connect()
		must(t, err)
		t.Cleanup(again.Close)
		w.conns[name] = again
	}
}
