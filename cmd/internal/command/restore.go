package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	js "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/backup"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/jetstream"
	"satchel/pipeline/store/eventlog"
	"satchel/worker/witness"
)

// Restore is satchel restore.
type Restore struct {
	Dir      string   `arg:"" type:"existingdir" name:"folder" help:"The folder of the backup."`
	To       string   `help:"An empty data folder, or a database as postgres://user@host:5432/database?sslmode=verify-full, whose data folder is then that of --dir." required:""`
	Erasures []string `help:"A newer list of erasures: the folder erased of a data folder, or another backup. May be repeated." type:"existingdir" sep:"none"`
	Heads    string   `help:"A folder of kept heads (<tenant>.checkpoint) that the log must reach." type:"existingdir"`
	Keys     string   `help:"The file that satchel backup --keys has written: it becomes keys/ of the target." type:"existingfile" placeholder:"FILE"`
	passphrase
}

// madeAt is how the time of a backup is printed.
const madeAt = "2006-01-02 15:04:05 MST"

// RestoredLog is what restore prints for a tenant.
type RestoredLog struct {
	Tenant  string `json:"tenant"`
	Entries int64  `json:"entries"`
	Root    string `json:"root"`
	Erased  int    `json:"erased_again"`
	Known   int64  `json:"known_entries"`
	Behind  string `json:"behind,omitempty"`
}

// Run restores a backup.
func (c *Restore) Run(ctx context.Context, a *app.App) error {
	target := c.target(a)
	if err := errors.Join(target.RequireFolder(), target.RequireEmpty()); err != nil {
		return err
	}
	if c.Keys != "" {
		words, err := c.read()
		if err != nil {
			return err
		}
		if err := backup.ReadKeys(c.Keys, target.Path("keys"), words); err != nil {
			return &config.UsageError{Err: err}
		}
	}
	if missing := target.MissingKey(); missing != "" {
		return config.Usagef("%s is missing: copy keys/ of the lost data folder to %s first, or name a file of keys with --keys; a backup never holds keys", missing, target.Path("keys"))
	}
	signer, verifier, key, err := readLogKeys(target)
	if err != nil {
		return err
	}
	from, err := backup.Open(c.Dir, verifier)
	if err != nil {
		return explainBackup(c.Dir, err)
	}
	bars := &progressBars{app: a}
	err = from.Check(ctx, bars.set)
	bars.end()
	if err != nil {
		return explainBackup(c.Dir, err)
	}
	listed := c.listed(target)
	if target.Origin == "" { // else witnesses would see another log
		target.Origin = cmp.Or(eventlog.KeptOrigin(c.Heads), eventlog.KeptOrigin(target.Path("heads")), eventlog.KeptOrigin(from.HeadsDir()))
	}
	restored, err := c.restore(ctx, target, from, signer, key)
	var conflict *witness.ConflictError
	if errors.As(err, &conflict) {
		return &FoundError{What: fmt.Sprintf("a witness cosigned what this backup does not have, so nothing is restored: %v; restore a newer backup, or accept the loss with another SATCHEL_ORIGIN, as docs/how-to/backup.md says", err)}
	}
	if err != nil {
		return explainBackup(c.Dir, err)
	}
	if err := printRestored(a, from, restored, target); err != nil {
		return err
	}
	if !listed {
		fmt.Fprintf(a.Err, "if anything was erased after %s, it is back: no newer list of erasures and no witness is known here, see docs/how-to/backup.md\n", from.Made.Format(madeAt))
	}
	return nil
}

// listed reports whether something knows of erasures that are newer than the backup.
func (c *Restore) listed(target *app.App) bool {
	kept, err := os.ReadDir(target.Path("erased"))
	return len(c.Erasures) > 0 || target.Witnesses != "" || err == nil && len(kept) > 0
}

// target is the program with the settings of what is restored to.
func (c *Restore) target(a *app.App) *app.App {
	settings := *a.Settings
	if strings.Contains(c.To, "://") {
		settings.DatabaseURL = c.To
	} else {
		settings.DatabaseURL = ""
		settings.Dir = c.To
		if dir, err := filepath.Abs(c.To); err == nil {
			settings.Dir = dir
		}
	}
	return &app.App{Settings: &settings, Out: a.Out, Err: a.Err, In: a.In, Migrating: true}
}

// restore locks the target and writes to it.
func (c *Restore) restore(ctx context.Context, target *app.App, from *backup.Backup, signer note.Signer, key string) (restored []backup.Restored, err error) {
	t := backup.Target{Dir: target.Dir, Heads: c.Heads, Logger: target.Logger(target.Err)}
	held, err := c.lock(ctx, target, from, &t)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	if t.Driver, err = target.BeginRestore(ctx); err != nil {
		return nil, err
	}
	if t.Log, _, err = target.SignedLog(t.Driver, app.Fixed{}); err != nil {
		return nil, errors.Join(err, t.Driver.Close())
	}
	if !target.LogInFolder() {
		own, err := app.ClaimKey(ctx, t.Driver, t.Log, key)
		if err == nil && !own {
			err = config.Usagef("the database names another key for its log: name an empty database, or another SATCHEL_DATABASE_SCHEMA")
		}
		if err != nil {
			return nil, errors.Join(err, t.Log.Close())
		}
	}
	if t.Confirm, err = target.Confirm(t.Log, t.Logger); err == nil {
		t.Erasures, err = c.lists(t.Driver, from, signer, key)
	}
	if err == nil {
		bars := &progressBars{app: target}
		t.Progress = bars.set
		restored, err = from.Restore(ctx, t)
		bars.end()
	}
	if err == nil && held.conn != nil {
		err = ledgerAhead(ctx, held, restored)
	}
	if err == nil {
		err = target.EndRestore(ctx, t.Driver, nil)
		return restored, errors.Join(err, t.Log.Close())
	}
	return nil, errors.Join(err, t.Log.Close(), target.EndRestore(context.WithoutCancel(ctx), nil, err))
}

// target that is held: the data folder, and the streams where they are needed.
type heldTarget struct {
	node    *app.Node    // nil without streams
	conn    js.JetStream // nil without streams
	release func() error
}

// lock takes the data folder of the target. It opens the streams when there are artifacts to restore, or
// when they are on a NATS that is named, which may hold a ledger.
func (c *Restore) lock(ctx context.Context, target *app.App, from *backup.Backup, t *backup.Target) (heldTarget, error) {
	if !from.HasArtifacts() && target.NATSURL == "" {
		lock, err := target.LockFolder()
		if err != nil {
			return heldTarget{}, target.ExplainStart(err)
		}
		return heldTarget{release: lock.Release}, nil
	}
	n, conn, err := target.OpenStreams(ctx)
	if err != nil {
		return heldTarget{}, target.ExplainStart(err)
	}
	held := heldTarget{n, conn, func() error { return n.Stop(context.WithoutCancel(ctx)) }}
	if err := jetstream.EnsureArtifacts(ctx, conn, target.StreamConfig(n.NC)); err != nil {
		return heldTarget{}, errors.Join(err, held.release())
	}
	t.Artifacts = jetstream.NewArtifacts(conn)
	return held, nil
}

// ledgerAhead says of which tenants the ledger on NATS has more than the restored log: what it says of the lost
// positions is not what they will hold.
func ledgerAhead(ctx context.Context, held heldTarget, restored []backup.Restored) error {
	ledger, err := jetstream.OpenLedger(ctx, held.node.NC, held.conn, jetstream.LedgerConfig{})
	if errors.Is(err, js.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range restored {
		r := &restored[i]
		end, err := ledger.LastPosition(ctx, r.Tenant)
		if err != nil {
			return err
		}
		if end > r.Size && r.Behind == "" {
			r.Behind = fmt.Sprintf("the ledger on NATS ends at position %d: before satchel up, empty it with nats stream purge %s --subject 'prov.v1.%s.>'", end, jetstream.LedgerStream, r.Tenant)
		}
	}
	return nil
}

// lists opens the lists of erasures that --erasures names, and that of the backup.
func (c *Restore) lists(driver eventlog.Driver, from *backup.Backup, signer note.Signer, key string) ([]*eventlog.Log, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("read log key: %w", err)
	}
	var lists []*eventlog.Log
	for _, dir := range append(c.Erasures, from.ErasedDir()) {
		if other, err := backup.Open(dir, verifier); err == nil {
			dir = other.ErasedDir()
		} else if !errors.Is(err, backup.ErrNone) {
			return nil, err
		}
		list, err := eventlog.New(eventlog.Config{Driver: driver, Signer: signer, VerifierKey: key, Erasures: dir})
		if err != nil {
			return nil, fmt.Errorf("open list of erasures: %w", err)
		}
		lists = append(lists, list)
	}
	return lists, nil
}

func printRestored(a *app.App, from *backup.Backup, restored []backup.Restored, target *app.App) error {
	out := []RestoredLog{}
	behind := 0
	for _, r := range restored {
		out = append(out, RestoredLog{Tenant: r.Tenant, Entries: r.Size, Root: r.Root.String(), Erased: r.Erased, Known: r.Known, Behind: r.Behind})
		if r.Behind != "" {
			behind++
		}
	}
	if err := PrintReply(a, out, func(w io.Writer) { sayRestored(w, from, out, target) }); err != nil {
		return err
	}
	if behind > 0 {
		return &FoundError{What: fmt.Sprintf("%s older than what is known of it: restore a newer backup into an empty folder, or accept the loss as docs/how-to/backup.md says",
			terminal.Plural(behind, "log is", "logs are"))}
	}
	return nil
}

func sayRestored(w io.Writer, from *backup.Backup, out []RestoredLog, target *app.App) {
	for _, r := range out {
		fmt.Fprintf(w, "%s: %s, root %s\n", r.Tenant, terminal.Plural(int(r.Entries), "entry", "entries"), r.Root)
		if r.Erased > 0 {
			fmt.Fprintf(w, "%s: %s repeated that the backup did not have\n", r.Tenant, terminal.Plural(r.Erased, "erasure", "erasures"))
		}
		if r.Behind != "" {
			fmt.Fprintf(w, "%s: %s\n", r.Tenant, r.Behind)
		}
	}
	where := target.Dir
	if target.DatabaseURL != "" {
		where = config.Mask(target.DatabaseURL)
	}
	fmt.Fprintf(w, "restored to %s what was backed up at %s; satchel up makes the indexes\n", where, from.Made.Format(madeAt))
}
