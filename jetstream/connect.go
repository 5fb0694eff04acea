package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ConnectConfig says where NATS is. The zero value is nats://127.0.0.1:4222.
type ConnectConfig struct {
	URL         string        // comma-separated, default nats.DefaultURL
	Name        string        // connection name as monitoring shows it, default "satchel"
	Creds       string        // path of a credentials file, "" for none
	NKeySeed    string        // path of a seed file, "" for none
	InProcess   nats.Option   // of an embedded server; URL is then not used
	RetryFirst  bool          // keep trying when the first attempt fails, until ctx ends
	DrainLimit  time.Duration // how long a drain may take, default 30 s
	ReconnectIn time.Duration // pause between attempts, default 500 ms
}

// Connect opens a connection that reconnects for ever. Without RetryFirst a server
// that does not answer is an error at once; with it Connect waits until the server
// answers or ctx ends. Disconnects are logged, never the URL's secrets.
func Connect(ctx context.Context, cfg ConnectConfig, log *slog.Logger) (*nats.Conn, error) {
	if cfg.URL == "" {
		cfg.URL = nats.DefaultURL
	}
	if cfg.Name == "" {
		cfg.Name = "satchel"
	}
	if cfg.DrainLimit == 0 {
		cfg.DrainLimit = 30 * time.Second
	}
	if cfg.ReconnectIn == 0 {
		cfg.ReconnectIn = 500 * time.Millisecond
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	connected := make(chan struct{}, 1)
	options := []nats.Option{
		nats.Name(cfg.Name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(cfg.ReconnectIn),
		nats.DrainTimeout(cfg.DrainLimit),
		nats.RetryOnFailedConnect(cfg.RetryFirst),
		nats.ConnectHandler(func(*nats.Conn) { connected <- struct{}{} }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("nats disconnected", "cause", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("nats reconnected", "server", nc.ConnectedServerName()) }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			log.Warn("nats error", "subject", subject, "cause", err)
		}),
	}
	if cfg.Creds != "" {
		options = append(options, nats.UserCredentials(cfg.Creds))
	}
	if cfg.NKeySeed != "" {
		key, err := nats.NkeyOptionFromSeed(cfg.NKeySeed)
		if err != nil {
			return nil, fmt.Errorf("read nkey seed: %w", err)
		}
		options = append(options, key)
	}
	if cfg.InProcess != nil {
		options = append(options, cfg.InProcess)
	}
	nc, err := nats.Connect(cfg.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	select {
	case <-connected:
		return nc, nil
	case <-ctx.Done():
		nc.Close()
		return nil, fmt.Errorf("connect to nats: %w", context.Cause(ctx))
	}
}

// Open returns JetStream on nc and checks that the account has it.
func Open(ctx context.Context, nc *nats.Conn) (jetstream.JetStream, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open jetstream: %w", err)
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		return nil, fmt.Errorf("open jetstream: %w", err)
	}
	return js, nil
}

// Drain lets subscriptions and pending messages finish, then closes nc. It waits for
// the end or for ctx.
func Drain(ctx context.Context, nc *nats.Conn) error {
	closed := nc.StatusChanged(nats.CLOSED)
	defer nc.RemoveStatusListener(closed)
	if err := nc.Drain(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		nc.Close()
		return fmt.Errorf("drain nats connection: %w", err)
	}
	if nc.IsClosed() {
		return nil
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		nc.Close()
		return fmt.Errorf("drain nats connection: %w", context.Cause(ctx))
	}
}
