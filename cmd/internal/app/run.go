package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"satchel/cmd/internal/config"
	"satchel/jetstream/embedded"
	"satchel/pipeline/infra/files"
	"satchel/worker/transport"
)

// DrainLimit is how long stopping may take.
const DrainLimit = 30 * time.Second

// pingLimit is how long NATS may take to answer before it counts as away, where a node stops.
const pingLimit = 2 * time.Second

// Run runs a node until ctx is done. When an index turns out to be damaged it starts a new one
// without it, in the process.
func (a *App) Run(ctx context.Context) error {
	if err := a.RequireFolder(); err != nil {
		return err
	}
	logger := a.Logger(a.Err)
	for _, what := range a.SettingWarnings() {
		logger.Warn(what)
	}
	var removed []*damagedError
	for {
		err := a.runOnce(ctx, logger, removed)
		var damaged *damagedError
		if !errors.As(err, &damaged) || ctx.Err() != nil {
			return err
		}
		logger.Error("an index is damaged: it is removed, and Satchel starts anew in the process", "file", damaged.path)
		if err := damaged.remove(); err != nil {
			return err
		}
		removed = append(removed, damaged)
	}
}

// runOnce runs one node until ctx is done, or until an index of it is damaged: a *damagedError.
func (a *App) runOnce(ctx context.Context, logger *slog.Logger, removed []*damagedError) error {
	observed, err := a.openTelemetry(ctx, logger)
	if err != nil {
		return err
	}
	n, err := a.Start(ctx, NodeOptions{Port: freePort(a.NATSPort), telemetry: observed, removed: removed})
	if err != nil {
		return errors.Join(a.ExplainStart(err), observed.stop(context.WithoutCancel(ctx)))
	}
	var web, admin, profiles *webServer
	stopped := func(err error) error {
		for _, server := range []*webServer{web, admin, profiles} {
			if server != nil {
				err = errors.Join(err, server.stop(context.WithoutCancel(ctx)))
			}
		}
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), DrainLimit)
		defer cancel()
		err = errors.Join(err, n.Stop(limit))
		if lost := observed.stop(limit); lost != nil {
			n.logger.Warn("telemetry was not sent to its end", "error", lost)
		}
		return err
	}
	if web, err = a.serveHTTP(n); err != nil {
		return stopped(err)
	}
	if admin, err = a.serveAdmin(n); err != nil {
		return stopped(err)
	}
	if profiles, err = a.serveProfiles(); err != nil {
		return stopped(err)
	}
	if web != nil && strings.HasSuffix(a.HTTPAddr, ":0") {
		a.HTTPAddr = web.addr // a node after this one keeps it
	}
	n.awaitResumed(ctx)
	unready := n.ready()
	if unready != nil && ctx.Err() == nil {
		n.logger.Warn("not ready", "why", unready)
	}
	url, hide, err := a.showAddresses(n, web)
	if err != nil {
		return stopped(err)
	}
	fmt.Fprintf(a.Out, "satchel is up: data %s, NATS %s", a.place(), config.Mask(url))
	if web != nil {
		fmt.Fprintf(a.Out, ", health http://%s/readyz", web.addr)
	}
	if unready != nil {
		fmt.Fprintln(a.Out, " (not ready, see above)")
	} else {
		fmt.Fprintf(a.Out, " (ready in %d ms)\n", n.started.Milliseconds())
	}
	if n.Server != nil {
		fmt.Fprintln(a.Out, access(n.registry))
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Out, "draining…")
	case err = <-n.Done:
		n.Done <- nil
	case damaged := <-n.late:
		err = damaged
	}
	if err = stopped(errors.Join(err, hide())); err == nil {
		fmt.Fprintln(a.Out, "stopped")
	}
	return err
}

// showAddresses writes into the data folder where the node answers, over NATS if its server is in the
// process, and over HTTP. It returns the address of NATS and a function that takes the files away again.
func (a *App) showAddresses(n *Node, web *webServer) (url string, hide func() error, err error) {
	hideNATS := func() error { return nil }
	url = a.NATSURL
	if n.Server != nil {
		url = n.Server.ClientURL()
		a.keepPort(url)
		if hideNATS, err = a.ShowAddress(AddressFile, url); err != nil {
			return "", nil, err
		}
	}
	health := ""
	if web != nil {
		health = "http://" + web.addr
	}
	hideHTTP, err := a.ShowAddress(HTTPAddressFile, health)
	if err != nil {
		return "", nil, errors.Join(err, hideNATS())
	}
	return url, func() error { return errors.Join(hideNATS(), hideHTTP()) }, nil
}

// keepPort makes a node after this one listen where this one does.
func (a *App) keepPort(server string) {
	at, err := url.Parse(server)
	if err != nil || a.NATSPort > 0 {
		return
	}
	if port, err := strconv.Atoi(at.Port()); err == nil {
		a.NATSPort = port
	}
}

func freePort(port int) int {
	if port <= 0 {
		return embedded.RandomPort
	}
	return port
}

// ExplainStart says who holds the folder or the port and what to do.
func (a *App) ExplainStart(err error) error {
	var held *files.HeldError
	if errors.As(err, &held) {
		return config.Usagef("%w; stop it first, or name another folder with --dir", held)
	}
	if !errors.Is(err, embedded.ErrStart) || a.NATSPort <= 0 {
		return err
	}
	listener, taken := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", a.NATSPort))
	if taken != nil {
		return config.Usagef("port %d is in use; choose another with --nats-port", a.NATSPort)
	}
	return errors.Join(err, listener.Close())
}

// awaitResumed waits until every partition has resumed, one has failed or ctx is done.
func (n *Node) awaitResumed(ctx context.Context) {
	begun := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for errors.Is(n.ready(), transport.ErrStarting) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	n.started += time.Since(begun)
}

func (n *Node) ready() error {
	if n.Server != nil {
		if err := n.Server.Err(); err != nil {
			return err
		}
	}
	if !n.NC.IsConnected() || !n.front.IsConnected() {
		return errors.New("NATS is not connected")
	}
	if err := errors.Join(n.denials.Err(), n.damages.err()); err != nil {
		return err
	}
	return n.Worker.Ready()
}
