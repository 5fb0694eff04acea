package main

import (
	"context"
	"fmt"
	"time"

	"satchel/jetstream"
	"satchel/schemas"
)

// checkReady asks the running process whether it is ready, and holds the ledger's end
// against the log's.
func (a *app) checkReady(ctx context.Context, running bool) []finding {
	ready, ledger := finding{Check: "ready", OK: true}, finding{Check: "ledger"}
	if !running {
		ready.Idle, ready.Detail = true, "not asked: Satchel does not run"
		ledger.OK, ledger.Idle, ledger.Detail = true, true, ready.Detail
		return []finding{ready, ledger}
	}
	if s, err := a.readStatus(ctx); err != nil {
		ready.Idle, ready.Detail = true, "not asked: no process says so over HTTP ("+err.Error()+")"
	} else {
		ready.OK, ready.Detail = s.Ready == "yes", s.Ready
	}
	at, head, passed, err := a.ledgerEnd(ctx)
	switch {
	case err != nil:
		ledger.Detail = err.Error()
	case passed:
		ledger.OK, ledger.Detail = true, fmt.Sprintf("the ledger has nothing of %s any more: it is a window, and others have written since; the log has all %d", a.Tenant, head)
	case at < head:
		ledger.Detail = fmt.Sprintf("the ledger of %s has stopped at position %d, the log has %d: see the log of satchel up", a.Tenant, at, head)
	case at > head:
		ledger.Detail = fmt.Sprintf("the ledger of %s ends at position %d, the log at %d: somebody else published to it, or the log is an older copy", a.Tenant, at, head)
	default:
		ledger.OK, ledger.Detail = true, fmt.Sprintf("the ledger of %s has the log up to its head, position %d", a.Tenant, head)
	}
	return []finding{ready, ledger}
}

// ledgerEnd returns the tenant's last position in the ledger, the log's size before that,
// and whether all of the tenant's messages made way for others. It gives the ledger a moment
// to catch up.
func (a *app) ledgerEnd(ctx context.Context) (at, size int64, passed bool, err error) {
	conn, err := a.dial(ctx)
	if err != nil {
		return 0, 0, false, err
	}
	defer conn.close()
	if err := conn.ledgerCatchesUp(ctx); err != nil {
		return 0, 0, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	js, err := jetstream.Open(ctx, conn.nc)
	if err != nil {
		return 0, 0, false, err
	}
	var head schemas.HeadReply
	if err := conn.logCall(ctx, "head", struct{}{}, &head); err != nil {
		return 0, 0, false, err
	}
	ledger, err := jetstream.OpenLedger(ctx, conn.nc, js, jetstream.LedgerConfig{})
	if err != nil {
		return 0, 0, false, err
	}
	if at, err = ledger.LastPosition(ctx, a.Tenant); err == nil && at == 0 && head.Size > 0 {
		passed, err = ledger.Passed(ctx, a.Tenant)
	}
	return at, head.Size, passed, err
}
