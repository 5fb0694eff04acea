package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Attempt runs a transaction, again when it lost against others, up to eight times.
func Attempt(run func() error) error {
	const attempts = 8
	for n := 1; ; n++ {
		if err := run(); err == nil || n == attempts || Classify(err) != Retry {
			return err
		}
	}
}

// Tenant is a locked row of a table tenants (id, name, checkpoint).
type Tenant struct {
	ID         int32
	Checkpoint int64
}

// UpdateTenant runs fn in a transaction that holds the tenant's row, which it makes when it is
// not there. fn may be run again.
func UpdateTenant(ctx context.Context, pool *pgxpool.Pool, tenant string, fn func(pgx.Tx, Tenant) error) error {
	return Attempt(func() error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			row, err := lockTenant(ctx, tx, tenant)
			if err != nil {
				return err
			}
			return fn(tx, row)
		})
	})
}

func lockTenant(ctx context.Context, tx pgx.Tx, tenant string) (row Tenant, err error) {
	const lock = "SELECT id, checkpoint FROM tenants WHERE name = $1 FOR UPDATE"
	err = tx.QueryRow(ctx, lock, tenant).Scan(&row.ID, &row.Checkpoint)
	if !errors.Is(err, pgx.ErrNoRows) {
		return row, err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO tenants (name) VALUES ($1) ON CONFLICT (name) DO NOTHING", tenant); err != nil {
		return row, err
	}
	err = tx.QueryRow(ctx, lock, tenant).Scan(&row.ID, &row.Checkpoint)
	return row, err
}
