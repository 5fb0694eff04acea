package sqlite_test

import (
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
)

// Refs that have the same mark are told apart.
func TestEqualMarks(t *testing.T) {
	t.Parallel()
	const one, other = "m-zfr8hibp", "m-amk8rfln"
	table := crc32.MakeTable(crc32.Castagnoli)
	if crc32.Checksum([]byte(one), table) != crc32.Checksum([]byte(other), table) {
		t.Fatal("they have not the same mark")
	}
	l, s := openLog(t, filepath.Join(t.TempDir(), "log.db")), system(t, "acme")
	if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{pack("acme", "p1", "one", one), pack("acme", "p2", "two", other)}}); err != nil {
		t.Fatal(err)
	}
	for item, want := range map[string][]int64{one: {1}, other: {2}} {
		if got, err := l.Referring(t.Context(), s, []string{item}); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s stands in %v, want %v (%v)", item, got, want, err)
		}
	}
}

// Of many packs and items exactly those are found that refer to the items.
func TestReferringAmongMany(t *testing.T) {
	t.Parallel()
	l := openLog(t, filepath.Join(t.TempDir(), "log.db"))
	want := map[string][]int64{}
	var batch []eventlog.Draft
	for i := range 300 {
		tenant, refs := "acme", []string{}
		for j := range i % 7 {
			refs = append(refs, fmt.Sprintf("m-%d", (i*j*j+i)%211))
		}
		if i%3 == 0 {
			tenant = "globex"
		}
		slices.Sort(refs)
		batch = append(batch, pack(tenant, fmt.Sprint(i), fmt.Sprint("rendered ", i), slices.Compact(refs)...))
	}
	out, err := l.Append(t.Context(), eventlog.Batch{Drafts: batch})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range batch {
		for _, item := range d.Attachment.Refs() {
			want[d.Tenant+item] = append(want[d.Tenant+item], out[i].Position)
		}
	}
	for _, tenant := range []string{"acme", "globex"} {
		for i := range 212 {
			item := fmt.Sprintf("m-%d", i)
			if got, err := l.Referring(t.Context(), system(t, tenant), []string{item}); err != nil || cmp.Diff(want[tenant+item], got) != "" {
				t.Fatalf("%s of %s stands in %v, want %v (%v)", item, tenant, got, want[tenant+item], err)
			}
		}
	}
}

// An attachment whose refs are damaged may show the item, so an erasure is told of it.
func TestReferringNamesDamagedAttachments(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"zeroed":  "UPDATE content SET head = zeroblob(length(head)) WHERE id = (SELECT attached FROM entries WHERE id = ?)",
		"empty":   "UPDATE content SET head = x'' WHERE id = (SELECT attached FROM entries WHERE id = ?)",
		"altered": "UPDATE content SET head = CAST(replace(CAST(head AS TEXT), 'm-1', 'm-7') AS BLOB) WHERE id = (SELECT attached FROM entries WHERE id = ?)",
		"gone":    "DELETE FROM content WHERE id = (SELECT attached FROM entries WHERE id = ?)",
	} {
		path := filepath.Join(t.TempDir(), "log.db")
		seed(t, path)
		db := raw(t, path)
		done, err := db.Exec(damage, 1<<40|151)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := done.RowsAffected(); n != 1 || err != nil {
			t.Fatalf("%s: %d rows were damaged: %v", name, n, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := openLog(t, path).Referring(t.Context(), system(t, "acme"), []string{"m-1"})
		if err != nil || !slices.Contains(got, 151) {
			t.Errorf("%s: m-1 stands in %v (%v), want 151 among them", name, got, err)
		}
	}
}

// A log of another version is refused, and left as it is.
func TestLogOtherVersionsAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	seed(t, path)
	for _, version := range []int{1, 3, 5} {
		db := raw(t, path)
		if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
			t.Fatal(err)
		}
		opened, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: path})
		if err == nil {
			t.Error(opened.Close())
		}
		if want := fmt.Sprintf("it has schema version %d, this program reads 4 only", version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %d: %v, want %q", version, err, want)
		}
		var still int
		if err := db.QueryRow("PRAGMA user_version").Scan(&still); err != nil || still != version {
			t.Errorf("it has version %d now, not %d, %v", still, version, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Whoever opens a new log at the same time can write to it.
func TestANewLogIsOpenedByMany(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	var wait sync.WaitGroup
	for i := range 6 {
		wait.Go(func() {
			db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: path})
			if err != nil {
				t.Errorf("open %d: %v", i, err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	l := openLog(t, path)
	if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: []eventlog.Draft{pack("acme", "p9", "rendered", "m-9")}}); err != nil {
		t.Error(err)
	}
}
