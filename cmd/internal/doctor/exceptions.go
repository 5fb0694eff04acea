package doctor

import (
	"context"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/pipeline/scope"
	"satchel/policies/exception"
)

// checkExceptions lists what steps around policy, and finds uses that nothing covered.
func checkExceptions(ctx context.Context, a *app.App) []app.Finding {
	const check = "governed exceptions"
	if a.RequireData() != nil {
		return []app.Finding{{Check: check, OK: true, Detail: "none"}}
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return []app.Finding{{Check: check, Detail: err.Error()}}
	}
	defer log.Close()
	tenants, err := log.Tenants(ctx)
	if err != nil {
		return []app.Finding{{Check: check, Detail: err.Error()}}
	}
	registry, err := exception.New(exception.Config{Log: log, PDP: &app.DecisionPoint{}}) // it lists only, nothing is decided
	if err != nil {
		return []app.Finding{{Check: check, Detail: err.Error()}}
	}
	var list []app.Finding
	for _, tenant := range tenants {
		found, err := examineExceptions(ctx, registry, tenant)
		if err != nil {
			found = []app.Finding{{Check: check, Detail: "tenant " + tenant + ": " + err.Error()}}
		}
		list = append(list, found...)
	}
	if len(list) == 0 {
		list = []app.Finding{{Check: check, OK: true, Detail: "none: policy holds for everybody"}}
	}
	return list
}

func examineExceptions(ctx context.Context, registry *exception.Registry, tenant string) ([]app.Finding, error) {
	s, err := scope.System(tenant)
	if err != nil {
		return nil, err
	}
	live, err := registry.List(ctx, s, false)
	if err != nil {
		return nil, err
	}
	var list []app.Finding
	for i := range live {
		list = append(list, app.Finding{Check: "exception of " + tenant, OK: true, Detail: command.DescribeException(&live[i])})
	}
	violations, err := registry.Audit(ctx, s)
	for _, v := range violations {
		list = append(list, app.Finding{Check: "exception of " + tenant, Detail: v})
	}
	return list, err
}
