package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"satchel/jetstream/embedded"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/worker"
)

type verifyCmd struct{}

// Help shows how it is called.
func (verifyCmd) Help() string {
	return `Every leaf is computed anew from every column, every stored tree hash from the leaves,
every content against its commitment, and the log against the newest signed head that was
kept. It reads the data folder and may run beside satchel up.

Exit code 3 when something does not hold; the first bad position is named.`
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

// Run verifies every tenant's log.
func (c *verifyCmd) Run(ctx context.Context, a *app) error {
	log, _, err := a.openLog(ctx, fixed{})
	if err != nil {
		return err
	}
	defer log.Close()
	results, err := a.verifyAll(ctx, log)
	if err != nil {
		return err
	}
	bad := 0
	for _, r := range results {
		if !r.OK {
			bad++
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
		return &foundError{fmt.Sprintf("%d of %d logs do not verify", bad, len(results))}
	}
	if len(results) == 0 && !a.JSON {
		fmt.Fprintln(a.out, "the log is empty")
	}
	return nil
}

func printVerified(a *app, r verified) {
	if r.OK {
		fmt.Fprintf(a.out, "%s: %d entries verified, root %s\n", r.Tenant, r.Size, r.Root)
		return
	}
	fmt.Fprintf(a.out, "%s: BAD at position %d: %s\n", r.Tenant, r.Position, r.Problem)
}

func (a *app) verifyAll(ctx context.Context, log *eventlog.Log) ([]verified, error) {
	tenants, err := log.Tenants(ctx)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	results := []verified{}
	for _, tenant := range tenants {
		s, err := scope.System(tenant)
		if err != nil {
			return nil, err
		}
		bar := a.bar("verifying " + tenant)
		err = log.Verify(ctx, s, nil, bar.set)
		bar.end()
		r := verified{Tenant: tenant}
		var bad *eventlog.VerifyError
		switch {
		case errors.As(err, &bad):
			r.Position, r.Problem = bad.Position, bad.Problem
		case err != nil:
			return nil, err
		default:
			head, err := log.Head(ctx, s)
			if err != nil {
				return nil, err
			}
			r.OK, r.Size, r.Root = true, head.Size, head.Root.String()
		}
		results = append(results, r)
	}
	if err := log.VerifyAll(ctx, nil); err != nil {
		var bad *eventlog.VerifyError
		if !errors.As(err, &bad) {
			return nil, err
		}
		if len(results) == 0 || results[len(results)-1].OK {
			results = append(results, verified{Tenant: bad.Tenant, Position: bad.Position, Problem: bad.Problem})
		}
	}
	return results, nil
}

type rebuildCmd struct{}

// Help shows how it is called.
func (rebuildCmd) Help() string {
	return `With satchel up running on the folder it asks that process (at --http-addr), which goes on
answering requests meanwhile; else it opens the folder itself. The digest printed at the end
is the same for equal indexes, however they came about.`
}

// Run rebuilds the tenant's indexes.
func (c *rebuildCmd) Run(ctx context.Context, a *app) error {
	server, err := embedded.Start(embedded.Config{Dir: a.path("streams"), NoListen: true})
	var locked *embedded.LockedError
	if errors.As(err, &locked) {
		return a.rebuildRemote(ctx)
	}
	if err != nil {
		return fmt.Errorf("lock the data folder: %w", err)
	}
	defer server.Stop()
	s, err := a.openStores(ctx, fixed{}, a.logger(a.err))
	if err != nil {
		return err
	}
	defer s.close()
	sc, err := scope.System(a.Tenant)
	if err != nil {
		return &usageError{err}
	}
	projector := worker.NewProjector(worker.Config{Log: s.log, Stores: s.projections(), Embedder: s.embedder})
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
func (a *app) rebuildRemote(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.HTTPAddr+"/rebuild?tenant="+url.QueryEscape(a.Tenant), nil)
	if err != nil {
		return &usageError{err}
	}
	req.Header.Set("Satchel-Admin", "rebuild")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the running process at %s: %w", a.HTTPAddr, err)
	}
	defer resp.Body.Close()
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
	_, err := fmt.Fprintf(a.out, "%s: rebuilt from %d log entries, digest %s\n", p.Tenant, p.Total, p.Digest)
	return err
}
