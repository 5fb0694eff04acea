package evidence

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// BadError names the member of an evidence file that does not hold.
type BadError struct {
	File    string
	Problem string
}

// Error says which member does not hold and why.
func (e *BadError) Error() string {
	return fmt.Sprintf("the evidence does not hold: %s: %s", e.File, e.Problem)
}

// Members are the members of an evidence file by name.
type Members map[string][]byte

// dosDate is 1 January 1980, the first day of a zip.
const dosDate = 1<<5 | 1

// MaxBytes is the size that an evidence file may have. Collect writes no larger one, and Verify reads none.
const MaxBytes = 1 << 30

// ErrTooLarge is returned when evidence would be larger than MaxBytes.
var ErrTooLarge = errors.New("the evidence would be larger than 1 GiB: take fewer packs, or leave their content out")

// pack writes the file. Equal members give equal bytes.
func (m Members) pack(out io.Writer) error {
	w := zip.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		data := m[name]
		h := &zip.FileHeader{Name: name, Method: zip.Store, ModifiedDate: dosDate, CRC32: crc32.ChecksumIEEE(data),
			CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))}
		part, err := w.CreateRaw(h)
		if err == nil {
			_, err = part.Write(data)
		}
		if err != nil {
			return fmt.Errorf("write evidence: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	return nil
}

// file returns the file, of at most so many bytes.
func (m Members) file(most int64) ([]byte, error) {
	out := &limited{most: most}
	if err := m.pack(out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// limited is a buffer that takes at most so many bytes.
type limited struct {
	bytes.Buffer
	most int64
}

// Write fails with ErrTooLarge where the buffer would grow beyond its limit.
func (l *limited) Write(p []byte) (int, error) {
	if int64(l.Len()+len(p)) > l.most {
		return 0, ErrTooLarge
	}
	return l.Buffer.Write(p)
}

// compared fails where what is written differs from want.
type compared struct{ want []byte }

func (c *compared) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(c.want, p) {
		return 0, errOtherBytes
	}
	c.want = c.want[len(p):]
	return len(p), nil
}

var errOtherBytes = errors.New("it is not as Satchel writes it")

// Read returns the bytes of an evidence file; a *BadError for one that is larger than MaxBytes.
func Read(path string) (raw []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err == nil && info.Size() <= MaxBytes {
		raw, err = io.ReadAll(io.LimitReader(file, MaxBytes+1))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read evidence: %w", err)
	case info.Size() > MaxBytes || len(raw) > MaxBytes:
		return nil, &BadError{"the zip", "it is larger than 1 GiB"}
	}
	return raw, nil
}

// unpack reads a file that pack has written; another one is a *BadError. The members lie in raw: nothing
// is inflated or copied.
func unpack(raw []byte) (Members, error) {
	r, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, &BadError{"the zip", err.Error()}
	}
	m := Members{}
	left := uint64(len(raw))
	for _, f := range r.File {
		at, err := f.DataOffset()
		switch {
		case err != nil:
			return nil, &BadError{f.Name, err.Error()}
		case f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64 || f.UncompressedSize64 > left || uint64(at) > uint64(len(raw))-f.UncompressedSize64:
			return nil, &BadError{f.Name, "it is not stored as Satchel stores it"}
		}
		left -= f.UncompressedSize64
		end := at + int64(f.UncompressedSize64)
		m[f.Name] = raw[at:end:end]
	}
	again := &compared{raw}
	if err := m.pack(again); err != nil || len(again.want) > 0 {
		return nil, &BadError{"the zip", errOtherBytes.Error()}
	}
	return m, nil
}

// list returns the manifest's lines of the members.
func (m Members) list() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		sum := sha256.Sum256(m[name])
		fmt.Fprintf(&b, "file %s %d %s\n", hex.EncodeToString(sum[:]), len(m[name]), name)
	}
	return b.String()
}
