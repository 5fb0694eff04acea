package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"satchel/pipeline/store/eventlog"
)

// openLog opens the event log alone, to write to it.
func (a *app) openLog(ctx context.Context, f fixed) (_ *eventlog.Log, verifierKey string, err error) {
	if err := os.MkdirAll(a.path("keys"), 0o700); err != nil {
		return nil, "", fmt.Errorf("open data folder: %w", err)
	}
	if a.DatabaseURL == "" {
		if err := a.checkKey(); err != nil {
			return nil, "", err
		}
	}
	driver, err := a.logDriver(ctx)
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
	if a.DatabaseURL != "" {
		if err := a.checkSharedKey(ctx, driver); err != nil {
			return nil, "", err
		}
	}
	log, key, err := a.signedLog(driver, f)
	if err != nil || a.DatabaseURL == "" {
		return log, key, err
	}
	own, err := claimKey(ctx, driver, log, key)
	if err == nil && !own {
		err = &usageError{errForeignKey}
	}
	return log, key, err
}

// signedLog returns the log over driver, its heads signed by the folder's key.
func (a *app) signedLog(driver eventlog.Driver, f fixed) (*eventlog.Log, string, error) {
	signer, key, err := a.logKey(f.rand)
	if err != nil {
		return nil, "", err
	}
	log, err := eventlog.New(eventlog.Config{Driver: driver, Clock: f.clock, Rand: f.rand, Signer: signer, VerifierKey: key, Keep: a.path("heads"), Tail: a.tailBytes()})
	if err != nil {
		return nil, "", fmt.Errorf("open event log: %w", err)
	}
	return log, key, nil
}

// reading is a log that is looked into.
type reading struct {
	*eventlog.Log
	key     string // what verifies its heads
	claimed bool   // the log in a database names that key
	unkeyed string // why there is none, and heads that were kept are not checked; "" for a key
}

// readLog opens the log to look into it and makes nothing. Where its key is not in the
// folder it is opened without the heads it signed.
func (a *app) readLog(ctx context.Context) (_ *reading, err error) {
	if err := a.requireData(); err != nil {
		return nil, err
	}
	driver, err := a.logDriver(ctx)
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
	r := &reading{}
	if missing := a.missingKey(); missing != "" {
		r.unkeyed = missing + " is missing: the kept heads could not be checked, and no old head can be continued under the same key"
	} else if r.Log, r.key, err = a.signedLog(driver, fixed{}); err != nil {
		return nil, err
	} else if r.unkeyed, err = a.foreign(ctx, driver, r); err != nil {
		return nil, err
	}
	if r.unkeyed != "" {
		r.key = ""
		if r.Log, err = eventlog.New(eventlog.Config{Driver: driver}); err != nil {
			return nil, fmt.Errorf("open event log: %w", err)
		}
	}
	return r, nil
}
