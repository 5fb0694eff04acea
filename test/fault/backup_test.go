package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream"
	"satchel/pipeline/infra/files"
	"satchel/schemas"
	"satchel/test/testenv/natstest"
	"satchel/test/testenv/postgrestest"
)

// canary is in a memory, and in an artifact, that are erased.
const canary = "the vault opens with 4711-canary"

// backupItems is how many memories the log has when it is backed up: SATCHEL_TEST_BACKUP_ITEMS, default 500.
func backupItems(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SATCHEL_TEST_BACKUP_ITEMS")
	if text == "" {
		return 500
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// backedUp is what satchel backup --json prints.
type backedUp struct {
	Tenants []struct {
		Tenant, Root string
		Entries      int64
	} `json:"tenants"`
	Written int64 `json:"written_bytes"`
}

func (b *backedUp) heads() map[string]string {
	heads := map[string]string{}
	for _, one := range b.Tenants {
		heads[one.Tenant] = strconv.FormatInt(one.Entries, 10) + " " + one.Root
	}
	return heads
}

// backUp runs satchel backup, which must succeed.
func (n *node) backUp(t *testing.T, args ...string) backedUp {
	t.Helper()
	return decoded[backedUp](t, n.must(t, append([]string{"backup", "--json"}, args...)...))
}

// must is run for a command that has to end with 0.
func (n *node) must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := n.run(t, args...)
	if code != 0 {
		t.Fatalf("satchel %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

func decoded[T any](t *testing.T, text string) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

// verified returns the heads that satchel verify finds.
func (n *node) verified(t *testing.T) map[string]string {
	t.Helper()
	heads := map[string]string{}
	for _, one := range decoded[[]struct {
		Tenant, Root string
		Size         int64
	}](t, n.must(t, "verify", "--json")) {
		heads[one.Tenant] = strconv.FormatInt(one.Size, 10) + " " + one.Root
	}
	return heads
}

// emptied returns a node for a restore: a folder with the keys of another, and what else is named.
func emptied(t *testing.T, lost *node, keep ...string) *node {
	t.Helper()
	to := newNode(t)
	for _, name := range append(keep, "keys") {
		copyDir(t, filepath.Join(lost.dir, name), filepath.Join(to.dir, name))
	}
	return to
}

// restore restores a backup to the node, in a database of its own if it shall have one.
func (n *node) restore(t *testing.T, from string, postgres bool, args ...string) (out string, code int) {
	t.Helper()
	to := n.dir
	if postgres {
		to = postgrestest.Open(t)
	}
	out, code = n.run(t, append([]string{"restore", from, "--to", to}, args...)...)
	if postgres {
		n.database = to
	}
	return out, code
}

// holding lists the files below a folder that hold text, also within segments.
func holding(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed while we look
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if strings.HasSuffix(path, ".seg") {
			raw = plain(t, raw)
		}
		if bytes.Contains(raw, []byte(text)) {
			files = append(files, path)
		}
		return err
	}))
	return files
}

func plain(t *testing.T, compressed []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(bytes.NewReader(compressed))
	must(t, err)
	defer r.Close()
	raw, err := io.ReadAll(r)
	must(t, err)
	return raw
}

// TestBackupAndRestore backs up beside writes, kills the process, loses the folder, and restores it in
// a folder and in Postgres.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	for name, postgres := range map[string]bool{"folder": false, "postgres": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, r := newNode(t), newRecord()
			if postgres {
				n.database = postgrestest.Open(t)
			}
			if !n.start(t) {
				t.Fatal("satchel up did not start")
			}
			file := filepath.Join(t.TempDir(), "art.txt")
			must(t, os.WriteFile(file, []byte(strings.Repeat(canary+"\n", 3000)), 0o600))
			n.must(t, "artifact", "put", file, "--id", "heavy")
			n.must(t, "artifact", "put", "../../go.sum", "--id", "kept")
			n.must(t, "emit", "--wait", "indexed", "--item", `{"id":"v","content":"`+canary+`","security_label":["level:internal"]}`)
			n.must(t, "emit", "--wait", "indexed", "--text", "the vault has a blue door")
			if out := n.must(t, "ask", "how does the vault open?"); !strings.Contains(out, canary) {
				t.Fatalf("the memory is not shown:\n%s", out)
			}
			fillUp := load(n, r, 1, (*producer).batch, (*producer).batch)
			poll(t, 3*time.Minute, "the log is filled", func() bool { return r.acknowledged() >= backupItems(t) })
			fillUp()
			stop := load(n, r, 2, paced((*producer).one), paced((*producer).batch), paced((*producer).put), paced((*producer).ask))
			poll(t, time.Minute, "events and requests flow", func() bool { return r.enough(21, 2) })
			dir := filepath.Join(t.TempDir(), "backup")
			first := n.backUp(t, dir)
			if len(holding(t, dir, canary)) != 2 {
				t.Errorf("the canary is in %v of the backup", holding(t, dir, canary))
			}
			late := decoded[schemas.Receipt](t, n.must(t, "emit", "--json", "--wait", "logged", "--text", "after the backup"))
			n.must(t, "forget", "v", "heavy")
			stop()
			n.kill()

			t.Run("as it was", func(t *testing.T) { restoredAsItWas(t, n, dir, first, late, postgres) })
			t.Run("erased since", func(t *testing.T) { restoredErased(t, n, dir, postgres) })
			t.Run("behind", func(t *testing.T) { restoredBehind(t, n, dir, postgres) })
			t.Run("increment", func(t *testing.T) { incremented(t, n, dir, first, postgres) })
		})
	}
}

// restoredAsItWas restores with nothing newer at hand: heads are those of the backup.
func restoredAsItWas(t *testing.T, lost *node, dir string, made backedUp, late schemas.Receipt, postgres bool) {
	to := emptied(t, lost)
	if out, code := to.restore(t, dir, postgres); code != 0 {
		t.Fatalf("restore: exit code %d\n%s", code, out)
	}
	if got, want := to.verified(t), made.heads(); !maps.Equal(got, want) {
		t.Errorf("heads %v, want those of the backup, %v", got, want)
	}
	if out, code := to.restore(t, dir, false); !postgres && (code != 2 || !strings.Contains(out, "log.db is there already")) {
		t.Errorf("a second restore: exit code %d\n%s", code, out)
	}
	if !to.start(t) {
		t.Fatal("satchel up did not start")
	}
	if out := to.must(t, "ask", "how does the vault open?"); !strings.Contains(out, canary) {
		t.Errorf("what was backed up is not shown:\n%s", out)
	}
	p := newRecord().producer(to, 1)
	p.tenant = "main"
	if !p.connect(t.Context()) {
		t.Fatal("no connection")
	}
	defer p.nc.Close()
	var reply any
	var refused *schemas.Error
	err := p.request(t.Context(), "log.v1.main.prove", schemas.ProveRequest{Source: late.Source, ID: late.ID}, &reply)
	if !errors.As(err, &refused) || refused.Code != schemas.CodeNotFound {
		t.Errorf("the proof of an event of the lost tail: %v, %v", reply, err)
	}
}

// restoredErased restores with the lost folder's list of erasures at hand.
func restoredErased(t *testing.T, lost *node, dir string, postgres bool) {
	to := emptied(t, lost)
	out, code := to.restore(t, dir, postgres, "--erasures", filepath.Join(lost.dir, "erased"))
	if code != 0 || !strings.Contains(out, "main: 1 erasure repeated that the backup did not have") {
		t.Fatalf("restore: exit code %d\n%s", code, out)
	}
	if files := holding(t, to.dir, canary); len(files) > 0 {
		t.Errorf("what was erased is in %v", files)
	}
	if !to.start(t) {
		t.Fatal("satchel up did not start")
	}
	if out := to.must(t, "ask", "how does the vault open?"); strings.Contains(out, canary) {
		t.Errorf("what was erased is shown:\n%s", out)
	}
	poll(t, time.Minute, "the erasure has its receipt", func() bool {
		out, _ := to.run(t, "forget", "v")
		return strings.Contains(out, "the receipt is at log position")
	})
	to.stop()
	to.verified(t)
	if files := holding(t, to.dir, canary); len(files) > 0 {
		t.Errorf("what was erased is in %v", files)
	}
	older := emptied(t, to) // a backup of the restored log, and the artifact that was kept
	again := filepath.Join(t.TempDir(), "again")
	to.backUp(t, again)
	if out, code := older.restore(t, again, postgres); code != 0 {
		t.Errorf("a restore of a restored log: exit code %d\n%s", code, out)
	}
	kept, err := filepath.Glob(filepath.Join(again, "artifacts", "main", "*"))
	must(t, err)
	if len(kept) != 1 {
		t.Errorf("artifacts of the restored log: %v", kept)
	}
}

// restoredBehind restores where the heads of the lost folder are known.
func restoredBehind(t *testing.T, lost *node, dir string, postgres bool) {
	to := emptied(t, lost, "erased")
	out, code := to.restore(t, dir, postgres, "--heads", filepath.Join(lost.dir, "heads"))
	if code != 3 || !strings.Contains(out, "positions are missing") || !strings.Contains(out, "older than what is known of it") {
		t.Fatalf("restore: exit code %d\n%s", code, out)
	}
	if to.start(t) {
		t.Fatal("satchel up serves a log that is behind a known head")
	}
	to.must(t, "rollback", "--accept")
	if !to.start(t) {
		t.Fatal("satchel up did not start")
	}
	to.stop()
	to.verified(t)
}

// incremented continues the backup: what was erased since is no more in it.
func incremented(t *testing.T, lost *node, dir string, first backedUp, postgres bool) {
	if !lost.start(t) {
		t.Fatal("satchel up did not start")
	}
	second := lost.backUp(t, dir, "--since", "last")
	if files := holding(t, dir, canary); len(files) > 0 {
		t.Errorf("what was erased is in %v of the backup", files)
	}
	for tenant, old := range first.heads() {
		if second.heads()[tenant] == old {
			t.Errorf("the head of %s is that of the first backup: %s", tenant, old)
		}
	}
	none := lost.backUp(t, dir, "--since", "last")
	if none.Written > 64<<10 {
		t.Errorf("where nothing is new, %d bytes are written", none.Written)
	}
	lost.stop()
	to := emptied(t, lost, "erased")
	if out, code := to.restore(t, dir, postgres); code != 0 || strings.Contains(out, "repeated") {
		t.Errorf("restore: exit code %d\n%s", code, out)
	}
	if got, want := to.verified(t), none.heads(); !maps.Equal(got, want) {
		t.Errorf("heads %v, want %v", got, want)
	}
	for tenant := range none.heads() {
		if got, want := to.rebuilt(t, tenant), lost.rebuilt(t, tenant); got == "" || got != want {
			t.Errorf("indexes of %s have the digest %q, and %q before", tenant, got, want)
		}
	}
}

// rebuilt returns the digest of a tenant's indexes as the log makes them.
func (n *node) rebuilt(t *testing.T, tenant string) string {
	t.Helper()
	return regexp.MustCompile("digest [0-9a-f]{64}").FindString(n.must(t, "rebuild", "-t", tenant))
}

// TestRestoreBesideANATSThatSurvived loses folder and database, and not the NATS: the restore says what the ledger
// there has, and the worker takes from the stream what the backup does not have.
func TestRestoreBesideANATSThatSurvived(t *testing.T) {
	t.Parallel()
	n, r := newNode(t), newRecord()
	n.database, n.nats = postgrestest.Open(t), natstest.Start(t, natstest.Config{Servers: 1}).URL()
	if !n.start(t) {
		t.Fatal("satchel worker did not start")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := r.producer(n, 1)
	for range 10 {
		p.put(ctx)
	}
	file := filepath.Join(t.TempDir(), "art.txt")
	must(t, os.WriteFile(file, []byte(strings.Repeat("heavy\n", 3000)), 0o600))
	n.must(t, "artifact", "put", file, "-t", p.tenant, "--label", "level:public", "--nats-url", n.nats)
	dir := filepath.Join(t.TempDir(), "backup")
	made := n.backUp(t, dir, "--nats-url", n.nats)
	for range 10 {
		p.put(ctx)
	}
	r.settle(t, n, []string{p.tenant})
	n.kill()
	to := emptied(t, n)
	to.nats = n.nats
	to.database = postgrestest.Open(t)
	out, code := to.run(t, "restore", dir, "--to", to.database, "--nats-url", n.nats)
	if code != 3 || !strings.Contains(out, "the ledger on NATS ends at position") {
		t.Errorf("restore: exit code %d\n%s", code, out)
	}
	if got, want := to.verified(t), made.heads(); !maps.Equal(got, want) {
		t.Errorf("heads %v, want %v", got, want)
	}
	stream, err := p.js.Stream(ctx, jetstream.LedgerStream)
	must(t, err)
	must(t, stream.Purge(ctx, js.WithPurgeSubject("prov.v1."+p.tenant+".>")))
	if !to.start(t) {
		t.Fatal("satchel worker did not start")
	}
	p.node = to
	for k := range r.acked {
		poll(t, time.Minute, "the log has "+k.id, func() bool {
			return p.request(ctx, "log.v1."+p.tenant+".prove", schemas.ProveRequest{Source: k.source, ID: k.id}, new(any)) == nil
		})
	}
	poll(t, time.Minute, "it is ready", func() bool { code, _ := to.ready(); return code == 200 })
	to.must(t, "ledger", "--verify", "-t", p.tenant, "--nats-url", n.nats)
	to.stop()
	to.verified(t)
}

// smallBackup returns a stopped node and a backup of it.
func smallBackup(t *testing.T, under string) (n *node, dir string) {
	t.Helper()
	n, _ = filled(t)
	n.must(t, "verify")
	dir = filepath.Join(under, "backup")
	n.backUp(t, dir)
	return n, dir
}

// TestDamagedBackup flips a bit in each file of a backup, and takes one away: a restore names it, and
// restores nothing.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	n, dir := smallBackup(t, t.TempDir())
	var files []string
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "satchel.lock" {
			files = append(files, path)
		}
		return err
	}))
	if len(files) < 4 {
		t.Fatalf("the backup has %v", files)
	}
	to := emptied(t, n)
	refused := func(path, how string) {
		t.Helper()
		name, err := filepath.Rel(dir, path)
		must(t, err)
		out, code := to.restore(t, dir, false)
		if code != 3 || !strings.Contains(out, name) {
			t.Errorf("%s %s: exit code %d\n%s", name, how, code, out)
		}
		if _, err := os.Stat(filepath.Join(to.dir, "log.db")); err == nil {
			t.Errorf("%s %s: a log was restored", name, how)
		}
	}
	for i, path := range files {
		raw, err := os.ReadFile(path)
		must(t, err)
		flipped := slices.Clone(raw)
		flipped[(i*7919+len(raw)/3)%len(raw)] ^= 1
		must(t, os.WriteFile(path, flipped, 0o600))
		refused(path, "with another bit")
		if strings.HasSuffix(path, ".seg") {
			must(t, os.Remove(path))
			refused(path, "missing")
		}
		must(t, os.WriteFile(path, raw, 0o600))
	}
	other, _ := filled(t)
	if out, code := emptied(t, other).restore(t, dir, false); code != 3 || !strings.Contains(out, "manifest") {
		t.Errorf("with another key: exit code %d\n%s", code, out)
	}
	if out, code := other.run(t, "backup", dir); code != 3 || !strings.Contains(out, "manifest") {
		t.Errorf("a backup of another log into the folder: exit code %d\n%s", code, out)
	}
	must(t, os.WriteFile(filepath.Join(to.dir, "restore.unfinished"), nil, 0o600)) // as a kill leaves it
	must(t, os.WriteFile(filepath.Join(to.dir, "log.db"), []byte("half"), 0o600))
	if out, code := to.run(t, "up", "--nats-port", "0", "--http-addr", ""); code != 2 || !strings.Contains(out, "a restore was interrupted") {
		t.Errorf("up after an interrupted restore: exit code %d\n%s", code, out)
	}
	if out, code := to.restore(t, dir, false); code != 0 {
		t.Errorf("restore after an interrupted one: exit code %d\n%s", code, out)
	}
}

// TestBackupIsRefused: while another backup is written to the folder, into a folder of other files, and
// of a log that is damaged.
func TestBackupIsRefused(t *testing.T) {
	t.Parallel()
	n, dir := smallBackup(t, t.TempDir())
	lock, err := files.TakeLock(dir, time.Now())
	must(t, err)
	if out, code := n.run(t, "backup", dir); code != 2 || !strings.Contains(out, "writes a backup to") {
		t.Errorf("beside another backup: exit code %d\n%s", code, out)
	}
	must(t, lock.Release())
	if out, code := n.run(t, "backup", n.dir); code != 2 || !strings.Contains(out, "holds other files") {
		t.Errorf("into the data folder: exit code %d\n%s", code, out)
	}
	if out, code := emptied(t, n).run(t, "restore", dir, "--to", n.dir); code != 2 || !strings.Contains(out, "is there already") {
		t.Errorf("restore onto a log: exit code %d\n%s", code, out)
	}
	to := newNode(t)
	if out, code := to.run(t, "restore", dir, "--to", to.dir); code != 2 || !strings.Contains(out, "a backup never holds keys") {
		t.Errorf("restore without keys: exit code %d\n%s", code, out)
	}
	n.alter(t, "UPDATE content SET data = x'00' WHERE id = (SELECT min(id) FROM content)")
	if out, code := n.run(t, "backup", dir); code != 3 || !strings.Contains(out, "does not match its commitment") {
		t.Errorf("of a damaged log: exit code %d\n%s", code, out)
	}
	if out, code := emptied(t, n).restore(t, dir, false); code != 0 {
		t.Errorf("the former backup: exit code %d\n%s", code, out)
	}
}

// TestBackupOnAFullDisk: the former backup stays usable, and the next one goes on from it.
func TestBackupOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk, _ := smallDisk(t, "4m")
	n, dir := smallBackup(t, disk)
	if !n.start(t) {
		t.Fatal("satchel up did not start")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := newRecord().producer(n, 9)
	for range 10 {
		p.batch(ctx)
	}
	free := fill(t, disk)
	for _, args := range [][]string{{"backup", dir}, {"backup", dir, "--since", "last"}} {
		if out, code := n.run(t, args...); code != 1 || !strings.Contains(out, "no space left on device") {
			t.Errorf("%v on a full disk: exit code %d\n%s", args, code, out)
		}
	}
	if out, code := emptied(t, n).restore(t, dir, false); code != 0 {
		t.Errorf("restore of the former backup: exit code %d\n%s", code, out)
	}
	free()
	n.backUp(t, dir, "--since", "last")
	to := emptied(t, n)
	if out, code := to.restore(t, dir, false); code != 0 {
		t.Errorf("restore of the backup after it: exit code %d\n%s", code, out)
	}
}
