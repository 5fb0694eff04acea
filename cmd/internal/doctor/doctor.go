package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/client"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Doctor is satchel doctor.
type Doctor struct{}

// Help shows how it is called.
func (Doctor) Help() string {
	return `Looks at the settings, the data folder, the log and the running process, and says of each
promise whether it holds. What it can't find out counts as not held; what only a running
Satchel can tell is marked - while none runs. Exit code 3 when
something is wrong, 2 when the folder holds no data.

Examples:
  satchel doctor
  satchel doctor --json`
}

// Run examines and prints.
func (c *Doctor) Run(ctx context.Context, a *app.App) error {
	registry, policy, running := checkRegistry(ctx, a), a.CheckPolicy(ctx), checkRunning(ctx, a)
	if answers(running) {
		const own = "; by the settings doctor was given, those of the running process may be others"
		registry.Detail, policy.Detail = registry.Detail+own, policy.Detail+own
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

func checkFolder(a *app.App) app.Finding {
	f := app.Finding{Check: "data folder", Detail: a.Dir}
	info, err := os.Stat(a.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f.OK, f.Detail = true, a.Dir+" is not there yet; satchel up makes it"
	case err != nil:
		f.Detail = err.Error()
	case !info.IsDir():
		f.Detail = a.Dir + " is not a folder"
	default:
		f.OK = true
	}
	return f
}

func checkWritable(a *app.App) app.Finding {
	f := app.Finding{Check: "folder is writable"}
	dir := a.Dir
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		dir = filepath.Dir(dir)
	}
	probe, err := os.CreateTemp(dir, ".satchel-doctor-")
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	err = errors.Join(probe.Sync(), probe.Close(), os.Remove(probe.Name()))
	f.OK = err == nil
	f.Detail = "a file could be written and synced"
	if err != nil {
		f.Detail = err.Error()
	}
	return f
}

func checkRegistry(ctx context.Context, a *app.App) app.Finding {
	f := app.Finding{Check: "principals"}
	registry, missing := a.OpenRegistry()
	pdp, err := a.OpenPolicy(ctx, a.Logger(io.Discard))
	if pdp != nil {
		defer pdp.Stop()
	}
	err = errors.Join(missing, err)
	switch {
	case err != nil:
		f.Detail = err.Error()
	case registry == nil && a.NATSURL != "":
		f.Detail = "no registry and an external NATS: every principal counts as public; set SATCHEL_PRINCIPALS"
	case registry == nil:
		f.OK, f.Detail = true, "no registry: what callers claim counts, on this machine only (policy "+pdp.Revision()+")"
	default:
		f.OK, f.Detail = true, fmt.Sprintf("registry %s, %s, policy %s", a.Principals, app.KeysOf(registry), pdp.Revision())
	}
	return f
}

func checkDurability(ctx context.Context, a *app.App) []app.Finding {
	accepted := []app.Finding{{Check: "accepted survives", OK: true, Detail: "the embedded stream syncs every message before it acknowledges (one copy, on this disk)"}}
	if a.NATSURL != "" {
		accepted = a.CheckNATS(ctx)
	}
	return append(accepted, a.CheckLogged(ctx))
}

func checkRunning(ctx context.Context, a *app.App) app.Finding {
	f := app.Finding{Check: "running"}
	conn, err := client.Dial(ctx, a)
	if err != nil {
		f.OK = errors.Is(err, app.ErrNobody)
		f.Idle, f.Detail = f.OK, err.Error()
		if f.Idle {
			f.Detail = "Satchel does not run now: " + err.Error()
		}
		return f
	}
	defer conn.Close()
	var head schemas.HeadReply
	if err := conn.LogCall(ctx, "head", struct{}{}, &head); err != nil {
		f.Detail = "NATS answers, Satchel does not: " + err.Error()
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("yes; tenant %s has %s", a.Tenant, terminal.Plural(int(head.Size), "log entry", "log entries"))
	return f
}

// checkTenants says how many tenants there are of how many there may be.
func checkTenants(ctx context.Context, a *app.App) app.Finding {
	f := app.Finding{Check: "tenants", OK: true, Detail: "there are none"}
	if a.RequireData() != nil {
		return f
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return app.Finding{Check: f.Check, Detail: err.Error()}
	}
	defer log.Close()
	list, err := log.Tenants(ctx)
	if err != nil {
		return app.Finding{Check: f.Check, Detail: err.Error()}
	}
	f.Detail = terminal.Plural(len(list), "tenant has", "tenants have") + " a log; there is no limit"
	if a.MaxTenants > 0 {
		f.OK = len(list) < a.MaxTenants
		f.Detail = fmt.Sprintf("%s a log, of at most %d (SATCHEL_MAX_TENANTS)", terminal.Plural(len(list), "tenant has", "tenants have"), a.MaxTenants)
	}
	if s, err := a.ReadStatus(ctx); err == nil {
		f.Detail += fmt.Sprintf("; the indexes of %d may be in memory", s.Tenants.InMemory)
	}
	return f
}

func checkLog(ctx context.Context, a *app.App) []app.Finding {
	if a.RequireData() != nil {
		return []app.Finding{{Check: "log", OK: true, Detail: "there is none"}}
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return []app.Finding{{Check: "log", Detail: err.Error()}}
	}
	defer log.Close()
	results, err := command.VerifyLogs(ctx, a, log, "")
	if err != nil {
		return []app.Finding{{Check: "log", Detail: err.Error()}}
	}
	var list []app.Finding
	if !a.LogInFolder() && log.Unkeyed == "" {
		f := app.Finding{Check: "key of the log", OK: true, Detail: "the log in the database names this folder's key"}
		if !log.Claimed {
			f.Detail = "the log in the database names no key yet; the first worker that opens it claims it"
		}
		list = append(list, f)
	}
	for _, r := range results {
		f := app.Finding{Check: "log of " + r.Tenant, OK: r.OK, Detail: terminal.Plural(int(r.Size), "entry", "entries") + " verified"}
		switch {
		case r.Tenant == "":
			f.Check, f.Detail = "log", r.Problem
		case !r.OK:
			f.Detail = fmt.Sprintf("bad at position %d: %s", r.Position, r.Problem)
		}
		list = append(list, f)
		if sc, err := scope.System(r.Tenant); err == nil && r.OK {
			if kept, err := log.KeptErasures(sc); err == nil && len(kept) > 0 {
				list = append(list, app.Finding{Check: "erasures of " + r.Tenant, OK: true, Detail: terminal.Plural(len(kept), "erasure is", "erasures are") + " listed beside the log, and in it"})
			}
		}
	}
	return list
}
