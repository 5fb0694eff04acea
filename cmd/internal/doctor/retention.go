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
		return []app.Finding{reportPassed(check, "no classes: items are kept until they are erased by request")}
	}
	if _, err := a.OpenRetention(); err != nil {
		return []app.Finding{reportFailed(check, "%v", err)}
	}
	if a.RequireData() != nil {
		return []app.Finding{reportPassed(check, "nothing is stored yet")}
	}
	plan, err := command.PlanRetention(ctx, a, "")
	if err != nil {
		return []app.Finding{reportFailed(check, "%v", err)}
	}
	list := make([]app.Finding, len(plan))
	for i := range plan {
		list[i] = reportPassed(check+" of "+plan[i].Tenant, "%s", &plan[i])
	}
	return list
}
