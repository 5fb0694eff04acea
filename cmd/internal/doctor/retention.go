package doctor

import (
	"context"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
)

// checkRetention says what retention takes next, or what is wrong with its file.
func checkRetention(ctx context.Context, a *app.App) []app.Finding {
	const check = "retention"
	if a.Retention == "" {
		return []app.Finding{{Check: check, OK: true, Detail: "no classes: items are kept until they are erased by request"}}
	}
	if _, err := a.OpenRetention(); err != nil {
		return []app.Finding{{Check: check, Detail: err.Error()}}
	}
	if a.RequireData() != nil {
		return []app.Finding{{Check: check, OK: true, Detail: "nothing is stored yet"}}
	}
	plan, err := command.PlanRetention(ctx, a, "")
	if err != nil {
		return []app.Finding{{Check: check, Detail: err.Error()}}
	}
	list := make([]app.Finding, len(plan))
	for i := range plan {
		list[i] = app.Finding{Check: check + " of " + plan[i].Tenant, OK: true, Detail: plan[i].String()}
	}
	return list
}
