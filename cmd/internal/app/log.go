package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"satchel/cmd/internal/config"
	"satchel/pipeline/store/eventlog"
)

// OpenLog opens the event log alone, to write to it.
func (a *App) OpenLog(ctx context.Context, f Fixed) (_ *eventlog.Log, verifierKey string, err error) {
	if err := os.MkdirAll(a.Path("keys"), 0o700); err != nil {
		return nil, "", fmt.Errorf("open data folder: %w", err)
	}
	if a.LogInFolder() {
		if err := a.checkKey(); err != nil {
			return nil, "", err
		}
	}
	driver, err := a.LogDriver(ctx)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, driver.Close())
		}
	}()
	if err := a.checkMigration(ctx, driver); err != nil {
		return nil, "", err
	}
	if err := a.checkMoved(ctx, driver); err != nil {
		return nil, "", err
	}
	if !a.LogInFolder() {
		if err := a.checkSharedKey(ctx, driver); err != nil {
			return nil, "", err
		}
	}
	log, key, err := a.SignedLog(driver, f)
	if err != nil || a.LogInFolder() {
		return log, key, err
	}
	own, err := ClaimKey(ctx, driver, log, key)
	if err == nil && !own {
		err = &config.UsageError{Err: errForeignKey}
	}
	return log, key, err
}

// SignedLog returns the log over driver, its heads signed by the folder's key.
func (a *App) SignedLog(driver eventlog.Driver, f Fixed) (*eventlog.Log, string, error) {
	signer, key, err := a.LogKey(f.Rand)
	if err != nil {
		return nil, "", err
	}
	origin, err := a.logOrigin(key)
	if err != nil {
		return nil, "", err
	}
	log, err := eventlog.New(eventlog.Config{Driver: driver, Clock: f.Clock, Rand: f.Rand, Signer: signer, VerifierKey: key, Origin: origin, Keep: a.Path("heads"), Erasures: a.Path("erased"), Tail: a.tailBytes()})
	if err != nil {
		return nil, "", fmt.Errorf("open event log: %w", err)
	}
	return log, key, nil
}

// Reading is a log that is looked into.
type Reading struct {
	*eventlog.Log
	Key     string // what verifies its heads
	Claimed bool   // the log in a database names that key
	Unkeyed string // why there is none, and heads that were kept are not checked; "" for a key
}

// ReadLog opens the log to look into it and makes nothing. Where its key is not in the
// folder it is opened without the heads it signed.
func (a *App) ReadLog(ctx context.Context) (_ *Reading, err error) {
	if err := a.RequireData(); err != nil {
		return nil, err
	}
	driver, err := a.LogDriver(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, driver.Close())
		}
	}()
	if err := errors.Join(a.checkMigration(ctx, driver), a.checkMoved(ctx, driver)); err != nil {
		return nil, err
	}
	r := &Reading{}
	if missing := a.MissingKey(); missing != "" {
		r.Unkeyed = missing + " is missing: the kept heads could not be checked, and no old head can be continued under the same key"
	} else if r.Log, r.Key, err = a.SignedLog(driver, Fixed{}); err != nil {
		return nil, err
	} else if r.Unkeyed, err = a.foreign(ctx, driver, r); err != nil {
		return nil, err
	}
	if r.Unkeyed != "" {
		r.Key = ""
		if r.Log, err = eventlog.New(eventlog.Config{Driver: driver}); err != nil {
			return nil, fmt.Errorf("open event log: %w", err)
		}
	}
	return r, nil
}
