package command

import (
	"context"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
)

// Up is satchel up.
type Up struct{}

// Worker is satchel worker.
type Worker struct{}

// Help shows how it is called.
func (Worker) Help() string {
	return `Examples:
  SATCHEL_NATS_URL=nats://a:4222,nats://b:4222 SATCHEL_DATABASE_URL=postgres://… satchel worker
  satchel worker --dir /var/lib/satchel-2 --http-addr 127.0.0.1:8231

Workers share the streams and the database. Each has a data folder of its own, with the
same keys/log.key and keys/log.pub. A worker may join, leave or be killed at any time.`
}

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

// Help shows how it is called.
func (Up) Help() string {
	return `Examples:
  satchel up
  satchel up --dir /var/lib/satchel --nats-port 4333
  SATCHEL_NATS_URL=nats://nats:4222 satchel up

Ctrl-C drains: requests under way are answered, events under way are committed.`
}

// Run runs a node until ctx is done.
func (c *Up) Run(ctx context.Context, a *app.App) error { return a.Run(ctx) }
