package jetstream_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"satchel/jetstream"
	"satchel/schemas"
	"satchel/worker/transport"
)

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestArtifacts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := jetstream.NewArtifacts(b.js)
	content := bytes.Repeat([]byte("0123456789abcdef"), 40<<10) // several chunks
	for range 2 {                                               // the second time it is there already
		sum, size, err := a.Put(t.Context(), "acme", "ada", bytes.NewReader(content))
		if err != nil || sum != hexSum(content) || size != len(content) {
			t.Fatalf("put: %s, %d, %v", sum, size, err)
		}
	}
	r, err := a.Open(t.Context(), "acme", hexSum(content))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("open: %d bytes, %v", len(got), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for name, at := range map[string][2]string{"another tenant": {"other", hexSum(content)}, "another content": {"acme", hexSum(nil)}, "no hash": {"acme", "../x"}, "no tenant": {"a.b", hexSum(content)}} {
		if _, err := a.Open(t.Context(), at[0], at[1]); !errors.Is(err, transport.ErrNoArtifact) {
			t.Errorf("%s: %v", name, err)
		}
	}
	removed, err := a.Delete(t.Context(), "acme", hexSum(content))
	if err != nil || !removed {
		t.Fatalf("delete: %v, %v", removed, err)
	}
	if _, err := a.Open(t.Context(), "acme", hexSum(content)); !errors.Is(err, transport.ErrNoArtifact) {
		t.Errorf("deleted: %v", err)
	}
	if removed, err := a.Delete(t.Context(), "acme", hexSum(content)); err != nil || removed {
		t.Errorf("deleted twice: %v, %v", removed, err)
	}
	stream, err := b.js.Stream(t.Context(), "OBJ_"+jetstream.ArtifactsBucket)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := stream.Info(t.Context()); err != nil || info.State.Bytes > 4096 {
		t.Errorf("%d bytes are left, %v", info.State.Bytes, err)
	}
}

func TestArtifactsThatBreakOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := jetstream.NewArtifacts(b.js)
	broken := errors.New("broken")
	if _, _, err := a.Put(t.Context(), "acme", "ada", io.MultiReader(bytes.NewReader(make([]byte, 300<<10)), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("broken: %v", err)
	}
	if _, _, err := a.Put(t.Context(), "acme", "ada", bytes.NewReader(nil)); !errors.Is(err, transport.ErrArtifactEmpty) {
		t.Errorf("empty: %v", err)
	}
	if _, _, err := a.Put(t.Context(), "a.b", "ada", bytes.NewReader([]byte("x"))); err == nil {
		t.Error("a tenant that is no token is taken")
	}
}

// TestSweep: what was given up and what nobody claims goes when it is old enough, and
// nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := jetstream.NewArtifacts(b.js)
	put := func(text string) string {
		t.Helper()
		sum, _, err := a.Put(t.Context(), "acme", "ada", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	mine, nobodys := put("somebody's"), put("nobody's")
	store, err := b.js.ObjectStore(t.Context(), jetstream.ArtifactsBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutString(t.Context(), "acme/upload/broken", "half a"); err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		t.Helper()
		list, err := store.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list {
			names = append(names, strings.TrimPrefix(o.Name, "acme/"))
		}
		slices.Sort(names)
		return names
	}
	sweep := func(after time.Duration, want int, still ...string) {
		t.Helper()
		slices.Sort(still)
		got, err := a.Sweep(t.Context(), time.Now().Add(after), func(_ context.Context, tenant, sum string) (bool, error) { return tenant != "acme" || sum == mine, nil })
		if names := left(); err != nil || got != want || !slices.Equal(names, still) {
			t.Errorf("after %s: %d removed, left %v, %v", after, got, names, err)
		}
	}
	sweep(time.Hour, 0, mine, nobodys, "upload/broken")
	sweep(48*time.Hour, 0, mine, nobodys)
	sweep(8*24*time.Hour, 1, mine)
	if _, err := a.Open(t.Context(), "acme", nobodys); !errors.Is(err, transport.ErrNoArtifact) {
		t.Errorf("what was swept: %v", err)
	}
	broken := errors.New("broken")
	if _, err := a.Sweep(t.Context(), time.Now().Add(8*24*time.Hour), func(context.Context, string, string) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("nobody knows: %v", err)
	}
	if names := left(); !slices.Equal(names, []string{mine}) {
		t.Errorf("left %v", names)
	}
}

// TestStoredAgainIsYoung: the same content, stored again while it is about to be swept, stays.
func TestStoredAgainIsYoung(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := jetstream.NewArtifacts(b.js)
	sum, _, err := a.Put(t.Context(), "acme", "ada", strings.NewReader("twice"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := a.Sweep(t.Context(), time.Now().Add(8*24*time.Hour), func(ctx context.Context, tenant, _ string) (bool, error) {
		_, _, err := a.Put(ctx, tenant, "ada", strings.NewReader("twice"))
		return false, err
	})
	if n != 0 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	content, err := a.Open(t.Context(), "acme", sum)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := io.ReadAll(content); string(raw) != "twice" || err != nil {
		t.Errorf("%q, %v", raw, err)
	}
}

func TestRevocations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := jetstream.NewArtifacts(b.js)
	at := time.Date(2026, 3, 3, 10, 0, 0, 7, time.UTC)
	if got, err := a.RevokedAt(t.Context(), "acme", "item x"); err != nil || !got.IsZero() {
		t.Errorf("before: %v, %v", got, err)
	}
	if err := a.Revoke(t.Context(), "acme", "item x", at); err != nil {
		t.Fatal(err)
	}
	if got, err := a.RevokedAt(t.Context(), "acme", "item x"); err != nil || !got.Equal(at) {
		t.Errorf("after: %v, %v", got, err)
	}
	if got, err := a.RevokedAt(t.Context(), "other", "item x"); err != nil || !got.IsZero() {
		t.Errorf("of another tenant: %v, %v", got, err)
	}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, size := range []int{0, 1, 256 << 10, 700_001} {
		content := bytes.Repeat([]byte{'x', 1, 2}, size/3+1)[:size]
		subject, stop, err := jetstream.ServeUpload(b.nc, bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(jetstream.Fetch(t.Context(), b.nc, jetstream.Call{}, subject))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %d came, %v", size, len(got), err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	broken, stop, err := jetstream.ServeUpload(b.nc, iotest.ErrReader(errors.New("broken")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for _, subject := range []string{broken, "_INBOX.nobody", "ctx.v1.acme.request", "_INBOX.>", "_INBOX.*.x", "$JS.API.INFO", ""} {
		if _, err := io.ReadAll(jetstream.Fetch(ctx, b.nc, jetstream.Call{}, subject)); !errors.Is(err, jetstream.ErrUpload) {
			t.Errorf("%q: %v", subject, err)
		}
	}
	if schemas.MaxArtifact < 100<<20 {
		t.Error("a hundred megabytes do not fit")
	}
}
