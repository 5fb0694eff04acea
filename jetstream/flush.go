package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// flushConnection waits until the server has seen everything sent, until ctx ends or, when it
// has no end, for 10 s.
func flushConnection(ctx context.Context, nc *nats.Conn) error {
	ctx, cancel := answerWithin(ctx, 10*time.Second)
	defer cancel()
	return nc.FlushWithContext(ctx)
}

// Ping returns an error when the server does not answer, at once or within a limit.
func Ping(ctx context.Context, nc *nats.Conn, limit time.Duration) error {
	if !nc.IsConnected() {
		return nats.ErrConnectionReconnecting
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return flushConnection(ctx, nc)
}

// answerWithin gives a context without an end one: a request to a server that goes away
// has no answer.
func answerWithin(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}
