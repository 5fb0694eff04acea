package erasure

import (
	"context"
	"encoding/json"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies/hold"
	"satchel/schemas"
)

// sourcesOfHeld returns the items that live holds keep because a held summary would go with them:
// its sources, and theirs where they are summaries. It reads the log when there is a live hold.
func sourcesOfHeld(ctx context.Context, log *eventlog.Log, s scope.Scope, holds hold.Holds) (map[string]bool, error) {
	kept := map[string]bool{}
	if !holds.Live() {
		return kept, nil
	}
	summaries := map[string][]hold.Version{}
	sources := map[string][]string{}
	for after := int64(0); ; {
		entries, err := log.Read(ctx, s, after, 512)
		if err != nil {
			return nil, fmt.Errorf("look for held summaries: %w", err)
		}
		if len(entries) == 0 {
			break
		}
		after = entries[len(entries)-1].Position
		for i := range entries {
			e := &entries[i]
			switch {
			case e.Erased:
			case e.Type == schemas.TypeMemoryRecorded:
				item, err := write.Item(*e)
				if err != nil {
					return nil, err
				}
				if item.Kind == schemas.KindSummary {
					summaries[item.ID] = append(summaries[item.ID], holdVersion(&item, e.Agent))
					sources[item.ID] = append(sources[item.ID], derivedFrom(item.Links)...)
				}
			case e.Type == schemas.TypeMemoryLinked:
				var l schemas.MemoryLinked
				if err := json.Unmarshal(e.Data, &l); err != nil {
					return nil, fmt.Errorf("read links of position %d: %w", e.Position, err)
				}
				sources[l.From] = append(sources[l.From], derivedFrom(l.Links)...)
			}
		}
	}
	for id, versions := range summaries {
		if len(holds.Over(versions).Live) > 0 {
			keepSources(id, summaries, sources, kept)
		}
	}
	return kept, nil
}

// keepSources adds the sources of a summary to kept, and those of summaries among them.
func keepSources(id string, summaries map[string][]hold.Version, sources map[string][]string, kept map[string]bool) {
	for _, source := range sources[id] {
		if kept[source] {
			continue
		}
		kept[source] = true
		if summaries[source] != nil {
			keepSources(source, summaries, sources, kept)
		}
	}
}

func derivedFrom(links []schemas.Link) (ids []string) {
	for _, l := range links {
		if l.Rel == schemas.RelDerivedFrom {
			ids = append(ids, l.To)
		}
	}
	return ids
}
