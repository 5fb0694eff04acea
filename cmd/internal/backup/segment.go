package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"satchel/pipeline/infra/files"
	"satchel/pipeline/store/eventlog"
)

// The limits of a segment: what it holds at most when it is cut.
const (
	segmentRows  = 10_000
	segmentBytes = 32 << 20
)

// maxField is the longest field that is read.
const maxField = 1 << 30

const segmentSuffix = ".seg"

// segment is a file of entries.
type segment struct {
	File
	from, to int64
}

// segmentOf reads from and to off a file's path; false for another tenant's, and for what is no segment.
func segmentOf(tenant string, f File) (segment, bool) {
	name, in := strings.CutPrefix(f.Path, "log/"+tenant+"/")
	name, is := strings.CutSuffix(name, segmentSuffix)
	parts := strings.Split(name, "-")
	if !in || !is || len(parts) != 3 {
		return segment{}, false
	}
	from, err := strconv.ParseInt(parts[0], 10, 64)
	to, toErr := strconv.ParseInt(parts[1], 10, 64)
	return segment{f, from, to}, err == nil && toErr == nil
}

// segmentWriter writes entries of a tenant into segments.
type segmentWriter struct {
	root, tenant string
	limit        int64 // rows a segment
	done         []segment

	file     *os.File // nil: no segment is open
	sum      hash.Hash
	out      *zstd.Encoder
	from, to int64
	erased   int
	bytes    int64 // not compressed
	buf      []byte
}

// add writes rows, which continue those before or leave a gap between two segments.
func (w *segmentWriter) add(rows []eventlog.Row) error {
	for i := range rows {
		row := &rows[i]
		if w.file != nil && row.Position != w.to+1 {
			if err := w.cut(); err != nil {
				return err
			}
		}
		if w.file == nil {
			if err := w.open(row.Position); err != nil {
				return err
			}
		}
		w.buf = appendRow(w.buf[:0], w.tenant, row)
		if _, err := w.out.Write(w.buf); err != nil {
			return fmt.Errorf("write segment: %w", err)
		}
		w.to = row.Position
		w.bytes = w.bytes + int64(len(w.buf))
		if lacks(row) {
			w.erased++
		}
		if w.to-w.from+1 >= w.limit || w.bytes >= segmentBytes {
			if err := w.cut(); err != nil {
				return err
			}
		}
	}
	return nil
}

// lacks reports whether content or attachment of an entry were erased.
func lacks(row *eventlog.Row) bool {
	return row.Content == nil || row.Attachment != ([32]byte{}) && row.Attached == nil
}

func (w *segmentWriter) folder() string { return filepath.Join(w.root, "log", w.tenant) }

func (w *segmentWriter) open(from int64) error {
	if err := os.MkdirAll(w.folder(), 0o700); err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	file, err := os.CreateTemp(w.folder(), "segment-*.tmp")
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	w.file, w.sum, w.from, w.to, w.erased, w.bytes = file, sha256.New(), from, from-1, 0, 0
	w.out, err = zstd.NewWriter(io.MultiWriter(file, w.sum), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	return nil
}

// cut ends the segment that is open, if one is, and gives it its name.
func (w *segmentWriter) cut() error {
	if w.file == nil {
		return nil
	}
	file := w.file
	w.file = nil
	info, err := file.Stat()
	if err == nil {
		err = w.out.Close()
	}
	if err == nil {
		info, err = file.Stat()
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("write segment: %w", err), os.Remove(file.Name()))
	}
	sum := hex.EncodeToString(w.sum.Sum(nil))
	name := fmt.Sprintf("%d-%d-%s%s", w.from, w.to, sum[:16], segmentSuffix)
	if err := os.Rename(file.Name(), filepath.Join(w.folder(), name)); err != nil {
		return fmt.Errorf("write segment: %w", err)
	}
	if err := files.SyncFolder(w.folder()); err != nil {
		return fmt.Errorf("write segment: %w", err)
	}
	f := File{Path: "log/" + w.tenant + "/" + name, Size: info.Size(), SHA256: sum, Erased: w.erased}
	w.done = append(w.done, segment{f, w.from, w.to})
	return nil
}

// drop gives up the segment that is open.
func (w *segmentWriter) drop() error {
	if w.file == nil {
		return nil
	}
	file := w.file
	w.file = nil
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// appendRow appends an entry's fields, see the package comment.
func appendRow(b []byte, tenant string, row *eventlog.Row) []byte {
	b = appendField(b, "leaf", row.Preimage(tenant))
	if c := row.Content; c != nil {
		b = appendField(b, "salt", c.Salt[:])
		b = appendField(b, "extensions", c.Extensions)
		b = appendField(b, "data", c.Data)
	}
	if a := row.Attached; a != nil {
		b = appendField(b, "attachment_salt", a.Salt[:])
		b = appendField(b, "refs", eventlog.CanonicalRefs(a.Refs))
		b = appendField(b, "attachment", a.Data)
	}
	return b
}

func appendField(b []byte, name string, value []byte) []byte {
	b = append(b, name...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(value)), 10)
	b = append(b, ' ')
	b = append(b, value...)
	return append(b, '\n')
}

// rowReader reads entries out of a segment.
type rowReader struct {
	in     *bufio.Reader
	tenant string
	name   string // of the field that was read last, "" at the end
	value  []byte
}

// newRowReader returns a reader of a tenant's entries. It MUST be used until it returns io.EOF, or
// an error.
func newRowReader(r io.Reader, tenant string) (*rowReader, error) {
	rr := &rowReader{in: bufio.NewReaderSize(r, 1<<16), tenant: tenant}
	return rr, rr.next()
}

// next reads a field.
func (r *rowReader) next() error {
	name, err := r.in.ReadString(' ')
	if errors.Is(err, io.EOF) && name == "" {
		r.name = ""
		return nil
	}
	size, sizeErr := r.in.ReadString(' ')
	length, numErr := strconv.Atoi(strings.TrimSuffix(size, " "))
	if err := errors.Join(err, sizeErr, numErr); err != nil || length < 0 || length > maxField {
		return fmt.Errorf("read segment: no field begins here: %w", err)
	}
	var value bytes.Buffer // grows with what is there, not with what a damaged length says
	if n, err := io.CopyN(&value, r.in, int64(length)+1); err != nil {
		return fmt.Errorf("read segment: a field of %d bytes ends after %d: %w", length, n, err)
	}
	r.name, r.value = strings.TrimSuffix(name, " "), value.Bytes()[:length]
	if value.Bytes()[length] != '\n' {
		return errors.New("read segment: a field does not end where it says")
	}
	return nil
}

// take returns the value of the field, which must have the name, and reads the next one.
func (r *rowReader) take(name string) ([]byte, error) {
	if r.name != name {
		return nil, fmt.Errorf("read segment: field %.20q instead of %q", r.name, name)
	}
	value := r.value
	return value, r.next()
}

// row returns the next entry, io.EOF at the end.
func (r *rowReader) row() (eventlog.Row, error) {
	if r.name == "" {
		return eventlog.Row{}, io.EOF
	}
	leaf, err := r.take("leaf")
	if err != nil {
		return eventlog.Row{}, err
	}
	row, err := eventlog.ParsePreimage(r.tenant, leaf)
	if err != nil {
		return row, fmt.Errorf("read segment: %w", err)
	}
	if r.name == "salt" {
		c := &eventlog.Content{}
		if c.Salt, c.Extensions, c.Data, err = r.opening("salt", "extensions", "data"); err != nil {
			return row, err
		}
		row.Content = c
	}
	if r.name == "attachment_salt" {
		a := &eventlog.Attachment{}
		var refs []byte
		if a.Salt, refs, a.Data, err = r.opening("attachment_salt", "refs", "attachment"); err == nil {
			a.Refs, err = eventlog.ParseRefs(refs)
		}
		if err != nil {
			return row, err
		}
		row.Attached = a
	}
	return row, nil
}

// opening reads the three fields that open a commitment.
func (r *rowReader) opening(saltName, headName, dataName string) (salt [32]byte, head, data []byte, err error) {
	raw, err := r.take(saltName)
	if err == nil {
		head, err = r.take(headName)
	}
	if err == nil {
		data, err = r.take(dataName)
	}
	if err == nil && len(raw) != len(salt) {
		err = errors.New("read segment: a salt has another length")
	}
	copy(salt[:], raw)
	return salt, head, data, err
}
