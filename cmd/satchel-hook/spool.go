package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"satchel/emitters"
	"satchel/pipeline/infra/files"
	"satchel/schemas"
)

// mostWaiting bounds a spool that nothing empties.
const mostWaiting = 10_000

// spool keeps memories of one project until they are sent: a file each, named by the id of its event, which
// is the same however often it is sent. Many processes may add; one sends. A file outlives its process, but not
// always a failure of power: an editor does not wait for the disk.
type spool struct{ folder, project string }

// projectOf returns the root of the git repository that a folder is in, or the folder.
func projectOf(folder string) string {
	folder = filepath.Clean(folder)
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return folder
		}
	}
}

// openSpool returns the spool of a folder's project.
func openSpool(folder string) (*spool, error) {
	root := projectOf(folder)
	home, err := os.UserHomeDir()
	if err != nil && os.Getenv("XDG_STATE_HOME") == "" {
		return nil, fmt.Errorf("find the folder of the spool: set XDG_STATE_HOME: %w", err)
	}
	sum := sha256.Sum256([]byte(root))
	state := cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state"))
	folder = filepath.Join(state, "satchel", "claude-code", hex.EncodeToString(sum[:8]))
	s := &spool{project: filepath.Base(root), folder: folder}
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	return s, nil
}

// Remember adds a memory, which hook.Hooks has masked.
func (s *spool) Remember(_ context.Context, item schemas.MemoryItem, _ *emitters.Options) (schemas.Receipt, error) {
	waiting, err := s.files("*.json")
	if err != nil || len(waiting) >= mostWaiting {
		return schemas.Receipt{}, err // what comes when it is full is lost
	}
	id, err := uuid.NewV7()
	if err != nil {
		return schemas.Receipt{}, fmt.Errorf("make an id: %w", err)
	}
	item.ID, item.CreatedAt = id.String(), time.Now().UTC()
	path := filepath.Join(s.folder, item.ID+".json")
	return schemas.Receipt{ID: item.ID}, files.WriteUnsynced(path, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(item)
	})
}

func (s *spool) files(pattern string) ([]string, error) {
	return filepath.Glob(filepath.Join(s.folder, pattern))
}

// send publishes what waits, oldest first, and stops when that fails. What is refused for good stays, as .refused.
func (s *spool) send(ctx context.Context, client *emitters.Emitter) {
	lock, err := files.TakeLock(s.folder, time.Now())
	if err != nil {
		return // another process sends
	}
	defer func() { _ = lock.Release() }() // it ends with the process
	waiting, err := s.files("*.json")
	if err != nil {
		return
	}
	for _, path := range waiting { // by id, which begins with the time
		var refused *schemas.Error
		switch err := publish(ctx, client, path); {
		case err == nil:
			err = os.Remove(path)
			if err != nil {
				return
			}
		case errors.As(err, &refused) && refused.IsCallersMistake():
			if os.Rename(path, path+".refused") != nil {
				return
			}
		default:
			return
		}
	}
}

func publish(ctx context.Context, client *emitters.Emitter, path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var item schemas.MemoryItem
	if err := json.Unmarshal(raw, &item); err != nil {
		return &schemas.Error{Code: schemas.CodeValidation, Message: "the file is damaged"}
	}
	_, err = client.Remember(ctx, item, &emitters.Options{EventID: item.ID, Wait: schemas.ReceiptAccepted})
	return err
}

// status prints how much waits, and how much was refused.
func (s *spool) status(out io.Writer) error {
	waiting, err := s.files("*.json")
	if err != nil {
		return err
	}
	refused, err := s.files("*.refused")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d waiting, %d refused, in %s\n", len(waiting), len(refused), s.folder)
	return err
}
