package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"satchel/cmd/internal/config"
	"satchel/pipeline/meter"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/witness"
)

// openWitnesses reads which witnesses cosign the heads; nil for none.
func (a *App) openWitnesses(n *Node, o NodeOptions) (*witness.Client, error) {
	return a.witnesses(witness.Config{Log: n.Log, Meter: n.meters, Clock: o.Clock, Logger: n.logger})
}

// witnesses returns a client of the witnesses that the settings name; nil for none.
func (a *App) witnesses(cfg witness.Config) (_ *witness.Client, err error) {
	if a.Witnesses == "" {
		return nil, nil
	}
	if cfg.Policy, err = os.ReadFile(a.Witnesses); err != nil {
		return nil, config.Usagef("--witnesses: %v", err)
	}
	cfg.Dir = a.Path("heads")
	c, err := witness.New(cfg)
	if err != nil {
		return nil, config.Usagef("--witnesses %s: %v; docs/how-to/witness.md shows one", a.Witnesses, err)
	}
	return c, nil
}

// Confirm returns what asks the witnesses whether a log may have a head; nil without witnesses. It fails with
// a *witness.ConflictError when one of them cosigned what the log does not continue. A witness that does not
// say is logged.
func (a *App) Confirm(log *eventlog.Log, logger *slog.Logger) (func(ctx context.Context, head eventlog.Head) error, error) {
	c, err := a.witnesses(witness.Config{Log: log, Meter: meter.New(schemas.MetricWitnessSize, schemas.MetricWitnessTimestamp, schemas.MetricWitnessConflicts), Logger: logger})
	if c == nil || err != nil {
		return nil, err
	}
	return func(ctx context.Context, head eventlog.Head) error {
		s, err := scope.System(head.Tenant)
		if err != nil || head.Size == 0 {
			return err
		}
		signed, err := log.SignHead(head)
		if err != nil {
			return err
		}
		err = c.Confirm(ctx, s, schemas.HeadReply{Size: head.Size, Root: hex.EncodeToString(head.Root[:]), Checkpoint: string(signed), PublicKey: log.VerifierKey(s)})
		var conflict *witness.ConflictError
		if errors.As(err, &conflict) || ctx.Err() != nil {
			return fmt.Errorf("tenant %s: %w", head.Tenant, errors.Join(err, ctx.Err()))
		}
		if err != nil {
			logger.Warn("a witness does not say whether the log is whole", "tenant", head.Tenant, "error", err)
		}
		return nil
	}, nil
}
