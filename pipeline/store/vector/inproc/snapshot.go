package inproc

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"satchel/pipeline/store/internal/profile"
)

// ErrDamaged is what Config.OnError is told of a snapshot that cannot be read.
var ErrDamaged = errors.New("vector snapshot is damaged")

// errForeign says that a snapshot holds vectors of another model or dimension.
var errForeign = errors.New("vector snapshot is of another model")

// A snapshot is: magic; the tenant; the model; uvarints of the dimension and the
// checkpoint; the axes' names; the facets with their length before them; the items (id,
// position, profile, chunks: axis, start, length, numbers), each list with its count
// before it; SHA-256 of all that. Strings carry their length. Profiles are numbered anew,
// so that only live ones are there.
const magic = "satchel vector 1\n"

func prepareDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.vec.tmp"))
	if err != nil {
		return err
	}
	for _, path := range left { // a write that a crash cut short
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// path names a tenant's snapshot; the hash tells apart names that differ in case only.
func (x *Index) path(tenant string) string {
	sum := sha256.Sum256([]byte(tenant))
	return filepath.Join(x.cfg.Dir, tenant+"-"+hex.EncodeToString(sum[:4])+".vec")
}

// save writes the snapshot unless the one on disk is current. The caller holds write.
func (r *resident) save(x *Index) error {
	if x.cfg.Dir == "" || r.clean() {
		r.saved = r.changed
		return nil
	}
	if err := r.writeSnapshot(x.path(r.name), x.cfg.header(r.name), x.cfg.Dimensions); err != nil {
		return fmt.Errorf("write vector snapshot of tenant %q: %w", r.name, err)
	}
	r.saved, r.durable, r.foreign = r.changed, r.checkpoint, false
	return nil
}

// clean reports whether nothing has happened since the snapshot.
func (r *resident) clean() bool {
	return r.durable == r.checkpoint && r.changed == r.saved && !r.foreign
}

// header is what a snapshot of this index begins with, as far as the model.
func (c *Config) header(tenant string) []byte {
	b := appendString(appendString([]byte(magic), tenant), c.Model)
	return binary.AppendUvarint(b, uint64(c.Dimensions))
}

func (x *Index) dropSnapshot(tenant string) error {
	if x.cfg.Dir == "" {
		return nil
	}
	if err := os.Remove(x.path(tenant)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(x.cfg.Dir)
}

// writeSnapshot writes beside path and renames, so that path is always whole.
func (s *state) writeSnapshot(path string, header []byte, dims int) (err error) {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp))
		}
	}()
	h := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, h), 1<<18)
	if _, err = w.Write(header); err == nil {
		err = s.encode(w, dims)
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		_, err = f.Write(h.Sum(nil))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// encode writes the live part of s.
func (s *state) encode(w *bufio.Writer, dims int) error {
	b := binary.AppendUvarint(nil, uint64(s.checkpoint))
	b = binary.AppendUvarint(b, uint64(len(s.axes)))
	number := make(map[string]uint64, len(s.axes))
	for i := range s.axes {
		number[s.axes[i].name] = uint64(i)
		b = appendString(b, s.axes[i].name)
	}
	facets := profile.New()
	profiles := make([]uint32, s.facets.Len())
	for p, live := range s.live {
		if live > 0 {
			profiles[p] = facets.Intern(s.facets.Facets(uint32(p)))
		}
	}
	b = appendString(b, string(facets.AppendTo(nil)))
	b = binary.AppendUvarint(b, uint64(s.docs))
	if _, err := w.Write(b); err != nil {
		return err
	}
	var chunks []chunk
	rows := s.walk()
	for ord := range uint32(s.ids.Len()) {
		prof := s.profile(ord)
		if prof == gone {
			continue
		}
		chunks = rows.of(chunks[:0], ord)
		b = appendString(b[:0], s.ids.ID(ord))
		b = binary.AppendUvarint(b, uint64(s.items[ord/pageSize].positions[ord%pageSize].int64()))
		b = binary.AppendUvarint(b, uint64(profiles[prof]))
		b = binary.AppendUvarint(b, uint64(len(chunks)))
		for _, c := range chunks {
			b = binary.AppendUvarint(b, number[c.axis])
			b = binary.AppendUvarint(b, uint64(c.start))
			b = binary.AppendUvarint(b, uint64(c.end-c.start))
			b = append(b, asBytes(c.row[:dims])...)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
