package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/scope"
	"satchel/worker/erasure"
)

// Retention is satchel retention.
type Retention struct {
	Plan retentionPlanCmd `cmd:"" help:"Say what is due, what legal holds keep, and when the next item is due."`
}

type retentionPlanCmd struct{}

// Planned is what retention takes from a tenant.
type Planned struct {
	Tenant string         `json:"tenant"`
	Due    map[string]int `json:"due"`            // items by class
	Held   int            `json:"held"`           // due as well, and kept by legal holds
	Next   time.Time      `json:"next,omitzero"`  // when the next item is due
	Items  []erasure.Due  `json:"items,omitzero"` // those that are due
}

// String says it in words.
func (p *Planned) String() string {
	var due []string
	for _, class := range slices.Sorted(maps.Keys(p.Due)) {
		due = append(due, fmt.Sprintf("%s of class %s", terminal.Plural(p.Due[class], "item", "items"), class))
	}
	say := "nothing is due"
	if len(due) > 0 {
		say = "due: " + strings.Join(due, ", ")
	}
	if p.Held > 0 {
		say += fmt.Sprintf("; legal holds keep %s", terminal.Plural(p.Held, "item", "items"))
	}
	if !p.Next.IsZero() {
		say += "; next " + p.Next.UTC().Format(time.RFC3339)
	}
	return say
}

// Run prints it.
func (c *retentionPlanCmd) Run(ctx context.Context, a *app.App) error {
	if a.Retention == "" {
		return config.Usagef("name a file of retention classes with --retention or SATCHEL_RETENTION")
	}
	only := ""
	if a.TenantGiven {
		only = a.Tenant
	}
	list, err := PlanRetention(ctx, a, only)
	if err != nil {
		return err
	}
	return PrintReply(a, list, func(w io.Writer) {
		for i := range list {
			fmt.Fprintf(w, "%s: %s\n", list[i].Tenant, &list[i])
		}
	})
}

// PlanRetention says what retention takes from one tenant, or with "" from every tenant.
func PlanRetention(ctx context.Context, a *app.App, only string) ([]Planned, error) {
	retention, err := a.OpenRetention()
	if err != nil {
		return nil, err
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	tenants := []string{only}
	if only == "" {
		if tenants, err = log.Tenants(ctx); err != nil {
			return nil, err
		}
	}
	list := []Planned{}
	for _, tenant := range tenants {
		s, err := scope.System(tenant)
		if err != nil {
			return nil, &config.UsageError{Err: err}
		}
		o, err := retention.Look(ctx, log.Log, s, time.Now(), 0)
		if err != nil {
			return nil, err
		}
		p := Planned{Tenant: tenant, Due: map[string]int{}, Held: len(o.Held), Next: o.Next, Items: o.Due}
		for _, d := range o.Due {
			p.Due[d.Class]++
		}
		list = append(list, p)
	}
	return list, nil
}
