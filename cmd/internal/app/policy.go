package app

import (
	"context"

	"satchel/cmd/internal/config"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/policies"
	"satchel/policies/opa"
	"satchel/policies/rego"
	"satchel/schemas"
)

// TestPolicy runs the Rego tests of the bundle at path; of the one in force where path is empty.
func (a *App) TestPolicy(ctx context.Context, path string) (opa.TestReport, error) {
	source := a.PolicyBundle()
	if path != "" {
		source.Path = path
	}
	if source.Path == "" {
		return opa.TestFS(ctx, rego.WithTests())
	}
	return source.Test(ctx)
}

// Explanation is a verdict and where it comes from.
type Explanation struct {
	opa.Explanation
	Warnings []string
}

// Explain decides on the only resource of a request and says which rule did; only OPA in the process knows the rule.
func (d *DecisionPoint) Explain(ctx context.Context, s scope.Scope, r policies.Request) (why Explanation, err error) {
	if p, ok := d.PDP.(*opa.PDP); ok {
		why.Explanation, err = p.Explain(ctx, s, r)
		return why, err
	}
	got, err := d.Decide(ctx, s, r)
	if err != nil {
		return why, err
	}
	why.Verdict = got.Verdicts[0]
	why.Revision = got.Revision
	why.Warnings = got.Warnings
	return why, nil
}

// StoredItem reads an item from the items in the data folder or the database.
func (a *App) StoredItem(ctx context.Context, s scope.Scope, id string) (*schemas.Record, error) {
	if err := a.noItems(); err != nil { // a look makes no store
		return nil, config.Usagef("no items in %s: %v", a.Dir, err)
	}
	var records []schemas.Record
	err := a.readItems(ctx, func(stored *items.Items) (err error) {
		records, err = stored.Get(ctx, s, []string{id})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, config.Usagef("tenant %s has no item %q", a.Tenant, id)
	}
	return &records[0], nil
}
