package neo4j

import (
	"context"
	"errors"
	"fmt"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"

	"satchel/pipeline/store/graph"
)

type params = map[string]any

// runReadTransaction runs work in a transaction that reads, on any member of a cluster.
func (db *DB) runReadTransaction(ctx context.Context, tenant string, work func(t *tx) error) error {
	return db.runTransaction(ctx, tenant, neo4j.AccessModeRead, work)
}

// runWriteTransaction runs work in a transaction that writes. Work may run more than once.
func (db *DB) runWriteTransaction(ctx context.Context, tenant string, work func(t *tx) error) error {
	return db.runTransaction(ctx, tenant, neo4j.AccessModeWrite, work)
}

func (db *DB) runTransaction(ctx context.Context, tenant string, mode neo4j.AccessMode, work func(t *tx) error) (err error) {
	within, cancel := context.WithTimeout(ctx, db.cfg.Timeout)
	defer cancel()
	config := neo4j.SessionConfig{AccessMode: mode, DatabaseName: db.cfg.Database, FetchSize: neo4j.FetchAll}
	if marks, ok := db.marks.Load(tenant); ok && mode == neo4j.AccessModeRead {
		config.Bookmarks = marks.(neo4j.Bookmarks)
	}
	session := db.driver.NewSession(within, config)
	defer func() { err = errors.Join(err, cleanError(ctx, session.Close(context.WithoutCancel(ctx)))) }()
	execute := session.ExecuteRead
	if mode == neo4j.AccessModeWrite {
		execute = session.ExecuteWrite
	}
	_, err = execute(within, func(m neo4j.ManagedTransaction) (any, error) {
		return nil, work(&tx{ctx: within, tx: m, tenant: db.cfg.Namespace + tenant})
	}, neo4j.WithTxTimeout(db.cfg.Timeout))
	switch {
	case err != nil:
		// A database that was set back waits for a bookmark that never comes.
		db.marks.Delete(tenant)
	case mode == neo4j.AccessModeWrite:
		db.marks.Store(tenant, session.LastBookmarks())
	}
	return cleanError(ctx, err)
}

// tx is a transaction of one tenant.
type tx struct {
	ctx    context.Context
	tx     neo4j.ManagedTransaction
	tenant string
}

// runStatement runs a statement; the parameter "tenant" is added.
func (t *tx) runStatement(statement string, p params) ([]*neo4j.Record, error) {
	if p == nil {
		p = params{}
	}
	p["tenant"] = t.tenant
	result, err := t.tx.Run(t.ctx, statement, p)
	if err != nil {
		return nil, err
	}
	return result.Collect(t.ctx)
}

// runForList runs a statement for a list, which is its parameter "list"; for none it does not.
func (t *tx) runForList(statement string, list []any) ([]*neo4j.Record, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return t.runStatement(statement, params{"list": list})
}

// serverError is an error of the server without its text, which may quote what is stored.
type serverError struct{ *neo4j.Neo4jError }

func (e serverError) Error() string { return "Neo4j answers " + e.Code }
func (e serverError) Unwrap() error { return e.Neo4jError }

// cleanError takes what is stored out of an error, and names one that came of the caller's
// context after it.
func cleanError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	if errors.Is(err, graph.ErrCorrupt) || errors.Is(err, ErrWentBack) {
		return err
	}
	var limit *neo4j.TransactionExecutionLimit
	if errors.As(err, &limit) && len(limit.Errors) > 0 {
		return fmt.Errorf("%s: %w", limit.Cause, cleanError(ctx, limit.Errors[len(limit.Errors)-1]))
	}
	var e *neo4j.Neo4jError
	if errors.As(err, &e) {
		return serverError{e}
	}
	return err
}
