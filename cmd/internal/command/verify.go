package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies/hold"
)

// Verify is satchel verify.
type Verify struct{}

// Verified is what verify prints for a tenant.
type Verified struct {
	Tenant   string `json:"tenant"`
	Size     int64  `json:"size"`
	Root     string `json:"root"`
	Holds    int    `json:"holds,omitempty"` // live legal holds
	OK       bool   `json:"ok"`
	Position int64  `json:"position,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// Run verifies every tenant's log, or that of the tenant the command line names.
func (c *Verify) Run(ctx context.Context, a *app.App) error {
	log, err := a.ReadLog(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	only := ""
	if a.TenantGiven {
		only = a.Tenant
	}
	results, err := VerifyLogs(ctx, a, log, only)
	if err != nil {
		return err
	}
	logs := 0
	bad := 0
	around := 0
	for _, r := range results {
		switch {
		case r.Tenant == "":
			around++
		case r.OK:
			logs++
		default:
			logs = logs + 1
			bad = bad + 1
		}
	}
	err = PrintReply(a, results, func(w io.Writer) {
		for _, r := range results {
			printVerified(w, r)
		}
		if len(results) == 0 {
			fmt.Fprintln(w, "the log is empty")
		}
	})
	if err != nil {
		return err
	}
	if bad > 0 {
		return &FoundError{What: fmt.Sprintf("%d of %s not verify", bad, terminal.Plural(logs, "log does", "logs do"))}
	}
	if around > 0 {
		return &FoundError{What: "something around the logs is wrong"}
	}
	return nil
}

func printVerified(w io.Writer, r Verified) {
	switch {
	case r.OK:
		held := ""
		if r.Holds > 0 {
			held = ", " + terminal.Plural(r.Holds, "legal hold", "legal holds")
		}
		fmt.Fprintf(w, "%s: %s verified, root %s%s\n", r.Tenant, terminal.Plural(int(r.Size), "entry", "entries"), r.Root, held)
	case r.Tenant == "":
		fmt.Fprintf(w, "BAD: %s\n", r.Problem)
	case r.Position == 0:
		fmt.Fprintf(w, "%s: BAD: %s\n", r.Tenant, r.Problem)
	default:
		fmt.Fprintf(w, "%s: BAD at position %d: %s\n", r.Tenant, r.Position, r.Problem)
	}
}

// VerifyLogs verifies the log of one tenant, or with "" of every tenant, and the database
// around them. A result without a tenant is about all of them.
func VerifyLogs(ctx context.Context, a *app.App, log *app.Reading, only string) ([]Verified, error) {
	results := []Verified{}
	if log.Unkeyed != "" {
		results = append(results, Verified{Problem: log.Unkeyed})
	}
	tenants := []string{only}
	var err error
	if only != "" {
		err = a.RequireTenant(ctx, log.Log, only)
	} else {
		tenants, err = a.Tenants(ctx, log.Log)
	}
	if errors.Is(err, eventlog.ErrCorrupt) { // who has a log can't be told
		return append(results, Verified{Problem: err.Error()}), nil
	}
	if err != nil {
		return nil, err
	}
	for _, tenant := range tenants {
		r, err := verifyTenant(ctx, a, log.Log, tenant)
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
		known := func(r Verified) bool { return r.Tenant == bad.Tenant && !r.OK }
		if !slices.ContainsFunc(results, known) {
			results = append(results, Verified{Tenant: bad.Tenant, Position: bad.Position, Problem: bad.Problem})
		}
	case errors.Is(err, eventlog.ErrCorrupt):
		results = append(results, Verified{Problem: err.Error()})
	case err != nil:
		return nil, err
	}
	return results, nil
}

func verifyTenant(ctx context.Context, a *app.App, log *eventlog.Log, tenant string) (Verified, error) {
	r := Verified{Tenant: tenant}
	s, err := scope.System(tenant)
	if err != nil {
		return r, err
	}
	err = runWithBar(a, "verifying "+tenant, func(set progress) error { return log.Verify(ctx, s, nil, set) })
	var bad *eventlog.VerifyError
	switch {
	case errors.As(err, &bad):
		r.Position = bad.Position
		r.Problem = bad.Problem
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
	live, err := hold.New(hold.Config{Log: log}).List(ctx, s, false)
	if err != nil {
		return r, err
	}
	r.OK, r.Size, r.Root, r.Holds = true, head.Size, head.Root.String(), len(live)
	return r, nil
}
