package inproc

import (
	"bufio"
	"bytes"
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
	"satchel/pipeline/store/keyword"
)

// ErrDamaged is what Config.OnError is told of a snapshot that cannot be read.
var ErrDamaged = errors.New("keyword snapshot is damaged")

// A snapshot is: magic; the tenant; uvarints of the analysis version and the checkpoint;
// the terms; the facets; the documents (id, position, profile, length, counts as in
// forward), each list with its count before it; SHA-256 of all that. Strings carry
// their length. Terms and profiles are numbered anew, so that only live ones are there.
const magic = "satchel keyword 1\n"

func prepareDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.kw.tmp"))
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
	return filepath.Join(x.cfg.Dir, tenant+"-"+hex.EncodeToString(sum[:4])+".kw")
}

// save writes the snapshot unless the one on disk is current. The caller holds write.
func (r *resident) save(x *Index) error {
	if x.cfg.Dir == "" || r.clean() {
		r.saved = r.changed
		return nil
	}
	if err := r.writeSnapshot(x.path(r.name), r.name); err != nil {
		return fmt.Errorf("write keyword snapshot of tenant %q: %w", r.name, err)
	}
	r.saved, r.durable = r.changed, r.checkpoint
	return nil
}

// clean reports whether nothing has happened since the snapshot.
func (r *resident) clean() bool { return r.durable == r.checkpoint && r.changed == r.saved }

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
func (s *state) writeSnapshot(path, tenant string) (err error) {
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
	err = s.encode(w, tenant)
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
func (s *state) encode(w *bufio.Writer, tenant string) error {
	b := appendString([]byte(magic), tenant)
	b = binary.AppendUvarint(b, keyword.Version)
	b = binary.AppendUvarint(b, uint64(s.checkpoint))
	number := make([]uint32, s.terms.len())
	n := uint32(0)
	for t := range s.postings {
		if s.postings[t].df > 0 {
			number[t] = n
			n++
		}
	}
	b = binary.AppendUvarint(b, uint64(n))
	for t := range s.postings {
		if s.postings[t].df > 0 {
			b = appendString(b, string(s.terms.term(uint32(t))))
		}
	}
	facets := profile.New()
	profiles := make([]uint32, s.facets.Len())
	for p, live := range s.live {
		if live > 0 {
			profiles[p] = facets.Intern(s.facets.Facets(uint32(p)))
		}
	}
	b = facets.AppendTo(b)
	b = binary.AppendUvarint(b, uint64(s.docs))
	if _, err := w.Write(b); err != nil {
		return err
	}
	var counts []count
	for doc, prof := range s.profiles {
		if prof == gone {
			continue
		}
		b = appendString(b[:0], s.ids.ID(uint32(doc)))
		b = binary.AppendVarint(b, s.positions[doc])
		b = binary.AppendUvarint(b, uint64(profiles[prof]))
		b = binary.AppendUvarint(b, uint64(s.lens[doc]))
		counts = s.forward.get(counts[:0], s.refs[doc])
		for i := range counts {
			counts[i].term = number[counts[i].term]
		}
		if _, err := w.Write(appendCounts(b, counts)); err != nil {
			return err
		}
	}
	return nil
}

// readSnapshot returns the tenant's state on disk, an empty one when there is none.
func (x *Index) readSnapshot(tenant string) (*state, error) {
	if x.cfg.Dir == "" {
		return newState(), nil
	}
	raw, err := os.ReadFile(x.path(tenant))
	if errors.Is(err, fs.ErrNotExist) {
		return newState(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read keyword snapshot of tenant %q: %w", tenant, err)
	}
	body := len(raw) - sha256.Size
	if body < 0 {
		return nil, fmt.Errorf("read keyword snapshot of tenant %q: %w", tenant, ErrDamaged)
	}
	if sum := sha256.Sum256(raw[:body]); !bytes.Equal(sum[:], raw[body:]) {
		return nil, fmt.Errorf("read keyword snapshot of tenant %q: %w", tenant, ErrDamaged)
	}
	s, err := decode(raw[:body], tenant)
	if err != nil {
		return nil, fmt.Errorf("read keyword snapshot of tenant %q: %w", tenant, err)
	}
	return s, nil
}
