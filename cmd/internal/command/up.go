package command

import (
	"context"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
)

// Up is satchel up.
type Up struct{}

// Run runs a node until ctx is done.
func (c *Up) Run(ctx context.Context, a *app.App) error { return a.Run(ctx) }

// Worker is satchel worker: it is up for several.
type Worker struct{}

// Run runs a worker until ctx is done.
func (c *Worker) Run(ctx context.Context, a *app.App) error {
	switch {
	case a.NATSURL == "":
		return config.Usagef("workers share a NATS of your own: set NATS_URL")
	case a.DatabaseURL == "":
		return config.Usagef("workers share a database: set DATABASE_URL")
	}
	return a.Run(ctx)
}
