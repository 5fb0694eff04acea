package pipeline

import (
	"context"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/eventlog"
)

// entries reads the log; an eventlog.Log is one.
type entries interface {
	Entry(ctx context.Context, s scope.Scope, position int64) (eventlog.Entry, error)
}

// sayReplaced warns of items that were there at the moment the request is about and were
// recorded again since: the indexes have their last version alone. It counts those that the
// asker may see, as they are now.
func (t *turn) sayReplaced(ctx context.Context, s scope.Scope, q selection.Query) {
	list := t.ranking.Replaced
	if len(list) == 0 || q.Hides == nil {
		return
	}
	n := 0
	for i, hidden := range q.Hides(ctx, list) {
		if !hidden && t.stood(ctx, s, list[i].First) {
			n++
		}
	}
	switch {
	case n == 1:
		t.warnings = append(t.warnings, "as_of: 1 item that was recorded again since is left out: only the last version can be shown")
	case n > 1:
		t.warnings = append(t.warnings, fmt.Sprintf("as_of: %d items that were recorded again since are left out: only the last versions can be shown", n))
	}
}

// stood reports whether an entry was in the log at the time the request is about. Without a
// log to read it may have been.
func (t *turn) stood(ctx context.Context, s scope.Scope, position int64) bool {
	log, ok := t.e.cfg.Log.(entries)
	if t.req.AsOfTime.IsZero() || !ok {
		return true
	}
	entry, err := log.Entry(ctx, s, position)
	return err != nil || !entry.RecordedAt.After(t.req.AsOfTime)
}
