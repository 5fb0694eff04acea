package exception

import (
	"context"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Audit reads the tenant's whole log and names, in words, every use that no live
// exception covered: of an exception that was never registered, had expired or had ended.
func (g *Registry) Audit(ctx context.Context, s scope.Scope) ([]string, error) {
	list, err := g.List(ctx, s, true)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var found []string
	open := map[string]schemas.GovernedException{}
	for after := int64(0); ; {
		entries, err := g.cfg.Log.Read(ctx, s, after, 512)
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		if len(entries) == 0 {
			return found, nil
		}
		for i := range entries {
			e := &entries[i]
			after = e.Position
			if x, ok := dataOf[schemas.GovernedException](e, schemas.TypeExceptionRegistered); ok {
				open[x.ID] = x
			}
			if x, ok := dataOf[schemas.GovernedException](e, schemas.TypeExceptionEnded); ok {
				delete(open, x.ID)
			}
			if x, ok := dataOf[schemas.GovernedException](e, schemas.TypeExceptionUsed); ok {
				if at, live := open[x.ID]; !live || !x.At.Before(at.ExpiresAt) {
					found = append(found, fmt.Sprintf("position %d uses %s, which was not live", e.Position, x.ID))
				}
			}
		}
	}
}
