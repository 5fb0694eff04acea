package cache

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"satchel/pipeline/infra/sqlitefile"
	"satchel/pipeline/model"
)

// touchAfter is how old a row's time of last use may be before a hit renews it.
const touchAfter = time.Hour

// readAtOnce bounds the keys of one query.
const readAtOnce = 500

// rowBytes is about what a row takes beside its vector.
const rowBytes = 96

const tables = `
CREATE TABLE IF NOT EXISTS models (num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS vectors (
	model  INTEGER NOT NULL,
	hash   BLOB NOT NULL,
	made   INTEGER NOT NULL,
	used   INTEGER NOT NULL,
	vector BLOB NOT NULL,
	UNIQUE (model, hash)
);
CREATE INDEX IF NOT EXISTS by_use ON vectors (used);
`

// file keeps vectors of any number of models, and serves those of one. Times are Unix
// seconds, numbers little-endian float32.
type file struct {
	db         *sql.DB
	model      int64
	dimensions int
	limit      int64
	readOnly   bool

	mu             sync.Mutex // one writer
	entries, bytes int64
}

// openFile opens the file; one that is damaged is replaced, or not used when it is read only.
func openFile(ctx context.Context, cfg Config, model model.EmbeddingModel) (*file, error) {
	path := cfg.Path
	f, err := tryFile(ctx, path, model, cfg.MaxBytes)
	if err == nil {
		f.readOnly = cfg.ReadOnly
	}
	if err == nil || ctx.Err() != nil {
		return f, err
	}
	if cfg.ReadOnly {
		cfg.OnError(fmt.Errorf("the embedding cache %s cannot be read: %w", path, err))
		return nil, nil
	}
	cfg.OnError(fmt.Errorf("the embedding cache %s cannot be read and is made anew: %w", path, err))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return tryFile(ctx, path, model, cfg.MaxBytes)
}

func tryFile(ctx context.Context, path string, model model.EmbeddingModel, limit int64) (*file, error) {
	if err := sqlitefile.Create(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", sqlitefile.DSN(path, "_txlock=immediate"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	f := &file{db: db, dimensions: model.Dimensions, limit: limit}
	if _, err = db.ExecContext(ctx, tables); err == nil {
		_, err = db.ExecContext(ctx, "INSERT OR IGNORE INTO models (name) VALUES (?)", model.String())
	}
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT num FROM models WHERE name = ?", model.String()).Scan(&f.model)
	}
	if err == nil {
		err = f.countEntries(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return f, nil
}

func (f *file) countEntries(ctx context.Context) error {
	return f.db.QueryRowContext(ctx, "SELECT count(*), ifnull(sum(length(vector)), 0) + count(*) * ? FROM vectors", rowBytes).Scan(&f.entries, &f.bytes)
}

func (f *file) closeFile() error { return f.db.Close() }

func (f *file) measureSize() (entries, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.entries, f.bytes
}

// readEntries returns what is there of keys and notes, unless it is read only, that it was used.
func (f *file) readEntries(ctx context.Context, keys []key, now time.Time) (map[key]entry, error) {
	found := make(map[key]entry, len(keys))
	var stale []any
	for len(keys) > 0 {
		n := min(len(keys), readAtOnce)
		args := make([]any, 0, n+1)
		args = append(args, f.model)
		for _, k := range keys[:n] {
			args = append(args, k[:])
		}
		keys = keys[n:]
		rows, err := f.db.QueryContext(ctx, "SELECT rowid, hash, made, used, vector FROM vectors WHERE model = ? AND hash IN (?"+strings.Repeat(",?", n-1)+")", args...)
		if err != nil {
			return found, fmt.Errorf("read embedding cache: %w", err)
		}
		for rows.Next() {
			var id, made, used int64
			var hash, raw []byte
			if err := rows.Scan(&id, &hash, &made, &used, &raw); err != nil {
				return found, errors.Join(fmt.Errorf("read embedding cache: %w", err), rows.Close())
			}
			if v, ok := decodeVector(raw, f.dimensions); ok && len(hash) == len(key{}) {
				found[key(hash)] = entry{vector: v, made: time.Unix(made, 0)}
				if now.Sub(time.Unix(used, 0)) > touchAfter {
					stale = append(stale, id)
				}
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return found, fmt.Errorf("read embedding cache: %w", err)
		}
	}
	if f.readOnly {
		return found, nil
	}
	return found, f.renewLastUse(ctx, stale, now)
}

// renewLastUse renews the time of last use of rows.
func (f *file) renewLastUse(ctx context.Context, ids []any, now time.Time) error {
	for len(ids) > 0 {
		n := min(len(ids), readAtOnce)
		f.mu.Lock()
		_, err := f.db.ExecContext(ctx, "UPDATE vectors SET used = ? WHERE rowid IN (?"+strings.Repeat(",?", n-1)+")", append([]any{now.Unix()}, ids[:n]...)...)
		f.mu.Unlock()
		if err != nil {
			return fmt.Errorf("note use of the embedding cache: %w", err)
		}
		ids = ids[n:]
	}
	return nil
}

// writeEntries adds entries and makes room for them.
func (f *file) writeEntries(ctx context.Context, entries map[key]entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write embedding cache: %w", err)
	}
	added := int64(0)
	for k, e := range entries {
		res, err := tx.ExecContext(ctx, "INSERT INTO vectors (model, hash, made, used, vector) VALUES (?, ?, ?, ?, ?) "+
			"ON CONFLICT (model, hash) DO UPDATE SET made = excluded.made, used = excluded.used, vector = excluded.vector WHERE made < excluded.made",
			f.model, k[:], e.made.Unix(), e.made.Unix(), encodeVector(e.vector))
		if err != nil {
			return errors.Join(fmt.Errorf("write embedding cache: %w", err), tx.Rollback())
		}
		if n, err := res.RowsAffected(); err == nil {
			added += n
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write embedding cache: %w", err)
	}
	f.entries = f.entries + added
	f.bytes = f.bytes + added*int64(4*f.dimensions+rowBytes)
	if f.bytes <= f.limit {
		return nil
	}
	return f.shrinkFile(ctx)
}

// shrinkFile removes what was used longest ago until a tenth of the limit is free.
func (f *file) shrinkFile(ctx context.Context) error {
	if err := f.countEntries(ctx); err != nil { // replaced rows were counted twice
		return fmt.Errorf("shrink embedding cache: %w", err)
	}
	if f.bytes <= f.limit || f.entries == 0 {
		return nil
	}
	each := f.bytes / f.entries
	n := max(1, (f.bytes-f.limit/10*9)/max(1, each))
	if _, err := f.db.ExecContext(ctx, "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used LIMIT ?)", n); err != nil {
		return fmt.Errorf("shrink embedding cache: %w", err)
	}
	return f.countEntries(ctx)
}

// expireEntries removes what was made before a time.
func (f *file) expireEntries(ctx context.Context, before time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.db.ExecContext(ctx, "DELETE FROM vectors WHERE made <= ?", before.Unix()); err != nil {
		return fmt.Errorf("expire embedding cache: %w", err)
	}
	return f.countEntries(ctx)
}

// scrubFile removes everything, from the write-ahead log as well.
func (f *file) scrubFile(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.db.ExecContext(ctx, "DELETE FROM vectors"); err != nil {
		return fmt.Errorf("scrub embedding cache: %w", err)
	}
	if err := sqlitefile.Empty(ctx, f.db); err != nil {
		return fmt.Errorf("scrub embedding cache: %w", err)
	}
	return f.countEntries(ctx)
}

func encodeVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// decodeVector refuses what is not dimensions finite numbers.
func decodeVector(raw []byte, dimensions int) ([]float32, bool) {
	if len(raw) != 4*dimensions {
		return nil, false
	}
	v := make([]float32, dimensions)
	for i := range v {
		x := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, false
		}
		v[i] = x
	}
	return v, true
}
