package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"satchel/cmd/internal/config"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	keywordmem "satchel/pipeline/store/memory"
	"satchel/pipeline/store/postgres"
	"satchel/pipeline/store/sqlite"
)

// DATABASE_URL moves the log and the items to Postgres. Each store has a schema of its
// own there, named after SATCHEL_DATABASE_SCHEMA.

// schema returns the name of a store's schema.
func (a *App) schema(store string) string { return a.DatabaseSchema + "_" + store }

// LogDriver opens the database that the settings name for the log.
func (a *App) LogDriver(ctx context.Context) (eventlog.Driver, error) {
	if a.DatabaseURL == "" {
		if a.restoring() && !a.Migrating {
			return nil, &config.UsageError{Err: errRestore}
		}
		driver, err := sqlite.OpenLog(ctx, sqlite.LogConfig{Path: a.Path("log.db")})
		if err != nil {
			return nil, fmt.Errorf("open event log: %w", err)
		}
		return driver, nil
	}
	driver, err := postgres.OpenLog(ctx, postgres.LogConfig{URL: a.DatabaseURL, Schema: a.schema("log"), MaxConns: a.DatabaseConns})
	if err != nil {
		return nil, unusable(err, postgres.ErrUnusable)
	}
	return driver, nil
}

// tailBytes is how much of the log's end is kept in memory: nothing of a log that other
// processes write to and erase from.
func (a *App) tailBytes() int {
	if a.DatabaseURL != "" {
		return 0
	}
	return 16 << 20
}

// itemStore is a driver of items with what the process does around it.
type itemStore interface {
	items.Driver
	Scrub(ctx context.Context) error
	Close() error
}

// openItems opens the items; of memory, an eighth is for their directories, and a tenth more is
// for records.
func (a *App) openItems(ctx context.Context, s *Stores, memory int64) (itemStore, error) {
	if a.DatabaseURL == "" {
		path := a.Path("index", "items.db")
		db, err := openIndex(s.damages, "items.db", path, items.ErrCorrupt, s.tellLate, func(onCorrupt func(error)) (*sqlite.Items, error) {
			return sqlite.OpenItems(ctx, sqlite.ItemsConfig{Path: path, MemoryBytes: memory / 8, OnCorrupt: onCorrupt})
		})
		if err != nil {
			return nil, fmt.Errorf("open items: %w", err)
		}
		s.Items, s.evict, s.checks = items.NewWithCache(db, memory/10), append(s.evict, db.Evict), append(s.checks, db.Check)
		return db, nil
	}
	db, err := postgres.OpenItems(ctx, postgres.ItemsConfig{URL: a.DatabaseURL, Schema: a.schema("items"), MaxConns: a.DatabaseConns})
	if err != nil {
		return nil, unusable(err, postgres.ErrUnusable)
	}
	s.Items = items.NewShared(db)
	return db, nil
}

// place names where the data is, for people to read.
func (a *App) place() string {
	if a.DatabaseURL == "" {
		return a.Dir
	}
	return a.Dir + " and " + config.Mask(a.DatabaseURL)
}

// keywordIndex is a keyword index with what the process does around it.
type keywordIndex interface {
	keyword.Index
	Scrub(ctx context.Context, s scope.Scope) error
	Remaining(ctx context.Context, s scope.Scope, ids []string) (int, error)
	Close() error
}

// openKeyword opens the keyword index of a name; memory is what it may hold in the process.
func (a *App) openKeyword(ctx context.Context, s *Stores, name string, memory int64) (keywordIndex, error) {
	switch {
	case a.Keyword == "postgres" && a.DatabaseURL == "":
		return nil, config.Usagef("KEYWORD=postgres needs DATABASE_URL")
	case a.Keyword == "postgres":
		x, err := postgres.OpenKeyword(ctx, postgres.KeywordConfig{URL: a.DatabaseURL, Schema: a.schema(name), MaxConns: a.DatabaseConns, Language: a.KeywordLang})
		if err != nil {
			return nil, unusable(err, postgres.ErrUnusable)
		}
		return x, nil
	case a.KeywordLang != "":
		return nil, config.Usagef("KEYWORD_LANGUAGE needs KEYWORD=postgres: the index in the process has its own analysis")
	}
	x, err := keywordmem.OpenKeyword(keywordmem.KeywordConfig{Dir: a.Path("index", name), MemoryBytes: memory, OnError: s.damages.snapshotDamage(name, keywordmem.ErrDamaged)})
	if err != nil {
		return nil, fmt.Errorf("open keyword index: %w", err)
	}
	s.evict = append(s.evict, x.Evict)
	return x, nil
}

// CheckDatabase says whether the database keeps what it has committed.
func (a *App) CheckDatabase(ctx context.Context) Finding {
	f := Finding{Check: "logged survives"}
	db, err := postgres.OpenLog(ctx, postgres.LogConfig{URL: a.DatabaseURL, Schema: a.schema("log"), MaxConns: 1})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	risks, err := db.Risks(ctx)
	if err := errors.Join(err, db.Close()); err != nil {
		f.Detail = err.Error()
		return f
	}
	if len(risks) > 0 {
		f.Detail = strings.Join(risks, "; ")
		return f
	}
	f.OK, f.Detail = true, "Postgres commits with fsync and synchronous_commit on; standbys and backups are its administrator's"
	return f
}

// Apart returns the program with settings of its own for a run that leaves nothing behind:
// in the folder dir, and with servers in the database that is set, under other schemas.
func (a *App) Apart(dir string, servers bool) (*App, error) {
	settings := *a.Settings
	settings.Dir, settings.NATSURL, settings.Principals = dir, "", "" // no registry knows its tenants and principals
	if servers && a.DatabaseURL+a.Neo4jURL+a.QdrantURL == "" {
		return nil, config.Usagef("to run on servers it needs DATABASE_URL, NEO4J_URL or QDRANT_URL")
	}
	if servers {
		name := "satchel_run_" + strings.ToLower(rand.Text())
		settings.DatabaseSchema, settings.Neo4jNamespace, settings.QdrantCollection = name, name+"/", name
	} else {
		settings.DatabaseURL, settings.Keyword, settings.KeywordLang = "", "inproc", ""
		settings.Neo4jURL, settings.QdrantURL = "", ""
	}
	return &App{Settings: &settings, Out: a.Out, Err: a.Err, In: a.In}, nil
}

// DropSchemas removes what such a run has made on servers.
func (a *App) DropSchemas(ctx context.Context) error {
	err := a.dropIndexes(ctx)
	if a.DatabaseURL == "" {
		return err
	}
	return errors.Join(err, postgres.Drop(ctx, a.DatabaseURL, a.schema("log"), a.schema("items"), a.schema("keyword"), a.schema("private")))
}
