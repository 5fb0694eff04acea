package erasure

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// supersedersExtension of an erasure's entry says, for each memory.superseded whose
// content it took away, which item took the other's place: "17:item-b,19:item-c". The
// link of that item stays, so a rebuild has to find it.
const supersedersExtension = "satchelsuperseders"

// joinSuperseders writes the items by position.
func joinSuperseders(by []superseder) string {
	text := make([]string, len(by))
	for i, s := range by {
		text[i] = strconv.FormatInt(s.position, 10) + ":" + s.item
	}
	return strings.Join(text, ",")
}

type superseder struct {
	position int64
	item     string
}

// RestoreSupersessions gives erased supersessions among entries back what is not content: which item
// took the place of the erased one.
func RestoreSupersessions(ctx context.Context, log *eventlog.Log, s scope.Scope, entries []eventlog.Entry) error {
	var by map[int64]string
	for i := range entries {
		e := &entries[i]
		if !e.Erased || e.Type != schemas.TypeMemorySuperseded {
			continue
		}
		if by == nil {
			var err error
			if by, err = readSuperseders(ctx, log, s); err != nil {
				return err
			}
		}
		item, ok := by[e.Position]
		if !ok {
			continue
		}
		data, err := json.Marshal(schemas.MemorySuperseded{Scope: schemas.MemoryScope{Tenant: s.Tenant()}, Item: e.Subject, By: item})
		if err != nil {
			return fmt.Errorf("restore supersession at position %d: %w", e.Position, err)
		}
		e.Erased = false
		e.Data = data
	}
	return nil
}

func readSuperseders(ctx context.Context, log *eventlog.Log, s scope.Scope) (map[int64]string, error) {
	erasures, err := log.BySubject(ctx, s, eventlog.ErasureSubject, schemas.TypeMemoryErased)
	if err != nil {
		return nil, fmt.Errorf("find erasures: %w", err)
	}
	by := map[int64]string{}
	for i := range erasures {
		for part := range strings.SplitSeq(erasures[i].Extensions[supersedersExtension], ",") {
			position, item, _ := strings.Cut(part, ":")
			if p, err := strconv.ParseInt(position, 10, 64); err == nil {
				by[p] = item
			}
		}
	}
	return by, nil
}
