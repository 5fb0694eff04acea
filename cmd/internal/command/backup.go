package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/backup"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/infra/files"
	"satchel/pipeline/store/eventlog"
)

// Backup is satchel backup.
type Backup struct {
	Dir     string   `arg:"" type:"path" name:"folder" help:"The folder of the backup; it is made when it is not there."`
	Since   string   `help:"last: continue the backup that the folder has, and write only what is new. Where there is none it makes the first one." enum:",last" default:""`
	Replace []string `help:"Replace the folder's backup of a log that this one does not continue: its root, as backup printed it. The entries that only the backup has are lost." placeholder:"ROOT"`
	Keys    string   `help:"Write keys/ of the data folder into this file, too, encrypted with age under a passphrase. Keep it apart from the backup." type:"path" placeholder:"FILE"`
	passphrase
}

// passphrase is where the passphrase of a file of keys is.
type passphrase struct {
	PassphraseFile string `help:"The file that holds the passphrase of the file of keys." type:"existingfile"`
}

// read returns the passphrase.
func (p *passphrase) read() (string, error) {
	if p.PassphraseFile == "" {
		return "", config.Usagef("--keys needs --passphrase-file")
	}
	raw, err := os.ReadFile(p.PassphraseFile)
	if err != nil {
		return "", fmt.Errorf("read passphrase: %w", err)
	}
	text := strings.TrimRight(string(raw), "\r\n")
	if text == "" {
		return "", config.Usagef("%s is empty", p.PassphraseFile)
	}
	return text, nil
}

// BackedUp is what backup prints.
type BackedUp struct {
	Folder  string       `json:"folder"`
	Made    time.Time    `json:"made"`
	Tenants []BackupHead `json:"tenants"`
	Files   int          `json:"files"`
	Bytes   int64        `json:"bytes"`
	Written int64        `json:"written_bytes"` // of files that the former backup did not have
}

// BackupHead is a tenant's log in a backup.
type BackupHead struct {
	Tenant  string `json:"tenant"`
	Entries int64  `json:"entries"`
	Root    string `json:"root"`
}

// Run makes a backup.
func (c *Backup) Run(ctx context.Context, a *app.App) (err error) {
	log, err := a.ReadLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if c.Keys != "" {
		if err := c.writeKeys(a); err != nil {
			return err
		}
	}
	if log.Unkeyed != "" {
		return config.Usagef("the backup cannot be signed: %s", log.Unkeyed)
	}
	if rolledBack, err := a.RolledBack(ctx, log.Log); err != nil {
		return err
	} else if len(rolledBack) > 0 {
		for _, bad := range rolledBack {
			return &FoundError{What: fmt.Sprintf("%v; see satchel rollback --help", bad)}
		}
	}
	signer, verifier, _, err := readLogKeys(a)
	if err != nil {
		return err
	}
	artifacts, done, err := a.ReadArtifacts(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	bars := &progressBars{app: a}
	made, err := backup.Write(ctx, c.Dir, backup.Source{Log: log.Log, Artifacts: artifacts, Dir: a.Dir, Signer: signer, Verifier: verifier},
		backup.Options{Since: c.Since == "last", Replace: c.Replace, Progress: bars.set})
	bars.end()
	if err != nil {
		return explainBackup(c.Dir, err)
	}
	var entries int64
	for _, h := range made.Heads {
		entries += h.Size
	}
	if err := a.NoteBackup(app.LastBackup{Made: made.Made, Entries: entries}); err != nil {
		fmt.Fprintf(a.Err, "the backup is whole, but metrics will not show it: %v\n", err)
	}
	return printBackup(a, c.Dir, made)
}

// readLogKeys returns what signs the log, what verifies it, and the verifier key.
func readLogKeys(a *app.App) (signer note.Signer, verifier note.Verifier, key string, err error) {
	if signer, key, err = a.LogKey(nil); err != nil {
		return nil, nil, "", err
	}
	if verifier, err = note.NewVerifier(key); err != nil {
		return nil, nil, "", fmt.Errorf("read log key: %w", err)
	}
	return signer, verifier, key, nil
}

// writeKeys writes the file of keys.
func (c *Backup) writeKeys(a *app.App) error {
	words, err := c.read()
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(c.Dir, c.Keys); err == nil && filepath.IsLocal(rel) {
		return config.Usagef("%s is in the folder of the backup: keep keys apart from it", c.Keys)
	}
	return backup.WriteKeys(c.Keys, a.Path("keys"), words)
}

// explainBackup says what is wrong with the folder of a backup and what to do.
func explainBackup(dir string, err error) error {
	var held *files.HeldError
	var damaged *backup.DamagedError
	var bad *eventlog.VerifyError
	var forked *backup.ForkedError
	switch {
	case errors.As(err, &forked):
		return &FoundError{What: fmt.Sprintf("%v: the backup in %s may be all that is left of those entries; name another folder, or give them up with --replace %s",
			forked, dir, forked.Former.Root)}
	case errors.As(err, &held):
		return config.Usagef("process %d writes a backup to %s since %s", held.PID, dir, held.Since.Format(time.RFC3339))
	case errors.As(err, &damaged), errors.As(err, &bad):
		return &FoundError{What: err.Error()}
	case errors.Is(err, backup.ErrForeign), errors.Is(err, backup.ErrNone):
		return &config.UsageError{Err: err}
	case errors.Is(err, eventlog.ErrDiffers):
		return &FoundError{What: fmt.Sprintf("the log does not continue the backup in %s: %v; name another folder", dir, err)}
	}
	return err
}

func printBackup(a *app.App, dir string, made backup.Summary) error {
	out := BackedUp{Folder: dir, Made: made.Made, Tenants: []BackupHead{}, Files: made.Files, Bytes: made.Bytes, Written: made.Written}
	for _, h := range made.Heads {
		out.Tenants = append(out.Tenants, BackupHead{Tenant: h.Tenant, Entries: h.Size, Root: h.Root.String()})
	}
	return PrintReply(a, out, func(w io.Writer) {
		for _, t := range out.Tenants {
			fmt.Fprintf(w, "%s: %s, root %s\n", t.Tenant, terminal.Plural(int(t.Entries), "entry", "entries"), t.Root)
		}
		fmt.Fprintf(w, "backed up to %s: %s, %s, of which %s are new\n", dir, terminal.Plural(made.Files, "file", "files"), size(made.Bytes), size(made.Written))
	})
}

// size says how many bytes there are.
func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
}

// progressBars shows one bar after the other.
type progressBars struct {
	app  *app.App
	what string
	bar  *terminal.ProgressBar
}

func (b *progressBars) set(what string, done, total int64) {
	if b.bar == nil || b.what != what {
		b.end()
		b.bar = b.app.Progress(what)
		b.what = what
	}
	b.bar.Set(done, total)
}

func (b *progressBars) end() {
	if b.bar != nil {
		b.bar.End()
	}
}
