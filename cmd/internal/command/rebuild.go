package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/infra/files"
	"satchel/pipeline/scope"
)

// Rebuild is satchel rebuild.
type Rebuild struct{}

// Run rebuilds the tenant's indexes.
func (c *Rebuild) Run(ctx context.Context, a *app.App) error {
	sc, err := scope.System(a.Tenant)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	if err := a.RequireData(); err != nil {
		return err
	}
	if err := a.RequireFolder(); err != nil {
		return err
	}
	lock, err := a.LockFolder()
	var held *files.HeldError
	if errors.As(err, &held) {
		return rebuildRemote(ctx, a, held)
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	if missing := a.MissingKey(); missing != "" {
		return config.Usagef("%s is missing: put it back; docs/how-to/keys.md says how to go on when it is lost", missing)
	}
	s, err := a.OpenStores(ctx, app.Fixed{}, a.Logger(a.Err))
	if err != nil {
		return err
	}
	defer s.Close()
	if err := a.RequireTenant(ctx, s.Log, a.Tenant); err != nil {
		return err
	}
	projector := s.Projector()
	if err := runWithBar(a, "rebuilding "+a.Tenant, func(set progress) error { return projector.Rebuild(ctx, sc, set) }); err != nil {
		return err
	}
	digest, err := s.Digest(ctx, sc)
	if err != nil {
		return err
	}
	return printRebuilt(a, app.RebuildProgress{Tenant: a.Tenant, Total: projector.Position(a.Tenant), Digest: digest})
}

// rebuildRemote asks the running process and shows its progress.
func rebuildRemote(ctx context.Context, a *app.App, running *files.HeldError) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://satchel/rebuild?tenant="+url.QueryEscape(a.Tenant), nil)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	resp, err := a.AdminClient().Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return config.Usagef("process %d works on %s and does not answer on %s: stop it", running.PID, a.Dir, a.Path(app.AdminFile))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return config.Usagef("no such tenant %q in %s", a.Tenant, a.Dir)
	}
	bar := a.Progress("rebuilding " + a.Tenant)
	defer bar.End()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var p app.RebuildProgress
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return fmt.Errorf("process %d answers: %s", running.PID, lines.Text())
		}
		switch {
		case p.Error != "":
			return errors.New(p.Error)
		case p.Digest != "":
			return printRebuilt(a, p)
		}
		bar.Set(p.Done, p.Total)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read progress: %w", err)
	}
	return errors.New("the process stopped before the rebuild was done")
}

func printRebuilt(a *app.App, p app.RebuildProgress) error {
	return PrintReply(a, p, func(w io.Writer) {
		fmt.Fprintf(w, "%s: rebuilt from %s, digest %s\n", p.Tenant, terminal.Plural(int(p.Total), "log entry", "log entries"), p.Digest)
	})
}
