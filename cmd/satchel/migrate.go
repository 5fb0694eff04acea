package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	logsqlite "satchel/pipeline/store/eventlog/sqlite"
	"satchel/worker"
)

type migrateCmd struct {
	To string `help:"The database, as postgres://user:password@host:5432/database?sslmode=verify-full." required:""`
}

// Help shows how it is called.
func (migrateCmd) Help() string {
	return `Copies the log of every tenant, position by position: hashes, contents with their salts,
packs, what was erased as erased, and how far the streams are read. Every entry is checked
on the way. Then it makes the items in the database, brings the other indexes up to the log's
end, verifies the copy and compares the heads. The key and the kept heads stay in the data
folder, which goes on being used.

Stop satchel up first. It can be interrupted and run again: it goes on where it was. A
database that holds another log is refused and left as it is. Afterwards the folder's log is
kept and not used any more; set DATABASE_URL from then on. If it was continued all the same,
run migrate again: it brings over the rest.

Example:
  satchel migrate --to postgres://satchel@db:5432/satchel`
}

// The words under migrateMark in the target.
const (
	migrateMark  = "migrate"
	migrateBegun = "begun"
	migrateDone  = "done"
)

// migrated is what migrate prints for a tenant.
type migrated struct {
	Tenant  string `json:"tenant"`
	Entries int64  `json:"entries"`
	Root    string `json:"root"`
	Digest  string `json:"digest"` // of the indexes
}

// Run migrates.
func (c *migrateCmd) Run(ctx context.Context, a *app) error {
	if a.DatabaseURL != "" {
		return usagef("DATABASE_URL is set: migrate copies the log of the data folder; unset it and name the database with --to")
	}
	if err := errors.Join(a.requireData(), a.requireFolder()); err != nil {
		return err
	}
	if missing := a.missingKey(); missing != "" {
		return usagef("%s is missing: the copy could not be continued without it", missing)
	}
	lock, err := a.lockFolder()
	if err != nil {
		return a.explainStart(err)
	}
	defer lock.Release()
	begun := time.Now()
	settings := *a.Settings
	settings.DatabaseURL = c.To
	target := &app{Settings: &settings, out: a.out, err: a.err, in: a.in, migrating: true}
	tenants, err := a.copyLogs(ctx, target)
	if err != nil {
		return err
	}
	copied := time.Since(begun)
	results, err := target.project(ctx, tenants)
	if err != nil {
		return err
	}
	if err := a.finishMigration(ctx, target); err != nil {
		return err
	}
	return a.printMigrated(results, copied, time.Since(begun), c.To)
}

// copyLogs copies every tenant's log and the checkpoints, and returns the tenants.
func (a *app) copyLogs(ctx context.Context, target *app) (tenants []string, err error) {
	from, err := a.logDriver(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := target.logDriver(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if tenants, err = tenantsOf(ctx, from); err != nil {
		return nil, err
	}
	there, err := tenantsOf(ctx, to)
	if err != nil {
		return nil, err
	}
	for _, tenant := range there {
		if !slices.Contains(tenants, tenant) {
			return nil, usagef("the database holds a log of tenant %q, which the data folder does not have: name an empty database, or another SATCHEL_DATABASE_SCHEMA", tenant)
		}
	}
	word, err := eventlog.Marked(ctx, to, migrateMark)
	if err != nil {
		return nil, err
	}
	if word == "" && len(there) > 0 {
		return nil, usagef("the database holds a log already: name an empty database, or another SATCHEL_DATABASE_SCHEMA")
	}
	log, key, err := a.signedLog(to, fixed{})
	if err != nil {
		return nil, err
	}
	own, err := claimKey(ctx, to, log, key)
	if err == nil && !own {
		err = usagef("the database names another key for its log (see the lost key in docs/operations.md): put that key here, or name an empty database, or another SATCHEL_DATABASE_SCHEMA")
	}
	if err != nil {
		return nil, err
	}
	if word != migrateDone {
		if err := eventlog.Mark(ctx, to, migrateMark, migrateBegun); err != nil {
			return nil, err
		}
	}
	for _, tenant := range tenants {
		bar := a.bar("copying " + tenant)
		_, err := eventlog.Copy(ctx, from, to, tenant, bar.set)
		bar.end()
		if errors.Is(err, eventlog.ErrDiffers) {
			return nil, usagef("%w: name an empty database, or another SATCHEL_DATABASE_SCHEMA", err)
		}
		if err != nil {
			return nil, err
		}
	}
	var names []string
	for partition := range jetstream.Partitions {
		names = append(names, worker.CheckpointName(jetstream.PartitionName(partition)))
	}
	if word == migrateDone { // the target may have gone on, and reads the streams itself
		return tenants, nil
	}
	return tenants, eventlog.CopyCheckpoints(ctx, from, to, names)
}

func tenantsOf(ctx context.Context, d eventlog.Driver) (tenants []string, err error) {
	err = d.View(ctx, func(r eventlog.Reader) (err error) {
		tenants, err = r.Tenants()
		return err
	})
	return tenants, err
}

// project brings every index up to the end of the copied logs, and verifies the copies.
func (a *app) project(ctx context.Context, tenants []string) (results []migrated, err error) {
	s, err := a.openStores(ctx, fixed{}, a.logger(a.err))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	projector := worker.NewProjector(worker.Config{Log: s.log, Stores: s.projections(), Embedder: s.embedder.now.Load()})
	for _, tenant := range tenants {
		sc, err := scope.System(tenant)
		if err != nil {
			return nil, err
		}
		bar := a.bar("indexing " + tenant)
		err = projector.CatchUp(ctx, sc, bar.set)
		bar.end()
		if err != nil {
			return nil, err
		}
		bar = a.bar("verifying " + tenant)
		err = s.log.Verify(ctx, sc, nil, bar.set)
		bar.end()
		if err != nil {
			return nil, err
		}
		head, err := s.log.Head(ctx, sc)
		if err != nil {
			return nil, err
		}
		digest, err := s.digest(ctx, sc)
		if err != nil {
			return nil, err
		}
		results = append(results, migrated{Tenant: tenant, Entries: head.Size, Root: head.Root.String(), Digest: digest})
	}
	return results, nil
}

// movedFile stands in a folder whose log was migrated, so that the old log is not
// continued beside the new one.
const movedFile = "log.moved"

// finishMigration marks both ends.
func (a *app) finishMigration(ctx context.Context, target *app) (err error) {
	to, err := target.logDriver(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := eventlog.Mark(ctx, to, migrateMark, migrateDone); err != nil {
		return err
	}
	if err := os.WriteFile(a.path(movedFile), []byte(mask(target.DatabaseURL)+"\n"), 0o600); err != nil {
		return fmt.Errorf("mark the folder: %w", err)
	}
	return nil
}

// checkMigration refuses a log that is elsewhere by now, or not yet whole.
func (a *app) checkMigration(ctx context.Context, driver eventlog.Driver) error {
	if a.migrating {
		return nil
	}
	if a.DatabaseURL == "" {
		where, err := os.ReadFile(a.path(movedFile))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", movedFile, err)
		}
		return usagef("the log of %s was migrated to %s: set DATABASE_URL; to go on with the old log instead, remove %s", a.Dir, strings.TrimSpace(string(where)), a.path(movedFile))
	}
	word, err := eventlog.Marked(ctx, driver, migrateMark)
	if err == nil && word == migrateBegun {
		err = usagef("a migration to this database was interrupted: run satchel migrate again, with DATABASE_URL unset")
	}
	return err
}

// checkMoved refuses a database that holds less than the log of the folder that was migrated:
// somebody went on with the folder's log, and migrate brings the rest over.
func (a *app) checkMoved(ctx context.Context, driver eventlog.Driver) error {
	if a.migrating || a.DatabaseURL == "" {
		return nil
	}
	path := a.path("log.db")
	for _, file := range []string{a.path(movedFile), path} {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	old, err := logsqlite.Open(ctx, logsqlite.Config{Path: path})
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
					return usagef("the log of tenant %q has %s in %s, and %d in %s, to which it was migrated: run satchel migrate again, with DATABASE_URL unset",
						tenant, plural(int(before.Size), "entry", "entries"), path, now.Size, mask(a.DatabaseURL))
				}
			}
			return nil
		})
	})
	return errors.Join(err, old.Close())
}

func (a *app) printMigrated(results []migrated, copied, all time.Duration, to string) error {
	if a.JSON {
		return a.printJSON(results)
	}
	total := int64(0)
	for _, r := range results {
		fmt.Fprintf(a.out, "%s: %s, heads equal, root %s, index digest %s\n", r.Tenant, plural(int(r.Entries), "entry", "entries"), r.Root, r.Digest)
		total += r.Entries
	}
	_, err := fmt.Fprintf(a.out, "%s copied in %.1f s, indexed and verified in %.1f s; from now on set DATABASE_URL=%s\n",
		plural(int(total), "entry", "entries"), copied.Seconds(), (all - copied).Seconds(), mask(to))
	return err
}
