package doctor

import (
	"context"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/schemas"
)

// checkReady asks the process that was found running, or not to answer, whether it is ready,
// and holds the ledger's end against the log's.
func checkReady(ctx context.Context, a *app.App, found app.Finding) []app.Finding {
	running := answers(found)
	silent := reportIdle("ledger", "not asked: Satchel does not answer")
	if s, err := a.ReadStatus(ctx); !running && err == nil && (len(s.Denied) > 0 || !found.OK && s.Ready != "yes") { // it runs, and cannot say so over NATS
		return append([]app.Finding{reportFailed("ready", "%s", s.Ready), silent}, denied(s.Denied)...)
	}
	if !running {
		return []app.Finding{reportIdle("ready", silent.Detail), silent}
	}
	s, err := a.ReadStatus(ctx)
	if err != nil {
		return []app.Finding{reportIdle("ready", "not asked: no process says so over HTTP ("+err.Error()+")"), checkLedger(ctx, a)}
	}
	ready := app.Finding{Check: "ready", OK: s.Ready == "yes", Detail: s.Ready}
	return append([]app.Finding{ready, checkLedger(ctx, a)}, denied(s.Denied)...)
}

// checkLedger holds the ledger's end against the log's.
func checkLedger(ctx context.Context, a *app.App) app.Finding {
	const check = "ledger"
	end, head, err := readLedgerEnd(ctx, a)
	switch {
	case err != nil:
		return reportFailed(check, "%v", err)
	case end.Passed && head > 0:
		return reportPassed(check, "the ledger has nothing of %s any more: it is a window, and others have written since; the log has all %d", a.Tenant, head)
	case end.At < end.Logged:
		return reportFailed(check, "the ledger of %s has stopped at position %d, the log has %d: see the log of satchel up", a.Tenant, end.At, head)
	case end.At > head:
		return reportFailed(check, "the ledger of %s ends at position %d, the log at %d: somebody else published to it, or the log is an older copy", a.Tenant, end.At, head)
	}
	return reportPassed(check, "the ledger of %s has the log up to its head, position %d", a.Tenant, end.At)
}

// answers reports whether checkRunning was answered.
func answers(running app.Finding) bool { return running.OK && !running.Idle }

// denied is the finding about what the running process may not do on NATS; none when it may
// do all that it tried.
func denied(what []string) []app.Finding {
	if len(what) == 0 {
		return nil
	}
	return []app.Finding{{Check: "NATS permissions", Detail: "its user may not " + strings.Join(what, ", may not ")}}
}

// readLedgerEnd returns where the tenant's ledger ends, and the log's size after that was read.
func readLedgerEnd(ctx context.Context, a *app.App) (end command.LedgerEnd, head int64, err error) {
	conn, err := command.Dial(ctx, a)
	if err != nil {
		return end, 0, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if end, err = conn.LedgerCatchesUp(ctx); err != nil {
		return end, 0, err
	}
	var reply schemas.HeadReply
	err = conn.LogCall(ctx, "head", struct{}{}, &reply)
	return end, reply.Size, err
}
