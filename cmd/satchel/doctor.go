package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"satchel/schemas"
)

type doctorCmd struct{}

// Help shows how it is called.
func (doctorCmd) Help() string {
	return `Looks at the settings, the data folder, the log and the running process, and says of each
promise whether it holds. What it can't find out counts as not held; what only a running
Satchel can tell is marked - while none runs. Exit code 3 when
something is wrong, 2 when the folder holds no data.

Examples:
  satchel doctor
  satchel doctor --json`
}

// finding is one line of the doctor.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Idle   bool   `json:"idle,omitempty"` // only a running Satchel could tell, and none runs
	Detail string `json:"detail"`
}

func (f *finding) mark() string {
	switch {
	case !f.OK:
		return "NO"
	case f.Idle:
		return "-"
	}
	return "ok"
}

// Run examines and prints.
func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	registry, policy, running := a.checkRegistry(ctx), a.checkPolicy(ctx), a.checkRunning(ctx)
	if answers(running) {
		const own = "; by the settings doctor was given, those of the running process may be others"
		registry.Detail, policy.Detail = registry.Detail+own, policy.Detail+own
	}
	findings := append([]finding{a.checkSettings(), a.checkFolder(), a.checkWritable(), registry, policy}, a.checkSignatures()...)
	findings = append(findings, a.checkEmbedding(ctx), running, a.checkRanking(), a.checkRelevance(),
		a.checkBudgets(), a.checkDecisionCache(), a.checkAnswer(ctx, answers(running)))
	findings = append(findings, a.checkReady(ctx, running)...)
	findings = append(findings, a.checkServers(ctx)...)
	findings = append(findings, a.checkDurability(ctx)...)
	findings = append(findings, a.checkExceptions(ctx)...)
	findings = append(findings, a.checkLog(ctx)...)
	bad := 0
	for _, f := range findings {
		if !f.OK {
			bad++
		}
		if !a.JSON {
			fmt.Fprintf(a.out, "%-4s %-22s %s\n", f.mark(), f.Check, f.Detail)
		}
	}
	if a.JSON {
		if err := a.printJSON(findings); err != nil {
			return err
		}
	}
	if err := a.requireData(); err != nil {
		return err
	}
	if bad > 0 {
		return &foundError{fmt.Sprintf("%d of %d checks do not hold", bad, len(findings))}
	}
	return nil
}

func (a *app) checkFolder() finding {
	f := finding{Check: "data folder", Detail: a.Dir}
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

func (a *app) checkWritable() finding {
	f := finding{Check: "folder is writable"}
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

func (a *app) checkRegistry(ctx context.Context) finding {
	f := finding{Check: "principals"}
	pdp, registry, err := a.openPolicy(ctx, a.logger(io.Discard))
	if pdp != nil {
		defer pdp.stop()
	}
	switch {
	case err != nil:
		f.Detail = err.Error()
	case registry == nil && a.NATSURL != "":
		f.Detail = "no registry and an external NATS: every principal counts as public; set SATCHEL_PRINCIPALS"
	case registry == nil:
		f.OK, f.Detail = true, "no registry: what callers claim counts, on this machine only (policy "+pdp.Revision()+")"
	default:
		f.OK, f.Detail = true, "registry "+a.Principals+", policy "+pdp.Revision()
	}
	return f
}

func (a *app) checkDurability(ctx context.Context) []finding {
	accepted := []finding{{Check: "accepted survives", OK: true, Detail: "the embedded stream syncs every message before it acknowledges (one copy, on this disk)"}}
	if a.NATSURL != "" {
		accepted = a.checkNATS(ctx)
	}
	if a.DatabaseURL != "" {
		return append(accepted, a.checkDatabase(ctx))
	}
	return append(accepted, finding{Check: "logged survives", OK: true, Detail: "the log commits with synchronous=FULL; a receipt of level logged stands on this disk"})
}

func (a *app) checkRunning(ctx context.Context) finding {
	f := finding{Check: "running"}
	conn, err := a.dial(ctx)
	if err != nil {
		f.OK = errors.Is(err, errNobody)
		f.Idle = f.OK
		f.Detail = "Satchel does not run now: " + err.Error()
		return f
	}
	defer conn.close()
	var head schemas.HeadReply
	if err := conn.logCall(ctx, "head", struct{}{}, &head); err != nil {
		f.Detail = "NATS answers, Satchel does not: " + err.Error()
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("yes; tenant %s has %s", a.Tenant, plural(int(head.Size), "log entry", "log entries"))
	return f
}

func (a *app) checkLog(ctx context.Context) []finding {
	if a.requireData() != nil {
		return []finding{{Check: "log", OK: true, Detail: "there is none"}}
	}
	log, err := a.readLog(ctx)
	if err != nil {
		return []finding{{Check: "log", Detail: err.Error()}}
	}
	defer log.Close()
	results, err := a.verifyLogs(ctx, log, "")
	if err != nil {
		return []finding{{Check: "log", Detail: err.Error()}}
	}
	var list []finding
	if a.DatabaseURL != "" && log.unkeyed == "" {
		f := finding{Check: "key of the log", OK: true, Detail: "the log in the database names this folder's key"}
		if !log.claimed {
			f.Detail = "the log in the database names no key yet; the first worker that opens it claims it"
		}
		list = append(list, f)
	}
	for _, r := range results {
		f := finding{Check: "log of " + r.Tenant, OK: r.OK, Detail: plural(int(r.Size), "entry", "entries") + " verified"}
		switch {
		case r.Tenant == "":
			f.Check, f.Detail = "log", r.Problem
		case !r.OK:
			f.Detail = fmt.Sprintf("bad at position %d: %s", r.Position, r.Problem)
		}
		list = append(list, f)
	}
	return list
}
