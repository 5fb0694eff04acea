package main

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

	"satchel/jetstream"
)

// connection is how the settings say to connect.
func (a *app) connection(url, name string) jetstream.ConnectConfig {
	return jetstream.ConnectConfig{URL: url, Name: name, Creds: a.Creds, NKeySeed: a.NKey, CA: a.NATSCA, Cert: a.NATSCert, Key: a.NATSKey}
}

// streamConfig is what the streams have to be on the server that nc is connected to.
func (a *app) streamConfig(nc *nats.Conn) jetstream.Config {
	share := int64(a.StreamMB) << 20 / 16
	cfg := jetstream.Config{MemoryBytes: 7 * share, LedgerBytes: 7 * share, DLQBytes: share, ArtifactBytes: int64(a.ArtifactMB) << 20, External: a.NATSURL != ""}
	if cfg.External {
		if cfg.Replicas = a.NATSReplicas; cfg.Replicas == 0 {
			cfg.Replicas = jetstream.Copies(nc)
		}
	}
	return cfg
}

// explainNATS says in one sentence why there is no connection.
func explainNATS(url string, err error) error {
	var refused *net.OpError
	switch {
	case errors.Is(err, jetstream.ErrCredentials):
		return usagef("connect to %s: %w", mask(url), jetstream.ErrCredentials)
	case errors.Is(err, jetstream.ErrCertificate):
		return usagef("connect to %s: %w", mask(url), err)
	case errors.Is(err, nats.ErrNoServers), errors.As(err, &refused):
		return fmt.Errorf("no NATS server at %s; %w", mask(url), errNobody)
	}
	return fmt.Errorf("connect to %s: %w", mask(url), err)
}

// inspectNATS finds out what the servers promise.
func (a *app) inspectNATS(ctx context.Context, conn js.JetStream) (jetstream.Durability, error) {
	var from jetstream.Sources
	if a.NATSMonitor != "" {
		from.Monitor = strings.Split(a.NATSMonitor, ",")
	}
	var failed error
	if a.NATSSysCreds != "" {
		cfg := a.connection(a.NATSURL, "satchel doctor")
		cfg.Creds, cfg.NKeySeed = a.NATSSysCreds, ""
		nc, err := jetstream.Connect(ctx, cfg, a.logger(a.err))
		if err != nil {
			failed = fmt.Errorf("NATS_SYS_CREDS: %w", err)
		} else {
			defer nc.Close()
			from.System = nc
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	d, err := jetstream.Inspect(ctx, conn, a.streamConfig(conn.Conn()), from)
	return d, errors.Join(failed, err)
}

// checkNATS says which promises the servers of NATS_URL hold.
func (a *app) checkNATS(ctx context.Context) []finding {
	const check = "accepted survives"
	nc, err := jetstream.Connect(ctx, a.connection(a.NATSURL, "satchel doctor"), a.logger(a.err))
	if err != nil {
		return []finding{{Check: check, Detail: explainNATS(a.NATSURL, err).Error()}}
	}
	defer nc.Close()
	conn, err := jetstream.Open(ctx, nc)
	if err != nil {
		return []finding{{Check: check, Detail: err.Error()}}
	}
	d, err := a.inspectNATS(ctx, conn)
	if len(d.Streams) == 0 {
		return []finding{{Check: check, Detail: fmt.Sprint(err)}}
	}
	list := []finding{holds("streams", d.Configured), holds("a power cut", d.Synced)}
	if a.streamConfig(nc).Replicas >= 3 {
		list = append(list, holds("a lost server", d.Replicated))
	} else {
		list = append(list, finding{Check: "a lost server", OK: true, Detail: "not promised: one copy, on one server; a cluster of three keeps three"})
	}
	if err != nil {
		list = append(list, finding{Check: "NATS monitoring", Detail: err.Error()})
	}
	return list
}

func holds(check string, verdict func() (bool, string)) finding {
	ok, why := verdict()
	return finding{Check: check, OK: ok, Detail: why}
}

// warnOfPromises logs what an external NATS does not promise.
func (a *app) warnOfPromises(ctx context.Context, conn js.JetStream, logger *slog.Logger) {
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
