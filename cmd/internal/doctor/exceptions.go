package doctor

import (
	"context"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies/exception"
)

// checkExceptions lists what steps around policy, and finds uses that nothing covered.
func checkExceptions(ctx context.Context, a *app.App) []app.Finding {
	return eachTenant(ctx, a, "governed exceptions", "none: policy holds for everybody", examineExceptions)
}

// eachTenant returns what examine finds in the log of each tenant, or none when that is nothing.
func eachTenant(
	ctx context.Context, a *app.App, check, none string,
	examine func(context.Context, *eventlog.Log, scope.Scope) ([]app.Finding, error),
) (list []app.Finding) {
	if a.RequireData() != nil {
		return []app.Finding{reportPassed(check, "none")}
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return []app.Finding{reportFailed(check, "%v", err)}
	}
	defer log.Close()
	tenants, err := log.Tenants(ctx)
	if err != nil {
		return []app.Finding{reportFailed(check, "%v", err)}
	}
	for _, tenant := range tenants {
		s, err := scope.System(tenant)
		var found []app.Finding
		if err == nil {
			found, err = examine(ctx, log.Log, s)
		}
		if err != nil {
			found = []app.Finding{reportFailed(check, "tenant %s: %v", tenant, err)}
		}
		list = append(list, found...)
	}
	if len(list) == 0 {
		list = []app.Finding{reportPassed(check, "%s", none)}
	}
	return list
}

func examineExceptions(ctx context.Context, log *eventlog.Log, s scope.Scope) ([]app.Finding, error) {
	registry, err := exception.New(exception.Config{Log: log, PDP: &app.DecisionPoint{}}) // it lists only, nothing is decided
	if err != nil {
		return nil, err
	}
	live, err := registry.List(ctx, s, false)
	if err != nil {
		return nil, err
	}
	var list []app.Finding
	for i := range live {
		list = append(list, reportPassed("exception of "+s.Tenant(), "%s", command.DescribeException(&live[i])))
	}
	violations, err := registry.Audit(ctx, s)
	for _, v := range violations {
		list = append(list, reportFailed("exception of "+s.Tenant(), "%s", v))
	}
	return list, err
}
