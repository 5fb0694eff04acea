package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Doctor is satchel doctor.
type Doctor struct{}

// Run examines and prints.
func (c *Doctor) Run(ctx context.Context, a *app.App) error {
	registry := checkRegistry(ctx, a)
	policy := a.CheckPolicy(ctx)
	running := checkRunning(ctx, a)
	if answers(running) {
		const own = "; by the settings doctor was given, those of the running process may be others"
		registry.Detail = registry.Detail + own
		policy.Detail = policy.Detail + own
	}
	findings := append([]app.Finding{a.CheckSettings(), checkFolder(a), checkWritable(a), registry, policy}, a.CheckSignatures()...)
	findings = append(findings, a.CheckEmbedding(ctx), running, checkRanking(a), checkRelevance(a),
		checkBudgets(a), checkDecisionCache(a), checkAnswer(ctx, a, answers(running)))
	findings = append(findings, checkReady(ctx, a, running)...)
	findings = append(findings, checkPartitions(ctx, a, running), a.CheckIndexes(ctx), checkTenants(ctx, a), a.CheckLimits(ctx))
	findings = append(findings, a.CheckServers(ctx)...)
	findings = append(findings, checkDurability(ctx, a)...)
	findings = append(findings, checkExceptions(ctx, a)...)
	findings = append(findings, checkHolds(ctx, a)...)
	findings = append(findings, checkRetention(ctx, a)...)
	findings = append(findings, checkLog(ctx, a)...)
	bad := 0
	for _, f := range findings {
		if !f.OK {
			bad++
		}
		if !a.JSON {
			fmt.Fprintf(a.Out, "%-4s %-22s %s\n", f.Mark(), f.Check, f.Detail)
		}
	}
	if a.JSON {
		if err := command.PrintJSON(a, findings); err != nil {
			return err
		}
	}
	if err := a.RequireData(); err != nil {
		return err
	}
	if bad > 0 {
		return &command.FoundError{What: fmt.Sprintf("%d of %d checks do not hold", bad, len(findings))}
	}
	return nil
}

// reportPassed is a finding of what holds.
func reportPassed(check, format string, args ...any) app.Finding {
	return app.Finding{Check: check, OK: true, Detail: fmt.Sprintf(format, args...)}
}

// reportFailed is a finding of what does not hold.
func reportFailed(check, format string, args ...any) app.Finding {
	return app.Finding{Check: check, Detail: fmt.Sprintf(format, args...)}
}

// reportIdle is a finding of what only a running Satchel can tell.
func reportIdle(check, detail string) app.Finding {
	return app.Finding{Check: check, OK: true, Idle: true, Detail: detail}
}

func checkFolder(a *app.App) app.Finding {
	const check = "data folder"
	info, err := os.Stat(a.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return reportPassed(check, "%s is not there yet; satchel up makes it", a.Dir)
	case err != nil:
		return reportFailed(check, "%v", err)
	case !info.IsDir():
		return reportFailed(check, "%s is not a folder", a.Dir)
	}
	return reportPassed(check, "%s", a.Dir)
}

func checkWritable(a *app.App) app.Finding {
	const check = "folder is writable"
	dir := a.Dir
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		dir = filepath.Dir(dir)
	}
	probe, err := os.CreateTemp(dir, ".satchel-doctor-")
	if err == nil {
		err = errors.Join(probe.Sync(), probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return reportFailed(check, "%v", err)
	}
	return reportPassed(check, "a file could be written and synced")
}

func checkRegistry(ctx context.Context, a *app.App) app.Finding {
	const check = "principals"
	registry, missing := a.OpenRegistry()
	pdp, err := a.OpenPolicy(ctx, a.Logger(io.Discard))
	if pdp != nil {
		defer pdp.Stop()
	}
	err = errors.Join(missing, err)
	switch {
	case err != nil:
		return reportFailed(check, "%v", err)
	case registry == nil && a.NATSURL != "":
		return reportFailed(check, "no registry and an external NATS: every principal counts as public; set SATCHEL_PRINCIPALS")
	case registry == nil:
		return reportPassed(check, "no registry: what callers claim counts, on this machine only (policy %s)", pdp.Revision())
	}
	return reportPassed(check, "registry %s, %s, policy %s", a.Principals, app.KeysOf(registry), pdp.Revision())
}

func checkDurability(ctx context.Context, a *app.App) []app.Finding {
	accepted := []app.Finding{reportPassed("accepted survives", "the embedded stream syncs every message before it acknowledges (one copy, on this disk)")}
	if a.NATSURL != "" {
		accepted = a.CheckNATS(ctx)
	}
	return append(accepted, a.CheckLogged(ctx))
}

func checkRunning(ctx context.Context, a *app.App) app.Finding {
	const check = "running"
	conn, err := command.Dial(ctx, a)
	switch {
	case errors.Is(err, app.ErrNobody):
		return reportIdle(check, "Satchel does not run now: "+err.Error())
	case err != nil:
		return reportFailed(check, "%v", err)
	}
	defer conn.Close()
	var head schemas.HeadReply
	if err := conn.LogCall(ctx, "head", struct{}{}, &head); err != nil {
		return reportFailed(check, "NATS answers, Satchel does not: %v", err)
	}
	return reportPassed(check, "yes; tenant %s has %s", a.Tenant, terminal.Plural(int(head.Size), "log entry", "log entries"))
}

// checkTenants says how many tenants there are of how many there may be.
func checkTenants(ctx context.Context, a *app.App) app.Finding {
	const check = "tenants"
	if a.RequireData() != nil {
		return reportPassed(check, "there are none")
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return reportFailed(check, "%v", err)
	}
	defer log.Close()
	list, err := log.Tenants(ctx)
	if err != nil {
		return reportFailed(check, "%v", err)
	}
	there := terminal.Plural(len(list), "tenant has", "tenants have") + " a log"
	f := reportPassed(check, "%s; there is no limit", there)
	if a.MaxTenants > 0 {
		f = reportPassed(check, "%s, of at most %d (SATCHEL_MAX_TENANTS)", there, a.MaxTenants)
		f.OK = len(list) < a.MaxTenants
	}
	if s, err := a.ReadStatus(ctx); err == nil {
		f.Detail += fmt.Sprintf("; the indexes of %d may be in memory", s.Tenants.InMemory)
	}
	return f
}

func checkLog(ctx context.Context, a *app.App) []app.Finding {
	if a.RequireData() != nil {
		return []app.Finding{reportPassed("log", "there is none")}
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return []app.Finding{reportFailed("log", "%v", err)}
	}
	defer log.Close()
	results, err := command.VerifyLogs(ctx, a, log, "")
	if err != nil {
		return []app.Finding{reportFailed("log", "%v", err)}
	}
	var list []app.Finding
	if !a.LogInFolder() && log.Unkeyed == "" {
		detail := "the log in the database names this folder's key"
		if !log.Claimed {
			detail = "the log in the database names no key yet; the first worker that opens it claims it"
		}
		list = append(list, reportPassed("key of the log", "%s", detail))
	}
	for _, r := range results {
		switch {
		case r.Tenant == "":
			list = append(list, reportFailed("log", "%s", r.Problem))
		case r.OK:
			list = append(list, reportPassed("log of "+r.Tenant, "%s verified", terminal.Plural(int(r.Size), "entry", "entries")))
		default:
			list = append(list, reportFailed("log of "+r.Tenant, "bad at position %d: %s", r.Position, r.Problem))
		}
		if sc, err := scope.System(r.Tenant); err == nil && r.OK {
			if kept, err := log.KeptErasures(sc); err == nil && len(kept) > 0 {
				list = append(list, reportPassed("erasures of "+r.Tenant, "%s listed beside the log, and in it", terminal.Plural(len(kept), "erasure is", "erasures are")))
			}
		}
	}
	return list
}
