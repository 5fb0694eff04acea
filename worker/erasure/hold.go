package erasure

import (
	"context"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/write"
	"satchel/policies/hold"
)

// holdsExtension of an erasure's entry lists the legal holds that had kept the items and were released
// before. They cannot be found once the items' content is gone.
const holdsExtension = "satchelholds"

// held returns the legal holds that cover any version of the items.
func (e *Eraser) held(ctx context.Context, s scope.Scope, ids []string) (hold.Held, error) {
	var versions []hold.Version
	for _, id := range ids {
		recorded, err := e.recorded(ctx, s, id)
		if err != nil {
			return hold.Held{}, err
		}
		for i := range recorded {
			r := &recorded[i]
			versions = append(versions, hold.Version{Item: id, Session: r.SessionID(), Agent: r.agent, Labels: r.SecurityLabel})
		}
	}
	return e.cfg.Holds.Over(ctx, s, versions)
}

// underHold refuses an erasure. It names the holds, and not why they were placed.
func underHold(holds []string) *write.Rejection {
	const named = 8
	names := strings.Join(holds[:min(len(holds), named)], ", ")
	if len(holds) > named {
		names += ", …"
	}
	return &write.Rejection{Reason: write.PolicyDenied, Holds: holds,
		Cause: "legal_hold: these items are kept by " + names + "; nothing was erased, and nothing is until that is released"}
}
