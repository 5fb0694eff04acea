package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"satchel/cmd/internal/app"
)

// Tenant is satchel tenant.
type Tenant struct {
	Ls tenantLsCmd `cmd:"" help:"List the tenants that have a log, with its size, its last event, the items and the state."`
}

type tenantLsCmd struct{}

// Help shows how it is called.
func (tenantLsCmd) Help() string {
	return `It reads the data folder or the database, and may run beside satchel up. The size is the number of entries of the log;
items that were superseded or have ended count as well. States: ready; indexing, the items lack the newest entries;
rolled_back, the log contradicts the head that was kept of it (satchel rollback); damaged (satchel verify).

With -t on the command line that tenant alone is listed.

Examples:
  satchel tenant ls
  satchel tenant ls -t main --json`
}

// Run lists the tenants.
func (tenantLsCmd) Run(ctx context.Context, a *app.App) (err error) {
	log, err := a.ReadLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if a.TenantGiven {
		if err := a.RequireTenant(ctx, log.Log, a.Tenant); err != nil {
			return err
		}
	}
	list, err := a.ReadTenants(ctx, log.Log)
	if err != nil {
		return err
	}
	if a.TenantGiven {
		list = slices.DeleteFunc(list, func(t app.Tenant) bool { return t.Tenant != a.Tenant })
	}
	return printTable(a, list, func(w io.Writer) { printTenants(w, list) })
}

func printTenants(w io.Writer, list []app.Tenant) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no tenant has a log")
		return
	}
	fmt.Fprintln(w, "tenant\tlog\tlast event\titems\tstate")
	for _, t := range list {
		state := t.State
		switch {
		case t.Problem != "":
			state += ": " + t.Problem
		case t.State == app.TenantIndexing:
			state += fmt.Sprintf(", %d of %d", t.Indexed, t.Size)
		}
		last := "-"
		if !t.Last.IsZero() {
			last = t.Last.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\n", t.Tenant, t.Size, last, t.Items, state)
	}
}
