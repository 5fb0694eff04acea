package memory

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"satchel/pipeline/infra/files"
)

// ErrDamaged is returned for a file that is not as it was written.
var ErrDamaged = errors.New("snapshot is damaged")

// snapshotFolder is where the files of one index are, one a tenant. A file is replaced as a whole,
// begins with its checkpoint, which can be read alone, and ends with the SHA-256 of what
// is before.
type snapshotFolder struct {
	Dir  string // "": there are no files
	Ext  string // of the files' names, with its dot
	Kind string // what the files are read as: those of another kind have no checkpoint here
}

// Prepare makes the folder and removes what a crash left of files half written.
func (f snapshotFolder) Prepare() error {
	if f.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return err
	}
	left, err := filepath.Glob(files.Leftovers(filepath.Join(f.Dir, "*"+f.Ext)))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// Path is where a tenant's file is; the hash in its name tells apart tenants whose names
// differ in case only.
func (f snapshotFolder) Path(tenant string) string {
	sum := sha256.Sum256([]byte(tenant))
	return filepath.Join(f.Dir, tenant+"-"+hex.EncodeToString(sum[:4])+f.Ext)
}

// Drop removes the tenant's file.
func (f snapshotFolder) Drop(tenant string) error {
	if f.Dir == "" {
		return nil
	}
	if err := os.Remove(f.Path(tenant)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return files.SyncFolder(f.Dir)
}

// Write replaces the tenant's file by what encode writes, as of a checkpoint. Unless it is durable, a
// power cut may leave the former file, or one that Read finds damaged.
func (f snapshotFolder) Write(tenant string, checkpoint int64, durable bool, encode func(w *bufio.Writer) error) error {
	write := files.WriteUnsynced
	if durable {
		write = files.Write
	}
	return write(f.Path(tenant), func(file io.Writer) error {
		sum := sha256.New()
		w := bufio.NewWriterSize(io.MultiWriter(file, sum), 1<<18)
		_, err := w.Write(f.makeHeader(tenant, checkpoint))
		if err == nil {
			err = encode(w)
		}
		if err == nil {
			err = w.Flush()
		}
		if err == nil {
			_, err = file.Write(sum.Sum(nil))
		}
		return err
	})
}

// Read gives decode what encode wrote of the tenant's file, and how many bytes that is, and
// reports whether there is one. A file whose sum is another is ErrDamaged, whatever
// decode made of it, unless decode gave another error first: it may know better.
func (f snapshotFolder) Read(tenant string, decode func(r io.Reader, size int64) error) (found bool, err error) {
	if f.Dir == "" {
		return false, nil
	}
	file, err := os.Open(f.Path(tenant))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = errors.Join(readSnapshot(file, decode), file.Close())
	}
	if err != nil {
		return true, fmt.Errorf("read snapshot of tenant %q: %w", tenant, err)
	}
	return true, nil
}

// headerBytes are what is before the content of a file: its checkpoint, and a sum of that,
// the file's kind and its tenant.
const headerBytes = 12

func (f snapshotFolder) makeHeader(tenant string, checkpoint int64) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, headerBytes), uint64(checkpoint))
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(append([]byte(f.Kind+"\x00"+tenant+"\x00"), b...)))
}

// Peek returns the checkpoint of the tenant's file, 0 when there is none, without reading the
// rest. ok is false of a file of another kind, and of one that is damaged there.
func (f snapshotFolder) Peek(tenant string) (checkpoint int64, ok bool) {
	if f.Dir == "" {
		return 0, false
	}
	file, err := os.Open(f.Path(tenant))
	if err != nil {
		return 0, errors.Is(err, fs.ErrNotExist)
	}
	var first [headerBytes]byte
	_, err = io.ReadFull(file, first[:])
	checkpoint = int64(binary.LittleEndian.Uint64(first[:]))
	if errors.Join(err, file.Close()) != nil || !bytes.Equal(first[:], f.makeHeader(tenant, checkpoint)) {
		return 0, false
	}
	return checkpoint, true
}

func readSnapshot(file *os.File, decode func(r io.Reader, size int64) error) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	size := info.Size() - sha256.Size - headerBytes
	if size < 0 {
		return ErrDamaged
	}
	got := sha256.New()
	if _, err := io.CopyN(got, file, headerBytes); err != nil {
		return ErrDamaged
	}
	decoded := decode(io.TeeReader(io.LimitReader(file, size), got), size)
	if decoded != nil && !errors.Is(decoded, ErrDamaged) {
		return decoded
	}
	var want [sha256.Size]byte
	if _, err := io.ReadFull(file, want[:]); err != nil || decoded != nil || [sha256.Size]byte(got.Sum(nil)) != want {
		return ErrDamaged
	}
	return nil
}
