package erasure

import (
	"context"
	"fmt"
	"sync"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies/hold"
	"satchel/schemas"
)

// Outlook is what retention takes from a tenant.
type Outlook struct {
	Due  []Due     // oldest first
	Held []Due     // due as well, and kept by legal holds on them or on a summary of them
	Next time.Time // when the next item is due; zero: it was not looked for, or no other is in a class
}

// Due is an item that its class keeps no longer.
type Due struct {
	Item     string    `json:"item"`
	Class    string    `json:"class"`
	Position int64     `json:"position"` // of its present version
	Since    time.Time `json:"since"`    // when it became due
}

// Look returns what is due at now, by the log alone: at most limit items, or with limit 0 all, and when
// the next is due.
func (r *Retention) Look(
	ctx context.Context, log *eventlog.Log, s scope.Scope, now time.Time, limit int,
) (Outlook, error) {
	holds, err := hold.New(hold.Config{Log: log}).All(ctx, s)
	if err != nil {
		return Outlook{}, err
	}
	by := keeping{holds, sync.OnceValues(func() (map[string]bool, error) { return sourcesOfHeld(ctx, log, s, holds) })}
	var o Outlook
	for after := int64(0); ; {
		entries, err := log.Read(ctx, s, after, 512)
		if err != nil {
			return o, fmt.Errorf("look for what retention takes: %w", err)
		}
		if len(entries) == 0 {
			return o, nil
		}
		for i := range entries {
			e := &entries[i]
			after = e.Position
			earliest := e.RecordedAt.Add(r.findShortestKeep())
			if earliest.After(now) && (limit > 0 || !o.Next.IsZero() && earliest.After(o.Next)) {
				return o, nil // what follows is due later
			}
			if err := r.addToOutlook(ctx, log, s, now, e, by, &o); err != nil {
				return o, err
			}
			if limit > 0 && len(o.Due) == limit {
				return o, nil
			}
		}
	}
}

// keeping is what legal holds keep.
type keeping struct {
	holds   hold.Holds
	sources func() (map[string]bool, error) // of held summaries
}

// addToOutlook adds the item of an entry, if it is its present version and in a class.
func (r *Retention) addToOutlook(
	ctx context.Context, log *eventlog.Log, s scope.Scope, now time.Time, e *eventlog.Entry, by keeping, o *Outlook,
) error {
	if e.Type != schemas.TypeMemoryRecorded || e.Erased {
		return nil
	}
	item, err := write.Item(*e)
	if err != nil {
		return err
	}
	class := r.classOf(&item)
	if class == nil {
		return nil
	}
	due := Due{Item: item.ID, Class: class.Name, Position: e.Position, Since: e.RecordedAt.Add(time.Duration(class.Keep))}
	if due.Since.After(now) {
		if o.Next.IsZero() || due.Since.Before(o.Next) {
			o.Next = due.Since
		}
		return nil
	}
	versions, err := readRecordedVersions(ctx, log, s, item.ID)
	if err != nil || len(versions) == 0 || versions[len(versions)-1].Position != e.Position {
		return err
	}
	sources, err := by.sources()
	if err != nil {
		return err
	}
	if sources[item.ID] || len(by.holds.Over(holdVersions(versions)).Live) > 0 {
		o.Held = append(o.Held, due)
	} else {
		o.Due = append(o.Due, due)
	}
	return nil
}
