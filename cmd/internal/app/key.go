package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"

	"satchel/cmd/internal/config"
	"satchel/pipeline/store/eventlog"
)

// The key that signs the log lies in keys/ of the data folder. A log in a database names it
// under keyMark: whoever first opens one that names none claims it, and no other key can
// sign it from then on.

// keyMark is the mark in the log's database that holds the public half of its key.
const keyMark = "key"

// errForeignKey refuses a folder whose key is not that of the log in the database.
var errForeignKey = errors.New("this folder's key is not the one that signs the log in the database: copy log.key and log.pub from the folder of the worker that made it")

// otherKey says what to do about a kept head that the folder's key did not sign.
func otherKey(err error) error {
	return config.Usagef("%w: put back the log.key and log.pub that did; docs/how-to/keys.md says how to go on when they are lost", err)
}

// MissingKey names the half of the log's key that is not there; "" when both are.
func (a *App) MissingKey() string {
	for _, name := range []string{"log.key", "log.pub"} {
		if _, err := os.Stat(a.Path("keys", name)); errors.Is(err, os.ErrNotExist) {
			return a.Path("keys", name)
		}
	}
	return ""
}

// checkKey refuses a log whose key is missing: another key could not continue its heads.
func (a *App) checkKey() error {
	private := a.Path("keys", "log.key")
	if _, err := os.Stat(private); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, there := os.Stat(a.Path("log.db")); there == nil {
		return config.Usagef("the key that signs the log is missing (%s): put it back; docs/how-to/keys.md says how to go on when it is lost", private)
	}
	return nil
}

// checkSharedKey is checkKey for a log in a database.
func (a *App) checkSharedKey(ctx context.Context, driver eventlog.Driver) error {
	private := a.Path("keys", "log.key")
	if _, err := os.Stat(private); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	holder, err := eventlog.Marked(ctx, driver, keyMark)
	if err != nil {
		return err
	}
	tenants, err := TenantsOf(ctx, driver)
	if err == nil && (holder != "" || len(tenants) > 0) {
		err = config.Usagef("the database holds a log, and the key that signs it is missing (%s): copy log.key and log.pub from the folder of the worker that made it", private)
	}
	return err
}

// ClaimKey makes key the one of the log in driver, unless it has one, and reports whether
// it is. A key that did not sign the heads that were kept claims nothing.
func ClaimKey(ctx context.Context, driver eventlog.Driver, log *eventlog.Log, key string) (own bool, err error) {
	holder, err := eventlog.Marked(ctx, driver, keyMark)
	if err != nil || holder != "" {
		return holder == key, err
	}
	if err := log.CheckKey(); err != nil {
		if errors.Is(err, eventlog.ErrOtherKey) {
			err = otherKey(err)
		}
		return false, err
	}
	holder, err = eventlog.Claim(ctx, driver, keyMark, key)
	return holder == key, err
}

// foreign says why the folder's key is not that of the log; "" when nothing speaks against it,
// and r.claimed then says whether the database names it.
func (a *App) foreign(ctx context.Context, driver eventlog.Driver, r *Reading) (string, error) {
	if !a.LogInFolder() {
		holder, err := eventlog.Marked(ctx, driver, keyMark)
		if err != nil {
			return "", err
		}
		if holder != "" && holder != r.Key {
			return errForeignKey.Error(), nil
		}
		r.Claimed = holder != ""
	}
	err := r.CheckKey()
	if errors.Is(err, eventlog.ErrOtherKey) {
		return otherKey(err).Error(), nil
	}
	return "", err
}

// LogKey reads the key that signs heads, and makes it when there is none.
func (a *App) LogKey(random io.Reader) (note.Signer, string, error) {
	private := a.Path("keys", "log.key")
	public := a.Path("keys", "log.pub")
	raw, err := os.ReadFile(private)
	if errors.Is(err, os.ErrNotExist) {
		if random == nil {
			random = rand.Reader
		}
		skey, vkey, err := note.GenerateKey(random, "satchel")
		if err != nil {
			return nil, "", fmt.Errorf("make log key: %w", err)
		}
		if err := os.WriteFile(private, []byte(skey), 0o600); err != nil {
			return nil, "", fmt.Errorf("write log key: %w", err)
		}
		if err := os.WriteFile(public, []byte(vkey+"\n"), 0o644); err != nil {
			return nil, "", fmt.Errorf("write log key: %w", err)
		}
		raw = []byte(skey)
	} else if err != nil {
		return nil, "", fmt.Errorf("read log key: %w", err)
	}
	signer, err := note.NewSigner(string(raw))
	if err != nil {
		return nil, "", fmt.Errorf("read log key %s: %w", private, err)
	}
	vkey, err := os.ReadFile(public)
	if err != nil {
		return nil, "", fmt.Errorf("read log key: %w", err)
	}
	key := strings.TrimSpace(string(vkey))
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return nil, "", fmt.Errorf("read log key %s: %w", public, err)
	}
	if verifier.Name() != signer.Name() || verifier.KeyHash() != signer.KeyHash() {
		return nil, "", config.Usagef("%s is not the public half of %s: copy both from one folder", public, private)
	}
	return signer, key, nil
}

// logOrigin is the name of the log in its heads: the one that is set, else that of the heads that are kept, so
// that a command need not be told, else one of the key, so that no two logs have the same.
func (a *App) logOrigin(key string) (string, error) {
	if a.Origin == "" {
		if kept := eventlog.KeptOrigin(a.Path("heads")); kept != "" {
			return kept, nil
		}
		public := strings.SplitN(key, "+", 3) // name, hash, key, which may hold another +
		sum := sha256.Sum256([]byte(public[len(public)-1]))
		return hex.EncodeToString(sum[:8]) + ".satchel.invalid", nil
	}
	if strings.ContainsFunc(a.Origin, func(r rune) bool { return unicode.IsSpace(r) || r == '+' || r < ' ' }) || !utf8.ValidString(a.Origin) || strings.HasSuffix(a.Origin, "/") {
		return "", config.Usagef("SATCHEL_ORIGIN=%q: a name has no space and no +, and does not end with /", a.Origin)
	}
	return a.Origin, nil
}
