package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/worker/erasure"
)

// RolledBack returns, by tenant, how the log contradicts its kept head.
func (a *App) RolledBack(ctx context.Context, log *eventlog.Log) (map[string]*eventlog.VerifyError, error) {
	tenants, err := a.Tenants(ctx, log)
	if err != nil {
		return nil, err
	}
	found := map[string]*eventlog.VerifyError{}
	for _, tenant := range tenants {
		s, err := scope.System(tenant)
		if err != nil {
			return nil, err
		}
		var bad *eventlog.VerifyError
		switch err := log.CheckTrustedHead(ctx, s); {
		case errors.As(err, &bad):
			found[tenant] = bad
		case errors.Is(err, eventlog.ErrOtherKey):
			return nil, otherKey(err)
		case err != nil:
			return nil, err
		}
	}
	return found, nil
}

// refuseRolledBack refuses to go on with a log that was rolled back.
func (a *App) refuseRolledBack(ctx context.Context, log *eventlog.Log) error {
	found, err := a.RolledBack(ctx, log)
	if err != nil {
		return err
	}
	for _, bad := range found {
		return fmt.Errorf("%w; restore a newer backup, or see satchel rollback --help", bad)
	}
	return nil
}

// RebuildIndexes makes a tenant's indexes again from its log.
func (a *App) RebuildIndexes(ctx context.Context, s *Stores, sc scope.Scope) error {
	bar := a.Progress("rebuilding " + sc.Tenant())
	defer bar.End()
	return s.Projector().Rebuild(ctx, sc, bar.Set)
}

// eraseAgain repeats the erasures that a restored log does not have. The caller MUST NOT serve
// anything before. The indexes of this process may hold entries that the log lost, so it rebuilds
// them. Indexes in a database are restored with the log.
func (a *App) eraseAgain(ctx context.Context, s *Stores, clock func() time.Time, logger *slog.Logger) error {
	tenants, err := s.Log.ErasureTenants()
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		sc, err := scope.System(tenant)
		if err != nil {
			return err
		}
		again, err := erasure.RepeatLost(ctx, s.Log, sc, clock, logger)
		if err != nil {
			return DamagedList(err)
		}
		if again == 0 || a.drivers().items.shared {
			continue
		}
		if err := a.RebuildIndexes(ctx, s, sc); err != nil {
			return err
		}
	}
	return nil
}

// DamagedList adds the remedy to the error of a list of erasures that cannot be read.
func DamagedList(err error) error {
	switch {
	case errors.Is(err, eventlog.ErrOtherKey):
		return otherKey(err)
	case errors.Is(err, eventlog.ErrCorrupt):
		return fmt.Errorf("%w; docs/reference/troubleshooting.md says how to go on", err)
	}
	return err
}
