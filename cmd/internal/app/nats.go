package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"satchel/cmd/internal/config"
	"satchel/jetstream"
)

// Connection is how the settings say to connect.
func (a *App) Connection(url, name string) jetstream.ConnectConfig {
	return jetstream.ConnectConfig{URL: url, Name: name, Creds: a.Creds, NKeySeed: a.NKey, CA: a.NATSCA, Cert: a.NATSCert, Key: a.NATSKey}
}

// StreamConfig is what the streams have to be on the server that nc is connected to.
func (a *App) StreamConfig(nc *nats.Conn) jetstream.Config {
	share := int64(a.StreamMB) << 20 / 16
	cfg := jetstream.Config{MemoryBytes: 7 * share, LedgerBytes: 7 * share, DLQBytes: share, ArtifactBytes: int64(a.ArtifactMB) << 20, External: a.NATSURL != ""}
	if cfg.External {
		cfg.Replicas = a.NATSReplicas
		if cfg.Replicas == 0 {
			cfg.Replicas = jetstream.Copies(nc)
		}
	}
	return cfg
}

// ExplainNATS says in one sentence why there is no connection.
func ExplainNATS(url string, err error) error {
	var refused *net.OpError
	switch {
	case errors.Is(err, jetstream.ErrCredentials):
		return config.Usagef("connect to %s: %w", config.Mask(url), jetstream.ErrCredentials)
	case errors.Is(err, jetstream.ErrCertificate):
		return config.Usagef("connect to %s: %w", config.Mask(url), err)
	case errors.Is(err, nats.ErrNoServers), errors.As(err, &refused):
		return fmt.Errorf("no NATS server at %s; %w", config.Mask(url), ErrNobody)
	}
	return fmt.Errorf("connect to %s: %w", config.Mask(url), err)
}

// inspectNATS finds out what the servers promise.
func (a *App) inspectNATS(ctx context.Context, conn js.JetStream) (jetstream.Durability, error) {
	var from jetstream.Sources
	if a.NATSMonitor != "" {
		from.Monitor = strings.Split(a.NATSMonitor, ",")
	}
	var failed error
	if a.NATSSysCreds != "" {
		cfg := a.Connection(a.NATSURL, "satchel doctor")
		cfg.Creds = a.NATSSysCreds
		cfg.NKeySeed = ""
		nc, err := jetstream.Connect(ctx, cfg, a.Logger(a.Err))
		if err != nil {
			failed = fmt.Errorf("NATS_SYS_CREDS: %w", err)
		} else {
			defer nc.Close()
			from.System = nc
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	d, err := jetstream.Inspect(ctx, conn, a.StreamConfig(conn.Conn()), from)
	return d, errors.Join(failed, err)
}

// CheckNATS says which promises the servers of NATS_URL hold.
func (a *App) CheckNATS(ctx context.Context) []Finding {
	const check = "accepted survives"
	nc, err := jetstream.Connect(ctx, a.Connection(a.NATSURL, "satchel doctor"), a.Logger(a.Err))
	if err != nil {
		return []Finding{{Check: check, Detail: ExplainNATS(a.NATSURL, err).Error()}}
	}
	defer nc.Close()
	conn, err := jetstream.Open(ctx, nc)
	if err != nil {
		return []Finding{{Check: check, Detail: err.Error()}}
	}
	d, err := a.inspectNATS(ctx, conn)
	if len(d.Streams) == 0 {
		return []Finding{{Check: check, Detail: fmt.Sprint(err)}}
	}
	list := []Finding{holds("streams", d.Configured), holds("a power cut", d.Synced)}
	if a.StreamConfig(nc).Replicas >= 3 {
		list = append(list, holds("a lost server", d.Replicated))
	} else {
		list = append(list, Finding{Check: "a lost server", OK: true, Detail: "not promised: one copy, on one server; a cluster of three keeps three"})
	}
	if err != nil {
		list = append(list, Finding{Check: "NATS monitoring", Detail: err.Error()})
	}
	return list
}

func holds(check string, verdict func() (bool, string)) Finding {
	ok, why := verdict()
	return Finding{Check: check, OK: ok, Detail: why}
}

// warnOfPromises logs what an external NATS does not promise.
func (a *App) warnOfPromises(ctx context.Context, conn js.JetStream, logger *slog.Logger) {
	d, err := a.inspectNATS(ctx, conn)
	if err != nil {
		logger.Warn("external NATS", "error", err)
	}
	if ok, why := d.Synced(); !ok {
		logger.Warn("external NATS: an acknowledged event may not survive a power cut", "why", why)
	}
	if ok, why := d.Replicated(); !ok {
		logger.Warn("external NATS: an acknowledged event may not survive the loss of a server", "why", why)
	}
}
