package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	logpg "satchel/pipeline/store/eventlog/postgres"
	logsqlite "satchel/pipeline/store/eventlog/sqlite"
	"satchel/pipeline/store/items"
	itempg "satchel/pipeline/store/items/postgres"
	itemsqlite "satchel/pipeline/store/items/sqlite"
	"satchel/pipeline/store/keyword"
	keywordmem "satchel/pipeline/store/keyword/inproc"
	keywordpg "satchel/pipeline/store/keyword/postgres"
)

// DATABASE_URL moves the log and the items to Postgres. Each store has a schema of its
// own there, named after SATCHEL_DATABASE_SCHEMA.

// schema returns the name of a store's schema.
func (a *app) schema(store string) string { return a.DatabaseSchema + "_" + store }

// logDriver opens the database that the settings name for the log.
func (a *app) logDriver(ctx context.Context) (eventlog.Driver, error) {
	if a.DatabaseURL == "" {
		driver, err := logsqlite.Open(ctx, logsqlite.Config{Path: a.path("log.db")})
		if err != nil {
			return nil, fmt.Errorf("open event log: %w", err)
		}
		return driver, nil
	}
	driver, err := logpg.Open(ctx, logpg.Config{URL: a.DatabaseURL, Schema: a.schema("log"), MaxConns: a.DatabaseConns})
	if err != nil {
		return nil, unusable(err, logpg.ErrUnusable)
	}
	return driver, nil
}

// tailBytes is how much of the log's end is kept in memory: nothing of a log that other
// processes write to and erase from.
func (a *app) tailBytes() int {
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
func (a *app) openItems(ctx context.Context, memory int64) (*items.Items, itemStore, error) {
	if a.DatabaseURL == "" {
		db, err := itemsqlite.Open(ctx, itemsqlite.Config{Path: a.path("index", "items.db"), MemoryBytes: memory / 8})
		if err != nil {
			return nil, nil, fmt.Errorf("open items: %w", err)
		}
		return items.NewKeeping(db, memory/10), db, nil
	}
	db, err := itempg.Open(ctx, itempg.Config{URL: a.DatabaseURL, Schema: a.schema("items"), MaxConns: a.DatabaseConns})
	if err != nil {
		return nil, nil, unusable(err, itempg.ErrUnusable)
	}
	return items.NewShared(db), db, nil
}

// place names where the data is, for people to read.
func (a *app) place() string {
	if a.DatabaseURL == "" {
		return a.Dir
	}
	return a.Dir + " and " + mask(a.DatabaseURL)
}

// keywordIndex is a keyword index with what the process does around it.
type keywordIndex interface {
	keyword.Index
	Scrub(ctx context.Context, s scope.Scope) error
	Close() error
}

// openKeyword opens the keyword index; memory is what it may hold in the process.
func (a *app) openKeyword(ctx context.Context, memory int64, onError func(string, error)) (keywordIndex, error) {
	switch {
	case a.Keyword == "postgres" && a.DatabaseURL == "":
		return nil, usagef("KEYWORD=postgres needs DATABASE_URL")
	case a.Keyword == "postgres":
		x, err := keywordpg.Open(ctx, keywordpg.Config{URL: a.DatabaseURL, Schema: a.schema("keyword"), MaxConns: a.DatabaseConns, Language: a.KeywordLang})
		if err != nil {
			return nil, unusable(err, keywordpg.ErrUnusable)
		}
		return x, nil
	case a.KeywordLang != "":
		return nil, usagef("KEYWORD_LANGUAGE needs KEYWORD=postgres: the index in the process has its own analysis")
	}
	x, err := keywordmem.Open(keywordmem.Config{Dir: a.path("index", "keyword"), MemoryBytes: memory, OnError: onError})
	if err != nil {
		return nil, fmt.Errorf("open keyword index: %w", err)
	}
	return x, nil
}

// checkDatabase says whether the database keeps what it has committed.
func (a *app) checkDatabase(ctx context.Context) finding {
	f := finding{Check: "logged survives"}
	db, err := logpg.Open(ctx, logpg.Config{URL: a.DatabaseURL, Schema: a.schema("log"), MaxConns: 1})
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

// apart returns the program with settings of its own for a run that leaves nothing behind:
// in the folder dir, and with servers in the database that is set, under other schemas.
func (a *app) apart(dir string, servers bool) (*app, error) {
	settings := *a.Settings
	settings.Dir, settings.NATSURL = dir, ""
	if servers && a.DatabaseURL+a.Neo4jURL+a.QdrantURL == "" {
		return nil, usagef("to run on servers it needs DATABASE_URL, NEO4J_URL or QDRANT_URL")
	}
	if servers {
		name := "satchel_run_" + strings.ToLower(rand.Text())
		settings.DatabaseSchema, settings.Neo4jNamespace, settings.QdrantCollection = name, name+"/", name
	} else {
		settings.DatabaseURL, settings.Keyword, settings.KeywordLang = "", "inproc", ""
		settings.Neo4jURL, settings.QdrantURL = "", ""
	}
	return &app{Settings: &settings, out: a.out, err: a.err, in: a.in}, nil
}

// dropSchemas removes what such a run has made on servers.
func (a *app) dropSchemas(ctx context.Context) error {
	err := a.dropIndexes(ctx)
	if a.DatabaseURL == "" {
		return err
	}
	return errors.Join(err, logpg.Drop(ctx, a.DatabaseURL, a.schema("log"), a.schema("items"), a.schema("keyword")))
}
