package erasure

import (
	"context"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/write"
	"satchel/policies/hold"
	"satchel/schemas"
)

// holdsExtension of an erasure's entry lists the legal holds that had kept the items and were released
// before. They cannot be found once the items' content is gone.
const holdsExtension = "satchelholds"

// findHolds returns the legal holds that cover any version of the items.
func (e *Eraser) findHolds(ctx context.Context, s scope.Scope, ids []string) (hold.Held, error) {
	all, err := e.cfg.Holds.All(ctx, s)
	if err != nil {
		return hold.Held{}, err
	}
	var versions []hold.Version
	for _, id := range ids {
		list, err := e.readRecorded(ctx, s, id)
		if err != nil {
			return hold.Held{}, err
		}
		versions = append(versions, holdVersions(list)...)
	}
	return all.Over(versions), nil
}

// holdVersions are versions of an item as holds look at them.
func holdVersions(list []version) []hold.Version {
	versions := make([]hold.Version, len(list))
	for i := range list {
		versions[i] = holdVersion(&list[i].MemoryItem, list[i].agent)
	}
	return versions
}

func holdVersion(item *schemas.MemoryItem, agent string) hold.Version {
	return hold.Version{Item: item.ID, Session: item.SessionID(), Agent: agent, Labels: item.SecurityLabel}
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
