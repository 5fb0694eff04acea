package erasure

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/schemas"
)

// searchedExtension of an erasure's entry is the log position up to which summaries of the items
// were looked for when it was begun.
const searchedExtension = "satchelsearched"

// Logged is an erasure in the log.
type Logged struct {
	items    []string
	position int64
	searched int64 // what searchedExtension says
	kept     eventlog.KeptErasure
}

// LoggedBy returns the erasure er of an entry.
func LoggedBy(entry *eventlog.Entry, er *schemas.MemoryErased) Logged {
	searched, err := strconv.ParseInt(entry.Extensions[searchedExtension], 10, 64)
	if err != nil { // an earlier version began it
		searched = 0
	}
	return Logged{er.Items, entry.Position, searched, eventlog.KeptErasureOf(entry, er.Items)}
}

// lateSummaries returns the summaries that a compaction made of what it had read before the erasures and
// logged after these were planned, and those made of such a summary, and how much of the log it
// has read. The requests that were under way MUST have ended.
func (e *Eraser) lateSummaries(ctx context.Context, s scope.Scope, erased []Logged) (ids []string, searched int64, err error) {
	head, err := e.cfg.Log.Head(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	before := map[string]int64{} // by item: who searched before that position found it
	after := head.Size
	for _, b := range erased {
		for _, id := range b.items {
			before[id] = max(before[id], b.position)
		}
		after = min(after, b.searched)
	}
	var pack eventlog.Entry // the last: a summary follows that of its compaction
	for after < head.Size {
		entries, err := e.cfg.Log.Read(ctx, s, after, 0)
		if err != nil {
			return nil, 0, fmt.Errorf("look for late summaries: %w", err)
		}
		if len(entries) == 0 {
			break
		}
		for _, entry := range entries {
			after = entry.Position
			switch {
			case entry.Type == schemas.TypeContextPacked:
				pack = entry
			case entry.Type == schemas.TypeMemoryRecorded && entry.Source == schemas.SourceCompaction && !entry.Erased:
				item, err := write.Item(entry)
				if err != nil {
					return nil, 0, err
				}
				if hasErasedSource(&item, asOf(&pack), before) {
					ids = append(ids, item.ID)
					before[item.ID] = math.MaxInt64
				}
			}
		}
	}
	return ids, after, nil
}

// hasErasedSource reports whether a summary by who searched asOf was made of an erased item.
func hasErasedSource(summary *schemas.MemoryItem, asOf int64, before map[string]int64) bool {
	for _, l := range summary.Links {
		if l.Rel == schemas.RelDerivedFrom && asOf < before[l.To] {
			return true
		}
	}
	return false
}

// asOf is the log position that a pack is made as of; 0, before everything, for none.
func asOf(pack *eventlog.Entry) int64 {
	var says struct {
		AsOf int64 `json:"as_of"`
	}
	if json.Unmarshal(pack.Data, &says) != nil {
		return 0
	}
	return says.AsOf
}

// eraseLate erases the late summaries of erasures, and returns the erasure that it began, nil
// when there are none.
func (e *Eraser) eraseLate(ctx context.Context, s scope.Scope, erased []Logged) (*pending, error) {
	ids, searched, err := e.lateSummaries(ctx, s, erased)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	d := eventlog.Draft{Tenant: s.Tenant(), Agent: systemAgent, Type: schemas.TypeMemoryErased, Source: schemas.SourceCompaction,
		ID: fmt.Sprintf("late.%d.%x", erased[0].position, sum[:8]), Time: e.cfg.Clock().UTC()}
	req := schemas.MemoryErased{Scope: schemas.MemoryScope{Tenant: s.Tenant()}, Items: ids, Reason: "made of what was erased meanwhile"}
	done, err := e.appendErasure(ctx, s, d, &req, &Found{Searched: searched})
	if err != nil {
		return nil, err
	}
	entry, err := e.cfg.Log.Entry(ctx, s, done.Position) // or what another worker appended of the same
	if err != nil {
		return nil, err
	}
	p := &pending{entry: &entry}
	if err := json.Unmarshal(entry.Data, &p.er); err != nil {
		return nil, fmt.Errorf("decode erasure at position %d: %w", entry.Position, err)
	}
	_, err = e.findReceipt(ctx, s, p)
	return p, err
}
