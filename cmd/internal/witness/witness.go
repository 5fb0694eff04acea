package witness

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"satchel/pipeline/infra/sqlitefile"
)

// Config is what a witness is made of. Path, Key and Logs are required.
type Config struct {
	Path string // the database; its folder must exist
	Key  string // signer key, as note.GenerateKey makes it
	Logs string // file of the logs whose heads are cosigned: a line each, log VKEY
	// Unread is told that the file of logs changed and cannot be read; the former list holds. nil: nobody is.
	Unread func(error)
	// Failpoint is called with the name of each point at which a crash is worth trying; nil: none is.
	Failpoint func(point string)
}

// Witness cosigns heads. Make one with Open. It is safe for concurrent use.
type Witness struct {
	db     *sql.DB
	signer note.Signer
	logs   *logs
	hit    func(point string)
}

// table has the newest head of each log.
const table = `CREATE TABLE IF NOT EXISTS heads (
	origin TEXT PRIMARY KEY,
	size   INTEGER NOT NULL,
	root   BLOB NOT NULL
) STRICT, WITHOUT ROWID`

// Open opens a witness, and makes its database when there is none. The caller must Close it.
func Open(ctx context.Context, cfg Config) (*Witness, error) {
	signer, err := cosign.NewSignerForCosignatureV1(cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("read witness key: %w", err)
	}
	list, err := openLogs(cfg.Logs, cfg.Unread)
	if err != nil {
		return nil, err
	}
	if err := sqlitefile.Create(cfg.Path); err != nil {
		return nil, fmt.Errorf("open witness database: %w", err)
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: cfg.Path}).EscapedPath()}
	// A cosignature must not outlive the head that it is for: a commit is on the disk (FULL).
	const options = "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	db, err := sql.Open("sqlite", u.String()+options)
	if err != nil {
		return nil, fmt.Errorf("open witness database: %w", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, table); err != nil {
		return nil, errors.Join(fmt.Errorf("open witness database: %w", err), db.Close())
	}
	w := &Witness{db: db, signer: signer, logs: list, hit: cfg.Failpoint}
	if w.hit == nil {
		w.hit = func(string) {}
	}
	return w, nil
}

// Close closes the database.
func (w *Witness) Close() error { return w.db.Close() }

// Refusal is why a head is not cosigned.
type Refusal struct {
	Status  int // of HTTP, as tlog-witness says
	Message string
	Known   int64 // with StatusConflict: the size that the witness cosigned last
}

// Error says why.
func (r *Refusal) Error() string { return r.Message }

// Add takes the body of an add-checkpoint and returns the cosignature, as a line of a note. A head that
// is not cosigned is a *Refusal.
func (w *Witness) Add(ctx context.Context, body []byte) ([]byte, error) {
	req, err := parse(body)
	if err != nil {
		return nil, &Refusal{Status: http.StatusBadRequest, Message: err.Error()}
	}
	key := w.logs.find(req.origin)
	if key == nil {
		return nil, &Refusal{Status: http.StatusNotFound, Message: "this witness does not know the log"}
	}
	n, err := note.Open(req.note, note.VerifierList(key))
	if err != nil {
		return nil, &Refusal{Status: http.StatusForbidden, Message: "the log's key did not sign this head"}
	}
	h, err := parseHead(n.Text)
	if err != nil {
		return nil, &Refusal{Status: http.StatusBadRequest, Message: err.Error()}
	}
	if req.old > h.size {
		return nil, &Refusal{Status: http.StatusBadRequest, Message: "the old size is larger than the head's"}
	}
	if err := w.store(ctx, req, h); err != nil {
		return nil, err
	}
	w.hit("witness.stored")
	signed, err := note.Sign(&note.Note{Text: n.Text}, w.signer)
	if err != nil {
		return nil, fmt.Errorf("cosign head: %w", err)
	}
	return bytes.TrimPrefix(signed, []byte(n.Text+"\n")), nil
}

// store makes h the newest head of its log, if it continues the one that is, in one transaction.
func (w *Witness) store(ctx context.Context, req request, h head) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store head: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	known := head{origin: h.origin}
	var root []byte
	err = tx.QueryRowContext(ctx, `SELECT size, root FROM heads WHERE origin = ?`, h.origin).Scan(&known.size, &root)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read head: %w", err)
	}
	copy(known.root[:], root)
	if refused := continues(req, known, h); refused != nil {
		return refused
	}
	if err == nil && h == known { // it is there
		return nil
	}
	w.hit("witness.checked")
	const upsert = `INSERT INTO heads (origin, size, root) VALUES (?, ?, ?)
		ON CONFLICT (origin) DO UPDATE SET size = excluded.size, root = excluded.root`
	if _, err := tx.ExecContext(ctx, upsert, h.origin, h.size, h.root[:]); err != nil {
		return fmt.Errorf("store head: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("store head: %w", err)
	}
	return nil
}

// continues returns nil if h continues the head known by the proof in req. Known has size 0 where no head
// was cosigned.
func continues(req request, known, h head) error {
	conflict := &Refusal{Status: http.StatusConflict, Message: "another head was cosigned", Known: known.size}
	proof := &Refusal{Status: http.StatusUnprocessableEntity, Message: "the proof does not lead from the head before to this one"}
	switch {
	case req.old != known.size:
		return conflict
	case h.size == known.size && known.size > 0:
		if h.root != known.root {
			return conflict
		}
		if len(req.proof) > 0 {
			return proof
		}
		return nil
	case known.size == 0:
		if len(req.proof) > 0 || h.size == 0 && h.root != emptyRoot() {
			return proof
		}
		return nil
	}
	if tlog.CheckTree(req.proof, h.size, h.root, known.size, known.root) != nil {
		return proof
	}
	return nil
}

// Handler serves add-checkpoint.
func (w *Witness) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /add-checkpoint", w.serve)
	mux.HandleFunc("GET /healthz", func(out http.ResponseWriter, _ *http.Request) { fmt.Fprintln(out, "ok") })
	return mux
}

// storeLimit is how long a head may take to be stored, whoever waits for it.
const storeLimit = 10 * time.Second

func (w *Witness) serve(out http.ResponseWriter, r *http.Request) {
	body, err := readBody(out, r)
	if err != nil {
		http.Error(out, "the body could not be read, or is too large", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeLimit)
	defer cancel()
	line, err := w.Add(ctx, body)
	var refused *Refusal
	switch {
	case err == nil:
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = out.Write(line) // the log went away
	case errors.As(err, &refused) && refused.Status == http.StatusConflict:
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(refused.Status)
		fmt.Fprintf(out, "%d\n", refused.Known)
	case errors.As(err, &refused):
		http.Error(out, refused.Message, refused.Status)
	default:
		http.Error(out, "the head could not be stored", http.StatusInternalServerError)
	}
}
