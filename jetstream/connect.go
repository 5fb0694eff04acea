package jetstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ConnectConfig says where NATS is. The zero value is nats://127.0.0.1:4222.
type ConnectConfig struct {
	URL              string            // comma-separated, default nats.DefaultURL
	Name             string            // connection name as monitoring shows it, default "satchel"
	Creds            string            // path of a credentials file, "" for none
	NKeySeed         string            // path of a seed file, "" for none
	CA               string            // path of a PEM file with the certificates to trust, "" for the system's
	Cert, Key        string            // paths of a client certificate and its key, "" for none
	User             nats.Option       // nil: none
	InProcess        nats.Option       // of an embedded server; URL is then not used
	RetryFirst       bool              // keep trying when the first attempt fails, until ctx ends
	DrainLimit       time.Duration     // how long a drain may take, default 30 s
	ReconnectIn      time.Duration     // pause between attempts, default 500 ms
	PermissionErrors *PermissionErrors // keeps what the server denies, nil: it is only logged
}

// The reasons for which a server does not serve us, beside nats.ErrNoServers.
var (
	// ErrCredentials: the server does not accept who we say we are.
	ErrCredentials = errors.New("NATS does not accept the credentials: see NATS_CREDS, NATS_NKEY and the user in NATS_URL")
	// ErrCertificate: one side does not trust the other's certificate.
	ErrCertificate = errors.New("the TLS certificates of NATS and Satchel do not fit: see NATS_CA, NATS_CERT and NATS_KEY")
	// ErrNoJetStream: the server or the account has no JetStream.
	ErrNoJetStream = errors.New("NATS has no JetStream for this account: enable it on the servers and for the account")
	// ErrPermission: the user may not use a subject.
	ErrPermission = errors.New("the NATS user lacks a permission")
)

// Connect opens a connection that reconnects for ever, also when credentials that were
// accepted are refused for a while. Without RetryFirst a server that does not answer is an
// error at once; with it Connect waits until the server answers or ctx ends. Disconnects
// are logged, never the URL's secrets.
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
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2), // a half-open connection is noticed in half a minute
		nats.RetryOnFailedConnect(cfg.RetryFirst),
		nats.IgnoreAuthErrorAbort(),
		nats.ConnectHandler(func(*nats.Conn) { connected <- struct{}{} }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("nats disconnected", "cause", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			cfg.PermissionErrors.forgetDenials(nc)
			log.Info("nats reconnected", "server", nc.ConnectedServerName())
		}),
		nats.ErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			cfg.PermissionErrors.notePermissionError(nc, err, time.Now(), 10*cfg.ReconnectIn)
			log.Warn("nats error", "subject", subject, "cause", err)
		}),
	}
	if cfg.Creds != "" {
		options = append(options, nats.UserCredentials(cfg.Creds))
	}
	var rotating atomic.Pointer[nats.Conn]
	if cfg.NKeySeed != "" {
		key, err := nats.NkeyOptionFromSeed(cfg.NKeySeed)
		if err != nil {
			return nil, fmt.Errorf("read nkey seed: %w", err)
		}
		options = append(options, key, nats.CustomReconnectDelay(func(int) time.Duration { // before each round of attempts, in their goroutine
			if nc := rotating.Load(); nc != nil {
				if key, err := nats.NkeyOptionFromSeed(cfg.NKeySeed); err == nil { // the file may hold another by now
					_ = key(&nc.Opts) // it names both, and so is no error
				}
			}
			return cfg.ReconnectIn + rand.N(nats.DefaultReconnectJitter)
		}))
	}
	if cfg.CA != "" {
		options = append(options, nats.RootCAs(cfg.CA))
	}
	if cfg.Cert != "" || cfg.Key != "" {
		options = append(options, nats.ClientCert(cfg.Cert, cfg.Key))
	}
	if cfg.User != nil {
		options = append(options, cfg.User)
	}
	if cfg.InProcess != nil {
		options = append(options, cfg.InProcess)
	}
	nc, err := nats.Connect(cfg.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to nats: %w", connectError(err))
	}
	rotating.Store(nc)
	select {
	case <-connected:
		return nc, nil
	case <-ctx.Done():
		nc.Close()
		return nil, fmt.Errorf("connect to nats: %w", context.Cause(ctx))
	}
}

// connectError names what a user can do about a failed connection.
func connectError(err error) error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid), errors.As(err, &record),
		errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted), strings.Contains(err.Error(), "tls: "),
		strings.Contains(err.Error(), "tls error: "): // a server that wants a certificate may close before it says so
		return fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	return err
}

// ackWithin is how long an asynchronous publish waits for its acknowledgement. In a cluster whose
// leader ends, none may ever come.
const ackWithin = 10 * time.Second

// Open returns JetStream on nc and checks that the account has it, and that the server is
// 2.12 or later: older ones know no atomic batches. While a cluster elects its leader it
// waits, up to 30 s.
func Open(ctx context.Context, nc *nats.Conn) (jetstream.JetStream, error) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncTimeout(ackWithin))
	if err != nil {
		return nil, fmt.Errorf("open jetstream: %w", err)
	}
	if version := nc.ConnectedServerVersion(); !atLeast(version, 2, 12) {
		return nil, fmt.Errorf("open jetstream: NATS server %s is too old: 2.12 or later is needed", version)
	}
	err = whileAway(ctx, nc, func(ctx context.Context) error {
		_, err := js.AccountInfo(ctx)
		return err
	})
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		err = errors.Join(ErrNoJetStream, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open jetstream: %w", err)
	}
	return js, nil
}

// whileAway calls f until it succeeds or fails for another reason than that no server
// answered, for up to 30 s. A request that the user may not make gets no answer, either:
// that is ErrPermission.
func whileAway(ctx context.Context, nc *nats.Conn, f func(context.Context) error) error {
	const limit, attempt, pause = 30 * time.Second, 5 * time.Second, 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		once, done := context.WithTimeout(ctx, attempt)
		err := f(once)
		done()
		if denied := permissionError(nc); err != nil && denied != nil {
			return denied
		}
		if err == nil || !isAway(err) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// openStream opens a stream that is there, also while its servers elect a leader.
func openStream(ctx context.Context, js jetstream.JetStream, name string) (stream jetstream.Stream, err error) {
	err = whileAway(ctx, js.Conn(), func(ctx context.Context) (err error) {
		stream, err = js.Stream(ctx, name)
		return err
	})
	return stream, err
}

// permissionError is the last thing the server refused, nil when it refused nothing.
func permissionError(nc *nats.Conn) error {
	last := nc.LastError()
	if !errors.Is(last, nats.ErrPermissionViolation) {
		return nil
	}
	text := last.Error()
	if at := strings.LastIndex(text, "ermissions "); at > 0 {
		text = "P" + text[at:]
	}
	return fmt.Errorf("%w: %s", ErrPermission, text)
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
