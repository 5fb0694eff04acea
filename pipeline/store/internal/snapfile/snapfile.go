// Package snapfile keeps a file a tenant in a folder. A file is replaced as a whole and
// ends with the SHA-256 of what stands before; what a crash cut short is never read.
// Drivers may import it.
package snapfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrDamaged is returned for a file that is not as it was written.
var ErrDamaged = errors.New("snapshot is damaged")

// Folder is where the files of one index are.
type Folder struct {
	Dir string // "": there are no files
	Ext string // of the files' names, with its dot
}

// Prepare makes the folder and removes what a crash left of files half written.
func (f Folder) Prepare() error {
	if f.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(f.Dir, "*"+f.Ext+".tmp"))
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
func (f Folder) Path(tenant string) string {
	sum := sha256.Sum256([]byte(tenant))
	return filepath.Join(f.Dir, tenant+"-"+hex.EncodeToString(sum[:4])+f.Ext)
}

// Drop removes the tenant's file.
func (f Folder) Drop(tenant string) error {
	if f.Dir == "" {
		return nil
	}
	if err := os.Remove(f.Path(tenant)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(f.Dir)
}

// Write replaces the tenant's file by what encode writes.
func (f Folder) Write(tenant string, encode func(w *bufio.Writer) error) (err error) {
	path := f.Path(tenant)
	tmp := path + ".tmp"
	file, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp))
		}
	}()
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(file, sum), 1<<18)
	if err = encode(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		_, err = file.Write(sum.Sum(nil))
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(f.Dir)
}

// Read gives decode the tenant's file without its sum, and how many bytes that is, and
// reports whether there is one. A file whose sum is another is ErrDamaged, whatever
// decode made of it, unless decode gave another error first: it may know better.
func (f Folder) Read(tenant string, decode func(r io.Reader, size int64) error) (found bool, err error) {
	if f.Dir == "" {
		return false, nil
	}
	file, err := os.Open(f.Path(tenant))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = errors.Join(read(file, decode), file.Close())
	}
	if err != nil {
		return true, fmt.Errorf("read snapshot of tenant %q: %w", tenant, err)
	}
	return true, nil
}

func read(file *os.File, decode func(r io.Reader, size int64) error) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	size := info.Size() - sha256.Size
	if size < 0 {
		return ErrDamaged
	}
	got := sha256.New()
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

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
