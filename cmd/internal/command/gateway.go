package command

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/emitters/gateway"
	"satchel/emitters/gateway/oidc"
	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/meter"
	"satchel/schemas"
)

// Gateway is satchel gateway.
type Gateway struct {
	Addr      string   `help:"Where it listens." default:"127.0.0.1:8228"`
	Tokens    string   `help:"Token file, as satchel token add writes it; default tokens.yaml in the data folder." placeholder:"FILE"`
	Host      []string `help:"Names under which it may be called, beside localhost."`
	Label     []string `help:"Labels (name:value) of items that are stored without labels." default:"level:internal"`
	BehindTLS bool     `name:"behind-tls" help:"Allow --addr beyond this machine. A proxy in front of the gateway must terminate TLS."`
}

// Run serves until Ctrl-C.
func (c *Gateway) Run(ctx context.Context, a *app.App) error {
	path := tokensPath(a, c.Tokens)
	issuer, err := verifier(a)
	if err != nil {
		return err
	}
	tokens, err := gateway.OpenTokens(path, func(err error) { fmt.Fprintf(a.Err, "no token holds until the file is mended: %v\n", err) })
	if err != nil && (issuer == nil || !errors.Is(err, os.ErrNotExist)) {
		return config.Usagef("%v: make one with satchel token add", err)
	}
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return config.Usagef("--addr %q: %v", c.Addr, err)
	}
	if !httpclient.OnThisMachine(host) && !c.BehindTLS {
		return config.Usagef("--addr %s is beyond this machine, where tokens would be read by others: put a proxy with TLS in front, and say --behind-tls", c.Addr)
	}
	conn, err := Dial(ctx, a)
	if err != nil {
		return err
	}
	defer conn.Close()
	key := []byte(rand.Text() + rand.Text())
	meters := meter.New(append(schemas.GatewayMetrics(), schemas.MetricBuild)...)
	handler, err := gateway.New(gateway.Config{NC: conn.NC, Tokens: tokens, OIDC: issuer, Labels: c.Label, Hosts: c.Host, Version: app.Version(), Key: key, TLS: c.BehindTLS,
		Answered: app.CountGateway(meters), Streams: func(n int) { meters.Gauge(schemas.MetricGatewayStreams).Add(float64(n)) }, Metrics: meters.Handler()})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return config.Usagef("listen on %s: %v; choose another with --addr", c.Addr, err)
	}
	return serveUntil(ctx, gateway.Server(handler), listener, func() {
		if issuer != nil {
			_ = issuer.Ready(ctx) // a failure is told, and the issuer asked again
		}
		fmt.Fprintf(a.Out, "gateway http://%s/openapi.json, tokens %s\n", listener.Addr(), path)
	})
}

// serveUntil serves, says so by ready, and ends when ctx is done and what is under way has its answer.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener, ready func()) error {
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	ready()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		quiet, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = server.Shutdown(quiet)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// verifier is what verifies the JSON Web Tokens of the issuer in the settings; nil without one.
func verifier(a *app.App) (*oidc.Verifier, error) {
	if a.OIDCIssuer == "" {
		return nil, nil
	}
	roots, err := httpclient.Roots(a.OIDCCA)
	if err != nil {
		return nil, config.Usagef("--oidc-ca: %v", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	v, err := oidc.New(oidc.Config{
		Issuer: a.OIDCIssuer, Audience: a.OIDCAudience, TenantClaim: a.OIDCTenantClaim, Tenant: a.Tenant,
		PrincipalClaim: a.OIDCPrincipalClaim, Clearance: a.OIDCClearance, Algorithms: a.OIDCAlgorithms,
		Skew: time.Duration(a.OIDCSkew) * time.Second, HTTP: &http.Client{Transport: transport},
		Unread: func(err error) { fmt.Fprintf(a.Err, "JSON Web Tokens wait for the issuer: %v\n", err) },
	})
	if err != nil {
		return nil, config.Usagef("--oidc-issuer, --oidc-audience: %v", err)
	}
	return v, nil
}
