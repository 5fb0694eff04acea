package doctor

import (
	"context"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies/hold"
)

// checkHolds lists the legal holds that are live.
func checkHolds(ctx context.Context, a *app.App) []app.Finding {
	return eachTenant(ctx, a, "legal holds", "none: policy alone says what may be erased", listHolds)
}

func listHolds(ctx context.Context, log *eventlog.Log, s scope.Scope) ([]app.Finding, error) {
	live, err := hold.New(hold.Config{Log: log}).List(ctx, s, false)
	list := make([]app.Finding, len(live))
	for i := range live {
		list[i] = app.Finding{Check: "legal hold of " + s.Tenant(), OK: true, Detail: command.DescribeHold(&live[i])}
	}
	return list, err
}
