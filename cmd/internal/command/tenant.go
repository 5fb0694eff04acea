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
	return PrintTable(a, list, func(w io.Writer) { printTenants(w, list) })
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
