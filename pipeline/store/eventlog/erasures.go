package eventlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/infra/files"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// KeptErasure is an erasure as the list in Config.Erasures has it.
type KeptErasure struct {
	Source     string    `json:"source"`      // of the erasure's event
	ID         string    `json:"id"`          // of the erasure's event
	Items      []string  `json:"items"`       // all that it erased
	Position   int64     `json:"position"`    // of its entry
	Leaf       string    `json:"leaf"`        // hex, of its entry
	RecordedAt time.Time `json:"recorded_at"` // of its entry
}

// KeptErasureOf returns the entry of an erasure of items as the list has it.
func KeptErasureOf(e *Entry, items []string) KeptErasure {
	return KeptErasure{e.Source, e.ID, items, e.Position, hex.EncodeToString(e.Leaf[:]), e.RecordedAt}
}

// LostErasure is a kept erasure that the log does not have.
type LostErasure struct {
	KeptErasure
	FreeID string // the id under which the log can take it again
}

// erasureList is a tenant's file of erasures as it was read.
type erasureList struct {
	kept []KeptErasure
	size int64    // bytes of the whole records
	torn int      // bytes behind them, of a record that was not written to its end
	last [32]byte // SHA-256 of the last whole record
}

// recordLines is how many lines a record of the list has.
const recordLines = 6

func (l *Log) erasuresFile(tenant string) string { return filepath.Join(l.erasures, tenant) }

func erasuresOrigin(tenant string) string { return legacyOrigin + "/" + tenant + "/erasures" }

// KeepErasures adds erasures to the tenant's list, unless the list has them. When it returns nil
// they are on the disk. It returns ErrCorrupt for a damaged list.
func (l *Log) KeepErasures(s scope.Scope, erasures []KeptErasure) error {
	if err := s.Check(); err != nil || l.erasures == "" || len(erasures) == 0 {
		return err
	}
	l.erasuresMu.Lock()
	defer l.erasuresMu.Unlock()
	end, err := l.erasuresEnd(s.Tenant())
	if err != nil {
		return err
	}
	delete(l.erasureEnds, s.Tenant()) // after an error the file is read again
	at := end.size
	var added []byte
	for _, e := range erasures {
		if end.leaves[e.Leaf] {
			continue
		}
		record, err := l.erasureRecord(s.Tenant(), len(end.leaves)+1, end.last, e)
		if err != nil {
			return err
		}
		end.leaves[e.Leaf], end.last = true, sha256.Sum256(record)
		added = append(added, record...)
	}
	if len(added) > 0 {
		if err := appendAt(l.erasuresFile(s.Tenant()), at, added); err != nil {
			return fmt.Errorf("keep erasures of tenant %q: %w", s.Tenant(), err)
		}
	}
	end.size += int64(len(added))
	l.erasureEnds[s.Tenant()] = end
	return nil
}

// erasuresEnd is where the next record of a list goes. A list names no leaf twice.
type erasuresEnd struct {
	size   int64
	last   [32]byte
	leaves map[string]bool
}

// erasuresEnd returns the end of the tenant's list. The caller holds the lock.
func (l *Log) erasuresEnd(tenant string) (erasuresEnd, error) {
	if end, ok := l.erasureEnds[tenant]; ok {
		return end, nil
	}
	list, err := l.readErasures(tenant)
	if err != nil {
		return erasuresEnd{}, err
	}
	end := erasuresEnd{list.size, list.last, make(map[string]bool, len(list.kept))}
	for i := range list.kept {
		end.leaves[list.kept[i].Leaf] = true
	}
	return end, nil
}

// erasureRecord is a signed note of six lines: origin, number, SHA-256 of the record before,
// the erasure as JSON, an empty line, the signature.
func (l *Log) erasureRecord(tenant string, number int, before [32]byte, e KeptErasure) ([]byte, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode kept erasure: %w", err)
	}
	text := fmt.Sprintf("%s\n%d\n%x\n%s\n", erasuresOrigin(tenant), number, before, data)
	record, err := note.Sign(&note.Note{Text: text}, l.signer)
	if err != nil {
		return nil, fmt.Errorf("sign kept erasure: %w", err)
	}
	return record, nil
}

// readErasures reads a tenant's file and checks it: each record names the hash of the one before,
// so that the last one's signature is over all of them.
func (l *Log) readErasures(tenant string) (erasureList, error) {
	var list erasureList
	raw, err := os.ReadFile(l.erasuresFile(tenant))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, fmt.Errorf("read the list of erasures: %w", err)
	}
	bad := func(problem string) error {
		return fmt.Errorf("%w: the list of erasures %s, record %d: %s", ErrCorrupt, l.erasuresFile(tenant), len(list.kept)+1, problem)
	}
	var record []byte
	for rest := raw; len(rest) > 0; {
		end := lineEnd(rest, recordLines)
		if end < 0 {
			list.torn = len(rest)
			break
		}
		record = rest[:end]
		rest = rest[end:]
		e, problem := l.parseErasure(tenant, record, len(list.kept)+1, list.last)
		if problem != "" {
			return erasureList{}, bad(problem)
		}
		list.kept, list.size, list.last = append(list.kept, e), list.size+int64(end), sha256.Sum256(record)
	}
	if record == nil {
		return list, nil
	}
	_, err = note.Open(record, note.VerifierList(l.verifier))
	var unverified *note.UnverifiedNoteError
	switch {
	case errors.As(err, &unverified):
		return erasureList{}, fmt.Errorf("%w %s", ErrOtherKey, l.erasuresFile(tenant))
	case err != nil:
		list.kept = list.kept[:len(list.kept)-1]
		return erasureList{}, bad("its signature does not hold")
	}
	return list, nil
}

// lineEnd returns where the n-th line ends, -1 when there are fewer.
func lineEnd(b []byte, n int) int {
	end := 0
	for range n {
		i := bytes.IndexByte(b[end:], '\n')
		if i < 0 {
			return -1
		}
		end += i + 1
	}
	return end
}

// parseErasure reads a record, or returns its problem. It does not check the signature.
func (l *Log) parseErasure(tenant string, record []byte, number int, before [32]byte) (e KeptErasure, problem string) {
	lines := bytes.Split(record, []byte("\n"))
	switch {
	case string(lines[0]) != erasuresOrigin(tenant):
		return e, "it is not of this list"
	case string(lines[1]) != strconv.Itoa(number):
		return e, "it has another number"
	case string(lines[2]) != hex.EncodeToString(before[:]):
		return e, "it does not follow the one before it"
	case json.Unmarshal(lines[3], &e) != nil || len(lines[4]) > 0:
		return e, "it cannot be read"
	}
	return e, ""
}

// MendErasures cuts off the torn record that an interrupted write left at the end of the tenant's
// list, and returns its bytes. The erasure of such a record has no receipt yet.
func (l *Log) MendErasures(s scope.Scope) (cut int, err error) {
	if err := s.Check(); err != nil || l.erasures == "" {
		return 0, err
	}
	l.erasuresMu.Lock()
	defer l.erasuresMu.Unlock()
	list, err := l.readErasures(s.Tenant())
	if err != nil || list.torn == 0 {
		return 0, err
	}
	if err := appendAt(l.erasuresFile(s.Tenant()), list.size, nil); err != nil {
		return 0, fmt.Errorf("mend the list of erasures of tenant %q: %w", s.Tenant(), err)
	}
	return list.torn, nil
}

// KeptErasures returns the tenant's list. It returns ErrCorrupt for a list that is damaged or that
// ends in a torn record, and ErrOtherKey for one that another key signed.
func (l *Log) KeptErasures(s scope.Scope) ([]KeptErasure, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return l.keptErasures(s.Tenant())
}

// EncodedErasures returns the tenant's list as its file has it, checked, up to the last whole record.
func (l *Log) EncodedErasures(s scope.Scope) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	list, err := l.readErasures(s.Tenant())
	if err != nil || list.size == 0 {
		return nil, err
	}
	raw, err := os.ReadFile(l.erasuresFile(s.Tenant()))
	if err != nil {
		return nil, fmt.Errorf("read the list of erasures: %w", err)
	}
	return raw[:min(list.size, int64(len(raw)))], nil
}

func (l *Log) keptErasures(tenant string) ([]KeptErasure, error) {
	if l.erasures == "" {
		return nil, nil
	}
	var list erasureList
	for range 3 { // another process may be writing
		var err error
		if list, err = l.readErasures(tenant); err != nil {
			return nil, err
		}
		if list.torn == 0 {
			return list.kept, nil
		}
	}
	return nil, fmt.Errorf("%w: the list of erasures %s ends in a torn record behind record %d", ErrCorrupt, l.erasuresFile(tenant), len(list.kept))
}

// LostErasures returns the kept erasures that the log does not have and has not taken again. A log
// that was restored from an older copy lost them.
func (l *Log) LostErasures(ctx context.Context, s scope.Scope) ([]LostErasure, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return l.lostErasures(ctx, s.Tenant())
}

func (l *Log) lostErasures(ctx context.Context, tenant string) ([]LostErasure, error) {
	kept, err := l.keptErasures(tenant)
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	var lost []LostErasure
	for part := range slices.Chunk(kept, verifyStep) {
		there, err := l.hasLeaves(ctx, tenant, part)
		if err != nil {
			return nil, err
		}
		for i := range part {
			if there[i] {
				continue
			}
			id, err := l.freeErasureID(ctx, tenant, &part[i])
			if err != nil {
				return nil, err
			}
			if id != "" {
				lost = append(lost, LostErasure{part[i], id})
			}
		}
	}
	return lost, nil
}

// hasLeaves reports of each erasure whether its entry is in the log.
func (l *Log) hasLeaves(ctx context.Context, tenant string, kept []KeptErasure) ([]bool, error) {
	there := make([]bool, len(kept))
	err := l.driver.View(ctx, func(r Reader) error {
		head, err := headOf(r, tenant)
		if err != nil {
			return err
		}
		var indexes []int64
		var at []int
		for i := range kept {
			if p := kept[i].Position; p >= 1 && p <= head.Size {
				indexes = append(indexes, tlog.StoredHashIndex(0, p-1))
				at = append(at, i)
			}
		}
		if len(indexes) == 0 {
			return nil
		}
		leaves, err := r.Hashes(tenant, indexes)
		if err != nil {
			return err
		}
		for n, i := range at {
			there[i] = hex.EncodeToString(leaves[n][:]) == kept[i].Leaf
		}
		return nil
	})
	return there, err
}

// freeErasureID returns an id under which the log can take a kept erasure again, "" when the log
// has the erasure again. It passes over an id of another event.
func (l *Log) freeErasureID(ctx context.Context, tenant string, kept *KeptErasure) (string, error) {
	for n := 1; ; n++ {
		id := kept.ID
		if n > 1 {
			id += ".again-" + strconv.Itoa(n)
		}
		held, err := l.findEntry(ctx, tenant, kept.Source, id)
		if errors.Is(err, ErrNotFound) {
			return id, nil
		}
		if err != nil {
			return "", err
		}
		var er schemas.MemoryErased
		if held.Type == schemas.TypeMemoryErased && json.Unmarshal(held.Data, &er) == nil && er.Receipt == nil &&
			!slices.ContainsFunc(kept.Items, func(item string) bool { return !slices.Contains(er.Items, item) }) {
			return "", nil
		}
	}
}

// ErasureTenants returns the tenants that have a list of erasures, sorted.
func (l *Log) ErasureTenants() ([]string, error) {
	if l.erasures == "" {
		return nil, nil
	}
	files, err := os.ReadDir(l.erasures)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list kept erasures: %w", err)
	}
	var tenants []string
	for _, f := range files {
		if scope.ValidTenant(f.Name()) && f.Type().IsRegular() {
			tenants = append(tenants, f.Name())
		}
	}
	return tenants, nil
}

// appendAt cuts a file off at an offset and writes data there, durably. After an error the file
// ends at the offset or behind data.
func appendAt(path string, at int64, data []byte) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = f.Truncate(at)
	if err == nil {
		if _, err = f.WriteAt(data, at); err != nil {
			err = errors.Join(err, f.Truncate(at))
		}
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil || at > 0 {
		return err
	}
	return files.SyncFolder(folder)
}
