package app

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/postgres"
)

// DATABASE_URL moves the log and the items to Postgres. Each store has a schema of its
// own there, named after SATCHEL_DATABASE_SCHEMA.

// schema returns the name of a store's schema.
func (a *App) schema(store string) string { return a.DatabaseSchema + "_" + store }

// LogDriver opens the database that the settings name for the log.
func (a *App) LogDriver(ctx context.Context) (eventlog.Driver, error) {
	x, _, err := a.drivers().log.open(ctx, a, opening{})
	return x, err
}

// LogInFolder reports whether the log is in the data folder, and not on a server.
func (a *App) LogInFolder() bool { return a.drivers().log.inDir }

// tailBytes is how much of the log's end is kept in memory: nothing of a log that other
// processes write to and erase from.
func (a *App) tailBytes() int {
	if a.drivers().log.shared {
		return 0
	}
	return 16 << 20
}

// place names where the data is, for people to read.
func (a *App) place() string {
	if a.LogInFolder() {
		return a.Dir
	}
	return a.Dir + " and " + config.Mask(a.DatabaseURL)
}

// retrieval is how long a retriever may take: as long as the request has, when none waits
// for a server.
func (a *App) retrieval() time.Duration {
	d := a.drivers()
	if !d.graph.remote && !d.vector.remote && !d.keyword.remote {
		return 0
	}
	return time.Duration(a.RetrievalMS) * time.Millisecond
}

// Apart returns the program with settings of its own for a run that leaves nothing behind:
// in the folder dir, and with servers in the database that is set, under other schemas.
func (a *App) Apart(dir string, servers bool) (*App, error) {
	settings := *a.Settings
	settings.Dir = dir
	settings.NATSURL = ""
	settings.Principals = "" // no registry knows its tenants and principals
	if servers && a.DatabaseURL+a.Neo4jURL+a.QdrantURL == "" {
		return nil, config.Usagef("to run on servers it needs DATABASE_URL, NEO4J_URL or QDRANT_URL")
	}
	if servers {
		name := "satchel_run_" + strings.ToLower(rand.Text())
		settings.DatabaseSchema = name
		settings.Neo4jNamespace = name + "/"
		settings.QdrantCollection = name
	} else {
		settings.DatabaseURL = ""
		settings.Keyword = "inproc"
		settings.KeywordLang = ""
		settings.Neo4jURL = ""
		settings.QdrantURL = ""
	}
	return &App{Settings: &settings, Out: a.Out, Err: a.Err, In: a.In}, nil
}

// DropSchemas removes what such a run has made on servers.
func (a *App) DropSchemas(ctx context.Context) error {
	d := a.drivers()
	err := a.dropIndexes(ctx, d)
	if !d.log.remote {
		return err
	}
	return errors.Join(err, postgres.Drop(ctx, a.DatabaseURL, a.schema("log"), a.schema("items"), a.schema("keyword"), a.schema("private")))
}

// dropIndexes removes what such a run has made on the servers of graph and vectors.
func (a *App) dropIndexes(ctx context.Context, d drivers) error {
	if err := dropStore(ctx, a, d.graph, opening{}); err != nil || !d.vector.remote {
		return err
	}
	e, err := a.openEmbedding(ctx, a.Logger(a.Err))
	if err != nil {
		return err
	}
	if err := e.close(); err != nil {
		return err
	}
	for _, side := range e.sides() {
		if err := dropStore(ctx, a, d.vector, opening{contents: side.Model().String(), dimensions: side.Model().Dimensions}); err != nil {
			return err
		}
	}
	return nil
}

// dropStore removes a store from its server.
func dropStore[P any](ctx context.Context, a *App, d driver[P], o opening) error {
	if !d.remote {
		return nil
	}
	_, k, err := d.open(ctx, a, o)
	if err != nil {
		return err
	}
	return errors.Join(k.drop(ctx), k.close())
}
