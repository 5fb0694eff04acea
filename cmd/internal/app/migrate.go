package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
)

// The words under migrateMark in the target.
const (
	MigrateMark  = "migrate"
	MigrateBegun = "begun"
	MigrateDone  = "done"
)

// TenantsOf lists the tenants of a log.
func TenantsOf(ctx context.Context, d eventlog.Driver) (tenants []string, err error) {
	err = d.View(ctx, func(r eventlog.Reader) (err error) {
		tenants, err = r.Tenants()
		return err
	})
	return tenants, err
}

// MovedFile is in a folder whose log was migrated, so that the old log is not
// continued beside the new one.
const MovedFile = "log.moved"

// checkMigration refuses a log that is elsewhere by now, or not yet whole.
func (a *App) checkMigration(ctx context.Context, driver eventlog.Driver) error {
	if a.Migrating {
		return nil
	}
	if err := a.checkRestore(ctx, driver); err != nil {
		return err
	}
	if a.LogInFolder() {
		where, err := os.ReadFile(a.Path(MovedFile))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", MovedFile, err)
		}
		return config.Usagef("the log of %s was migrated to %s: set DATABASE_URL; to go on with the old log instead, remove %s", a.Dir, strings.TrimSpace(string(where)), a.Path(MovedFile))
	}
	word, err := eventlog.Marked(ctx, driver, MigrateMark)
	if err == nil && word == MigrateBegun {
		err = config.Usagef("a migration to this database was interrupted: run satchel migrate again, with DATABASE_URL unset")
	}
	return err
}

// checkMoved refuses a database that holds less than the log of the folder that was migrated:
// someone went on with the folder's log, and migrate brings the rest over.
func (a *App) checkMoved(ctx context.Context, driver eventlog.Driver) error {
	if a.Migrating || a.LogInFolder() {
		return nil
	}
	path := a.Path("log.db")
	for _, file := range []string{a.Path(MovedFile), path} {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	old, err := sqlite.OpenLog(ctx, sqlite.LogConfig{Path: path})
	if err != nil {
		return nil // who cannot open it, as on a copy that may not be written to, cannot have gone on with it
	}
	err = old.View(ctx, func(was eventlog.Reader) error {
		return driver.View(ctx, func(is eventlog.Reader) error {
			tenants, err := was.Tenants()
			if err != nil {
				return err
			}
			for _, tenant := range tenants {
				before, err := was.Head(tenant)
				if err != nil {
					return err
				}
				now, err := is.Head(tenant)
				if err != nil {
					return err
				}
				if now.Size < before.Size {
					return config.Usagef("the log of tenant %q has %s in %s, and %d in %s, to which it was migrated: run satchel migrate again, with DATABASE_URL unset",
						tenant, terminal.Plural(int(before.Size), "entry", "entries"), path, now.Size, config.Mask(a.DatabaseURL))
				}
			}
			return nil
		})
	})
	return errors.Join(err, old.Close())
}
