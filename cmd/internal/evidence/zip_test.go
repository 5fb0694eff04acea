package evidence

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// declared is the size that a member of a bomb has by its own words.
const declared = 64 << 20

// deflated has a member that is inflated to 64 MB.
func deflated(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	part, err := w.Create("manifest")
	must(t, err)
	_, err = io.CopyN(part, zeros{}, declared)
	must(t, err)
	must(t, w.Close())
	return out.Bytes()
}

// untrue has a stored member that declares to be larger when it is read than it is in the file.
func untrue(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	part, err := w.CreateRaw(&zip.FileHeader{Name: "manifest", CompressedSize64: 1, UncompressedSize64: declared})
	must(t, err)
	_, err = part.Write([]byte("x"))
	must(t, err)
	must(t, w.Close())
	return out.Bytes()
}

// overlapping has a thousand members that share the bytes of one.
func overlapping(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	const size, names = 64 << 10, 1000
	part, err := w.CreateRaw(&zip.FileHeader{Name: "m0000", CompressedSize64: size, UncompressedSize64: size})
	must(t, err)
	_, err = part.Write(make([]byte, size))
	must(t, err)
	must(t, w.Close())
	raw := out.Bytes()
	end := bytes.LastIndex(raw, []byte("PK\x05\x06"))
	directory := bytes.LastIndex(raw[:end], []byte("PK\x01\x02"))
	header := bytes.Clone(raw[directory:end])
	all := bytes.Clone(raw[:directory])
	for n := range names {
		copy(header[bytes.Index(header, []byte("m0")):], fmt.Sprintf("m%04d", n))
		all = append(all, header...)
	}
	tail := bytes.Clone(raw[end:])
	for at, n := range map[int]int{8: names, 10: names} {
		tail[at], tail[at+1] = byte(n), byte(n>>8)
	}
	for i := range 4 {
		tail[12+i] = byte(names * len(header) >> (8 * i))
	}
	return append(all, tail...)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestABombIsRefusedUnread: what a member declares is looked at before it is read, so a small file cannot
// fill the memory of who checks it.
func TestABombIsRefusedUnread(t *testing.T) { // not parallel: it measures what is allocated
	python := exec.Command("python3", "-I", "-c", "import hashlib").Run() == nil
	dir := t.TempDir()
	script := filepath.Join(dir, "verify.py")
	must(t, os.WriteFile(script, verifyPy, 0o600))
	for name, raw := range map[string][]byte{"deflated": deflated(t), "untrue": untrue(t), "overlapping": overlapping(t)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Verify(raw, "")
		runtime.ReadMemStats(&after)
		var bad *BadError
		if !errors.As(err, &bad) || !strings.Contains(bad.Problem, "stored") {
			t.Errorf("%s: %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > declared/8 {
			t.Errorf("%s: %d bytes were allocated for a file of %d", name, got, len(raw))
		}
		if !python {
			continue
		}
		file := filepath.Join(dir, name)
		must(t, os.WriteFile(file, raw, 0o600))
		out, err := exec.Command("python3", "-I", "-c", measured, script, file).Output()
		said, kilobytes, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		grown, numberErr := strconv.Atoi(kilobytes)
		if err != nil || numberErr != nil || !strings.Contains(said, "stored") || grown > declared/2>>10 {
			t.Errorf("%s: verify.py: %v %s", name, err, out)
		}
	}
}

// measured runs verify.py and prints why it refuses, and by how many KB the process has grown meanwhile.
const measured = `
import resource, sys
m = {"__name__": "verify"}
exec(compile(open(sys.argv[1]).read(), "verify.py", "exec"), m)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try: m["main"](sys.argv[2], None); print("accepted")
except Exception as e: print(repr(e))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
`

// TestTheLimitHoldsOnBothSides: no file over the limit is written or read.
func TestTheLimitHoldsOnBothSides(t *testing.T) {
	t.Parallel()
	m := Members{"manifest": make([]byte, 1000), "checkpoint": make([]byte, 1000)}
	whole, err := m.file(MaxBytes)
	must(t, err)
	if _, err := m.file(int64(len(whole))); err != nil {
		t.Errorf("of the limit: %v", err)
	}
	if _, err := m.file(int64(len(whole)) - 1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	got, err := unpack(whole)
	if err != nil || len(got) != 2 || len(got["checkpoint"]) != 1000 {
		t.Errorf("%d members, %v", len(got), err)
	}
	path := filepath.Join(t.TempDir(), "e.zip")
	must(t, os.WriteFile(path, whole, 0o600))
	if raw, err := Read(path); err != nil || !bytes.Equal(raw, whole) {
		t.Errorf("read: %d bytes, %v", len(raw), err)
	}
	must(t, os.Truncate(path, MaxBytes+1)) // without blocks on the disk
	var bad *BadError
	if _, err := Read(path); !errors.As(err, &bad) {
		t.Errorf("a file over the limit is read: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
