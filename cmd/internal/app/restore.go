package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"satchel/cmd/internal/config"
	"satchel/pipeline/store/eventlog"
)

// RestoreFile is in a data folder whose log is not yet whole, and restoreMark in a database.
const (
	RestoreFile  = "restore.unfinished"
	restoreMark  = "restore"
	restoreBegun = "begun"
)

// errRestore refuses a log of which a part was restored.
var errRestore = errors.New("a restore was interrupted, and the log is not whole: run satchel restore again")

// checkRestore refuses a log in a database that is not yet whole. LogDriver refuses one in the folder.
func (a *App) checkRestore(ctx context.Context, driver eventlog.Driver) error {
	if a.LogInFolder() {
		return nil
	}
	word, err := eventlog.Marked(ctx, driver, restoreMark)
	if err == nil && word == restoreBegun {
		err = &config.UsageError{Err: errRestore}
	}
	return err
}

// BeginRestore makes sure that there is no log yet, removes what an interrupted restore left, marks the
// log as not yet whole and opens its database. The caller has locked the data folder.
func (a *App) BeginRestore(ctx context.Context) (_ eventlog.Driver, err error) {
	if a.LogInFolder() {
		return a.beginFolder(ctx)
	}
	driver, err := a.LogDriver(ctx)
	if err != nil {
		return nil, err
	}
	word, err := eventlog.Marked(ctx, driver, restoreMark)
	if err == nil && word == restoreBegun {
		if err := errors.Join(driver.Close(), a.DropSchemas(ctx)); err != nil {
			return nil, err
		}
		if driver, err = a.LogDriver(ctx); err != nil {
			return nil, err
		}
	}
	var tenants []string
	if err == nil {
		tenants, err = TenantsOf(ctx, driver)
	}
	if err == nil && len(tenants) > 0 {
		err = config.Usagef("the database holds a log already: name an empty database, or another SATCHEL_DATABASE_SCHEMA")
	}
	if err == nil {
		err = eventlog.Mark(ctx, driver, restoreMark, restoreBegun)
	}
	if err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	return driver, nil
}

// restoredFiles are what a restore makes in a data folder, and what it refuses to find there.
func restoredFiles() []string {
	return []string{"log.db", "log.db-wal", "log.db-shm", "index", "templates"}
}

func (a *App) beginFolder(ctx context.Context) (eventlog.Driver, error) {
	if a.restoring() {
		if err := a.clearRestored(); err != nil {
			return nil, err
		}
	} else if err := a.requireNone(restoredFiles()); err != nil {
		return nil, err
	}
	if err := os.WriteFile(a.Path(RestoreFile), nil, 0o600); err != nil {
		return nil, fmt.Errorf("mark the folder: %w", err)
	}
	return a.LogDriver(ctx)
}

// restoring reports whether a restore into the data folder was not ended.
func (a *App) restoring() bool {
	_, err := os.Stat(a.Path(RestoreFile))
	return err == nil
}

// RequireEmpty refuses a data folder that holds a log or what is made of one. Keys, kept heads and
// lists of erasures may be there.
func (a *App) RequireEmpty() error {
	if !a.LogInFolder() || a.restoring() {
		return nil
	}
	return a.requireNone(append(restoredFiles(), MovedFile, filepath.Join("streams", "jetstream")))
}

func (a *App) requireNone(names []string) error {
	for _, name := range names {
		if _, err := os.Stat(a.Path(name)); !errors.Is(err, os.ErrNotExist) {
			return config.Usagef("%s is there already: name a folder with nothing but keys, heads and erased in it", a.Path(name))
		}
	}
	return nil
}

// clearRestored removes what a restore made in the data folder.
func (a *App) clearRestored() error {
	for _, name := range restoredFiles() {
		if err := os.RemoveAll(a.Path(name)); err != nil {
			return fmt.Errorf("remove what an interrupted restore left: %w", err)
		}
	}
	return nil
}

// EndRestore marks the log as whole. Of a restore that failed it removes what it made in the data folder.
// The mark then stays where artifacts were restored, and in a database: the next restore begins again there.
func (a *App) EndRestore(ctx context.Context, driver eventlog.Driver, failed error) error {
	switch {
	case !a.LogInFolder() && failed == nil:
		return eventlog.Mark(ctx, driver, restoreMark, "")
	case !a.LogInFolder():
		return nil
	case failed != nil:
		if err := a.clearRestored(); err != nil {
			return err
		}
		if a.requireNone([]string{filepath.Join("streams", "jetstream")}) != nil {
			return nil
		}
	}
	if err := os.Remove(a.Path(RestoreFile)); err != nil {
		return fmt.Errorf("mark the folder: %w", err)
	}
	return nil
}
