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

// pack returns the file. Equal members give equal bytes.
func (m Members) pack() ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		data := m[name]
		h := &zip.FileHeader{Name: name, Method: zip.Store, ModifiedDate: dosDate, CRC32: crc32.ChecksumIEEE(data),
			CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))}
		part, err := w.CreateRaw(h)
		if err == nil {
			_, err = part.Write(data)
		}
		if err != nil {
			return nil, fmt.Errorf("write evidence: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write evidence: %w", err)
	}
	return out.Bytes(), nil
}

// unpack reads a file that pack has written; another one is a *BadError.
func unpack(raw []byte) (Members, error) {
	r, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, &BadError{"the zip", err.Error()}
	}
	m := Members{}
	for _, f := range r.File {
		part, err := f.Open()
		if err != nil {
			return nil, &BadError{f.Name, err.Error()}
		}
		data, err := io.ReadAll(part)
		if err := errors.Join(err, part.Close()); err != nil {
			return nil, &BadError{f.Name, err.Error()}
		}
		m[f.Name] = data
	}
	if again, err := m.pack(); err != nil || !bytes.Equal(again, raw) {
		return nil, &BadError{"the zip", "it is not as Satchel writes it"}
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
