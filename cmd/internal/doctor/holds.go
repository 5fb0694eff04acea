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
	const check = "legal holds"
	if a.RequireData() != nil {
		return []app.Finding{{Check: check, OK: true, Detail: "none"}}
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return []app.Finding{{Check: check, Detail: err.Error()}}
	}
	defer log.Close()
	list, err := listHolds(ctx, log.Log)
	if err != nil {
		return []app.Finding{{Check: check, Detail: err.Error()}}
	}
	if len(list) == 0 {
		list = []app.Finding{{Check: check, OK: true, Detail: "none: policy alone says what may be erased"}}
	}
	return list
}

func listHolds(ctx context.Context, log *eventlog.Log) (list []app.Finding, err error) {
	tenants, err := log.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	holds := hold.New(hold.Config{Log: log})
	for _, tenant := range tenants {
		s, err := scope.System(tenant)
		if err != nil {
			return nil, err
		}
		live, err := holds.List(ctx, s, false)
		if err != nil {
			return nil, err
		}
		for i := range live {
			list = append(list, app.Finding{Check: "legal hold of " + tenant, OK: true, Detail: command.DescribeHold(&live[i])})
		}
	}
	return list, nil
}
