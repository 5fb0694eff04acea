package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"satchel/schemas"
)

// checkReady asks the process that was found running, or not to answer, whether it is ready,
// and holds the ledger's end against the log's.
func (a *app) checkReady(ctx context.Context, found finding) []finding {
	running := answers(found)
	ready, ledger := finding{Check: "ready", OK: true}, finding{Check: "ledger"}
	if s, err := a.readStatus(ctx); !running && err == nil && (len(s.Denied) > 0 || !found.OK && s.Ready != "yes") { // it runs, and cannot say so over NATS
		ready.OK, ready.Detail = false, s.Ready
		ledger.OK, ledger.Idle, ledger.Detail = true, true, "not asked: Satchel does not answer"
		return append([]finding{ready, ledger}, denied(s.Denied)...)
	}
	if !running {
		ready.Idle, ready.Detail = true, "not asked: Satchel does not run"
		ledger.OK, ledger.Idle, ledger.Detail = true, true, ready.Detail
		return []finding{ready, ledger}
	}
	var more []finding
	if s, err := a.readStatus(ctx); err != nil {
		ready.Idle, ready.Detail = true, "not asked: no process says so over HTTP ("+err.Error()+")"
	} else {
		ready.OK, ready.Detail = s.Ready == "yes", s.Ready
		more = denied(s.Denied)
	}
	end, head, err := a.readLedgerEnd(ctx)
	switch {
	case err != nil:
		ledger.Detail = err.Error()
	case end.passed && head > 0:
		ledger.OK, ledger.Detail = true, fmt.Sprintf("the ledger has nothing of %s any more: it is a window, and others have written since; the log has all %d", a.Tenant, head)
	case end.at < end.logged:
		ledger.Detail = fmt.Sprintf("the ledger of %s has stopped at position %d, the log has %d: see the log of satchel up", a.Tenant, end.at, head)
	case end.at > head:
		ledger.Detail = fmt.Sprintf("the ledger of %s ends at position %d, the log at %d: somebody else published to it, or the log is an older copy", a.Tenant, end.at, head)
	default:
		ledger.OK, ledger.Detail = true, fmt.Sprintf("the ledger of %s has the log up to its head, position %d", a.Tenant, end.at)
	}
	return append([]finding{ready, ledger}, more...)
}

// answers reports whether checkRunning was answered.
func answers(running finding) bool { return running.OK && !running.Idle }

// denied is the finding about what the running process may not do on NATS; none when it may
// do all that it tried.
func denied(what []string) []finding {
	if len(what) == 0 {
		return nil
	}
	return []finding{{Check: "NATS permissions", Detail: "its user may not " + strings.Join(what, ", may not ")}}
}

// readLedgerEnd returns where the tenant's ledger ends, and the log's size after that was read.
func (a *app) readLedgerEnd(ctx context.Context) (end ledgerEnd, head int64, err error) {
	conn, err := a.dial(ctx)
	if err != nil {
		return end, 0, err
	}
	defer conn.close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if end, err = conn.ledgerCatchesUp(ctx); err != nil {
		return end, 0, err
	}
	var reply schemas.HeadReply
	err = conn.logCall(ctx, "head", struct{}{}, &reply)
	return end, reply.Size, err
}
