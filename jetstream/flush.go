package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// flush waits until the server has seen everything sent, until ctx ends or, when it
// has no end, for 10 s.
func flush(ctx context.Context, nc *nats.Conn) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
	}
	return nc.FlushWithContext(ctx)
}
