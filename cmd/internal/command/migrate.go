package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/worker/ingest"
)

// Migrate is satchel migrate.
type Migrate struct {
	To string `help:"The database, as postgres://user:password@host:5432/database?sslmode=verify-full." required:""`
}

// migrated is what migrate prints for a tenant.
type migrated struct {
	Tenant  string `json:"tenant"`
	Entries int64  `json:"entries"`
	Root    string `json:"root"`
	Digest  string `json:"digest"` // of the indexes
}

// Run migrates.
func (c *Migrate) Run(ctx context.Context, a *app.App) error {
	if a.DatabaseURL != "" {
		return config.Usagef("DATABASE_URL is set: migrate copies the log of the data folder; unset it and name the database with --to")
	}
	if err := errors.Join(a.RequireData(), a.RequireFolder()); err != nil {
		return err
	}
	if missing := a.MissingKey(); missing != "" {
		return config.Usagef("%s is missing: the copy could not be continued without it", missing)
	}
	lock, err := a.LockFolder()
	if err != nil {
		return a.ExplainStart(err)
	}
	defer lock.Release()
	begun := time.Now()
	settings := *a.Settings
	settings.DatabaseURL = c.To
	target := &app.App{Settings: &settings, Out: a.Out, Err: a.Err, In: a.In, Migrating: true}
	tenants, err := copyLogs(ctx, a, target)
	if err != nil {
		return err
	}
	copied := time.Since(begun)
	results, err := project(ctx, target, tenants)
	if err != nil {
		return err
	}
	if err := finishMigration(ctx, a, target); err != nil {
		return err
	}
	return printMigrated(a, results, copied, time.Since(begun), c.To)
}

// copyLogs copies every tenant's log and the checkpoints, and returns the tenants.
func copyLogs(ctx context.Context, a *app.App, target *app.App) (tenants []string, err error) {
	from, err := a.LogDriver(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := target.LogDriver(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if tenants, err = app.TenantsOf(ctx, from); err != nil {
		return nil, err
	}
	there, err := app.TenantsOf(ctx, to)
	if err != nil {
		return nil, err
	}
	for _, tenant := range there {
		if !slices.Contains(tenants, tenant) {
			return nil, config.Usagef("the database holds a log of tenant %q, which the data folder does not have: name an empty database, or another SATCHEL_DATABASE_SCHEMA", tenant)
		}
	}
	word, err := eventlog.Marked(ctx, to, app.MigrateMark)
	if err != nil {
		return nil, err
	}
	if word == "" && len(there) > 0 {
		return nil, config.Usagef("the database holds a log already: name an empty database, or another SATCHEL_DATABASE_SCHEMA")
	}
	log, key, err := a.SignedLog(to, app.Fixed{})
	if err != nil {
		return nil, err
	}
	own, err := app.ClaimKey(ctx, to, log, key)
	if err == nil && !own {
		err = config.Usagef("the database names another key for its log (see the lost key in docs/how-to/keys.md): put that key here, or name an empty database, or another SATCHEL_DATABASE_SCHEMA")
	}
	if err != nil {
		return nil, err
	}
	if word != app.MigrateDone {
		if err := eventlog.Mark(ctx, to, app.MigrateMark, app.MigrateBegun); err != nil {
			return nil, err
		}
	}
	for _, tenant := range tenants {
		err := runWithBar(a, "copying "+tenant, func(set progress) error {
			_, err := eventlog.Copy(ctx, from, to, tenant, set)
			return err
		})
		if errors.Is(err, eventlog.ErrDiffers) {
			return nil, config.Usagef("%w: name an empty database, or another SATCHEL_DATABASE_SCHEMA", err)
		}
		if err != nil {
			return nil, err
		}
	}
	var names []string
	for partition := range jetstream.Partitions {
		names = append(names, ingest.CheckpointName(jetstream.PartitionName(partition)))
	}
	if word == app.MigrateDone { // the target may have gone on, and reads the streams itself
		return tenants, nil
	}
	return tenants, eventlog.CopyCheckpoints(ctx, from, to, names)
}

// project brings every index up to the end of the copied logs, and verifies the copies.
func project(ctx context.Context, a *app.App, tenants []string) (results []migrated, err error) {
	s, err := a.OpenStores(ctx, app.Fixed{}, a.Logger(a.Err))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	projector := s.Projector()
	for _, tenant := range tenants {
		sc, err := scope.System(tenant)
		if err != nil {
			return nil, err
		}
		if err := runWithBar(a, "indexing "+tenant, func(set progress) error { return projector.CatchUp(ctx, sc, set) }); err != nil {
			return nil, err
		}
		if err := runWithBar(a, "verifying "+tenant, func(set progress) error { return s.Log.Verify(ctx, sc, nil, set) }); err != nil {
			return nil, err
		}
		head, err := s.Log.Head(ctx, sc)
		if err != nil {
			return nil, err
		}
		digest, err := s.Digest(ctx, sc)
		if err != nil {
			return nil, err
		}
		results = append(results, migrated{Tenant: tenant, Entries: head.Size, Root: head.Root.String(), Digest: digest})
	}
	return results, nil
}

// finishMigration marks both ends.
func finishMigration(ctx context.Context, a *app.App, target *app.App) (err error) {
	to, err := target.LogDriver(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := eventlog.Mark(ctx, to, app.MigrateMark, app.MigrateDone); err != nil {
		return err
	}
	if err := os.WriteFile(a.Path(app.MovedFile), []byte(config.Mask(target.DatabaseURL)+"\n"), 0o600); err != nil {
		return fmt.Errorf("mark the folder: %w", err)
	}
	return nil
}

func printMigrated(a *app.App, results []migrated, copied, all time.Duration, to string) error {
	return PrintReply(a, results, func(w io.Writer) {
		total := int64(0)
		for _, r := range results {
			fmt.Fprintf(w, "%s: %s, heads equal, root %s, index digest %s\n", r.Tenant, terminal.Plural(int(r.Entries), "entry", "entries"), r.Root, r.Digest)
			total += r.Entries
		}
		fmt.Fprintf(w, "%s copied in %.1f s, indexed and verified in %.1f s; from now on set DATABASE_URL=%s\n",
			terminal.Plural(int(total), "entry", "entries"), copied.Seconds(), (all - copied).Seconds(), config.Mask(to))
	})
}
