package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"satchel/pipeline/lockfile"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/worker"
)

type verifyCmd struct{}

// Help shows how it is called.
func (verifyCmd) Help() string {
	return `Every leaf is computed anew from every column, every stored tree hash from the leaves,
every content against its commitment, and the log against the newest signed head that was
kept; the indexes must lead to every entry, and no source and id may be there twice. It reads
the data folder and may run beside satchel up. Every tenant is verified, or with -t on the
command line that tenant alone; the database around the logs is checked either way.

Exit code 3 when something does not hold; the first bad position is named.

Examples:
  satchel verify
  satchel verify -t main --json`
}

// verified is what verify prints for a tenant.
type verified struct {
	Tenant   string `json:"tenant"`
	Size     int64  `json:"size"`
	Root     string `json:"root"`
	OK       bool   `json:"ok"`
	Position int64  `json:"position,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// Run verifies every tenant's log, or that of the tenant the command line names.
func (c *verifyCmd) Run(ctx context.Context, a *app) error {
	log, err := a.readLog(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	only := ""
	if a.tenantGiven {
		only = a.Tenant
	}
	results, err := a.verifyLogs(ctx, log, only)
	if err != nil {
		return err
	}
	logs, bad, around := 0, 0, 0
	for _, r := range results {
		switch {
		case r.Tenant == "":
			around++
		case r.OK:
			logs++
		default:
			logs, bad = logs+1, bad+1
		}
		if !a.JSON {
			printVerified(a, r)
		}
	}
	if a.JSON {
		if err := a.printJSON(results); err != nil {
			return err
		}
	}
	if bad > 0 {
		return &foundError{fmt.Sprintf("%d of %s not verify", bad, plural(logs, "log does", "logs do"))}
	}
	if around > 0 {
		return &foundError{"something around the logs is wrong"}
	}
	if len(results) == 0 && !a.JSON {
		fmt.Fprintln(a.out, "the log is empty")
	}
	return nil
}

func printVerified(a *app, r verified) {
	switch {
	case r.OK:
		fmt.Fprintf(a.out, "%s: %s verified, root %s\n", r.Tenant, plural(int(r.Size), "entry", "entries"), r.Root)
	case r.Tenant == "":
		fmt.Fprintf(a.out, "BAD: %s\n", r.Problem)
	case r.Position == 0:
		fmt.Fprintf(a.out, "%s: BAD: %s\n", r.Tenant, r.Problem)
	default:
		fmt.Fprintf(a.out, "%s: BAD at position %d: %s\n", r.Tenant, r.Position, r.Problem)
	}
}

// verifyLogs verifies the log of one tenant, or with "" of every tenant, and the database
// around them. A result without a tenant is about all of them.
func (a *app) verifyLogs(ctx context.Context, log *reading, only string) ([]verified, error) {
	results := []verified{}
	if log.unkeyed != "" {
		results = append(results, verified{Problem: log.unkeyed})
	}
	tenants := []string{only}
	var err error
	if only != "" {
		err = a.requireTenant(ctx, log.Log, only)
	} else {
		tenants, err = a.tenants(ctx, log.Log)
	}
	if errors.Is(err, eventlog.ErrCorrupt) { // who has a log can't be told
		return append(results, verified{Problem: err.Error()}), nil
	}
	if err != nil {
		return nil, err
	}
	for _, tenant := range tenants {
		r, err := a.verifyTenant(ctx, log.Log, tenant)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	if only != "" {
		err = log.CheckDatabase(ctx)
	} else {
		err = log.VerifyAll(ctx, nil)
	}
	var bad *eventlog.VerifyError
	switch {
	case errors.As(err, &bad):
		known := func(r verified) bool { return r.Tenant == bad.Tenant && !r.OK }
		if !slices.ContainsFunc(results, known) {
			results = append(results, verified{Tenant: bad.Tenant, Position: bad.Position, Problem: bad.Problem})
		}
	case errors.Is(err, eventlog.ErrCorrupt):
		results = append(results, verified{Problem: err.Error()})
	case err != nil:
		return nil, err
	}
	return results, nil
}

func (a *app) verifyTenant(ctx context.Context, log *eventlog.Log, tenant string) (verified, error) {
	r := verified{Tenant: tenant}
	s, err := scope.System(tenant)
	if err != nil {
		return r, err
	}
	bar := a.bar("verifying " + tenant)
	err = log.Verify(ctx, s, nil, bar.set)
	bar.end()
	var bad *eventlog.VerifyError
	switch {
	case errors.As(err, &bad):
		r.Position, r.Problem = bad.Position, bad.Problem
		return r, nil
	case errors.Is(err, eventlog.ErrCorrupt):
		r.Problem = err.Error()
		return r, nil
	case err != nil:
		return r, err
	}
	head, err := log.Head(ctx, s)
	if err != nil {
		return r, err
	}
	r.OK, r.Size, r.Root = true, head.Size, head.Root.String()
	return r, nil
}

type rebuildCmd struct{}

// Help shows how it is called.
func (rebuildCmd) Help() string {
	return `With satchel up running on the folder it asks that process (at --http-addr), which goes on
answering requests meanwhile; else it opens the folder itself. The digest printed at the end
is the same for equal indexes, however they came about.

Example:
  satchel rebuild -t main`
}

// Run rebuilds the tenant's indexes.
func (c *rebuildCmd) Run(ctx context.Context, a *app) error {
	sc, err := scope.System(a.Tenant)
	if err != nil {
		return &usageError{err}
	}
	if err := a.requireData(); err != nil {
		return err
	}
	if err := a.requireFolder(); err != nil {
		return err
	}
	lock, err := a.lockFolder()
	var held *lockfile.HeldError
	if errors.As(err, &held) {
		return a.rebuildRemote(ctx, held)
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	if missing := a.missingKey(); missing != "" {
		return usagef("%s is missing: put it back; docs/operations.md says how to go on when it is lost", missing)
	}
	s, err := a.openStores(ctx, fixed{}, a.logger(a.err))
	if err != nil {
		return err
	}
	defer s.close()
	if err := a.requireTenant(ctx, s.log, a.Tenant); err != nil {
		return err
	}
	projector := worker.NewProjector(worker.Config{Log: s.log, Stores: s.projections(), Embedder: s.embedder.now.Load()})
	bar := a.bar("rebuilding " + a.Tenant)
	err = projector.Rebuild(ctx, sc, bar.set)
	bar.end()
	if err != nil {
		return err
	}
	digest, err := s.digest(ctx, sc)
	if err != nil {
		return err
	}
	return a.printRebuilt(rebuildProgress{Tenant: a.Tenant, Total: projector.Position(a.Tenant), Digest: digest})
}

// rebuildRemote asks the running process and shows its progress.
func (a *app) rebuildRemote(ctx context.Context, running *lockfile.HeldError) error {
	if a.HTTPAddr == "" {
		return usagef("process %d works on %s; name the address it answers on with --http-addr, or stop it", running.PID, a.Dir)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.HTTPAddr+"/rebuild?tenant="+url.QueryEscape(a.Tenant), nil)
	if err != nil {
		return &usageError{err}
	}
	req.Header.Set("Satchel-Admin", "rebuild")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return usagef("process %d works on %s and nothing answers at %s; name the address it answers on with --http-addr, or stop it", running.PID, a.Dir, a.HTTPAddr)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return usagef("no such tenant %q at %s", a.Tenant, a.HTTPAddr)
	}
	bar := a.bar("rebuilding " + a.Tenant)
	defer bar.end()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var p rebuildProgress
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return fmt.Errorf("the process at %s answers: %s", a.HTTPAddr, lines.Text())
		}
		switch {
		case p.Error != "":
			return errors.New(p.Error)
		case p.Digest != "":
			return a.printRebuilt(p)
		}
		bar.set(p.Done, p.Total)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read progress: %w", err)
	}
	return errors.New("the process stopped before the rebuild was done")
}

func (a *app) printRebuilt(p rebuildProgress) error {
	if a.JSON {
		return a.printJSON(p)
	}
	_, err := fmt.Fprintf(a.out, "%s: rebuilt from %s, digest %s\n", p.Tenant, plural(int(p.Total), "log entry", "log entries"), p.Digest)
	return err
}
