package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline/infra/files"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
)

// RequireData refuses a folder that holds no log, so that what only looks makes none. A
// log in a database says itself whether it can be reached.
func (a *App) RequireData() error {
	if !a.LogInFolder() {
		return nil
	}
	_, err := os.Stat(a.Path("log.db"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return config.Usagef("no Satchel data in %s", a.Dir)
	case err != nil:
		return a.unusable(err)
	}
	return nil
}

// RequireFolder makes the data folder when it is not there and tries to write to it.
func (a *App) RequireFolder() error {
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return a.unusable(err)
	}
	probe, err := os.CreateTemp(a.Dir, ".satchel-probe-")
	if err != nil {
		return a.unusable(err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return a.unusable(err)
	}
	return nil
}

// LockFolder makes this process the only one that writes to the data folder, whatever servers
// it uses; a *files.HeldError says which other one does. The lock is that of streams/,
// which older versions take for the embedded server. The caller must release it.
func (a *App) LockFolder() (*files.Lock, error) {
	dir := a.Path("streams")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, a.unusable(err)
	}
	lock, err := files.TakeLock(dir, time.Now())
	var held *files.HeldError
	if errors.As(err, &held) {
		held.Dir = a.Dir
	}
	return lock, err
}

func (a *App) unusable(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return config.Usagef("cannot use the data folder %s: %w", a.Dir, err)
}

// Tenants lists who has a log, or had one: a kept head stays when a log is lost.
func (a *App) Tenants(ctx context.Context, log *eventlog.Log) ([]string, error) {
	list, err := log.Tenants(ctx)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	heads, err := os.ReadDir(a.Path("heads"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list kept heads: %w", err)
	}
	for _, head := range heads {
		if tenant, ok := strings.CutSuffix(head.Name(), ".checkpoint"); ok && scope.ValidTenant(tenant) && !a.keptEmpty(head.Name()) {
			list = append(list, tenant)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// keptEmpty reports whether a kept head is that of an empty log: someone asked for the
// head of a tenant that has written nothing.
func (a *App) keptEmpty(name string) bool {
	raw, err := os.ReadFile(a.Path("heads", name))
	lines := strings.SplitN(string(raw), "\n", 3) // origin, size, the rest
	return err == nil && len(lines) == 3 && lines[1] == "0"
}

// RequireTenant refuses a tenant that the log does not know.
func (a *App) RequireTenant(ctx context.Context, log *eventlog.Log, tenant string) error {
	list, err := a.Tenants(ctx, log)
	if err == nil && !slices.Contains(list, tenant) {
		err = config.Usagef("no such tenant %q in %s", tenant, a.place())
	}
	return err
}
