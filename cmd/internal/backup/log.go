package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
)

// tenantLog is a tenant's log on its way into a backup.
type tenantLog struct {
	*writer
	scope    scope.Scope
	head     eventlog.Head // that segments lead to
	segments []segment     // in order
	round    int
	total    int64 // entries when the round began
}

// checkSegments makes sure that the former backup's segments are there and lead to its head.
func (t *tenantLog) checkSegments() error {
	at := int64(0)
	for _, seg := range t.segments {
		if !t.there(seg.File) {
			return &DamagedError{seg.Path, "it is missing or has another size; make a backup without --since"}
		}
		if seg.from != at+1 {
			return &DamagedError{manifestFile, "a segment is missing before " + seg.Path}
		}
		at = seg.to
	}
	if at != t.head.Size {
		return &DamagedError{manifestFile, fmt.Sprintf("the segments of tenant %q end at position %d, and its head at %d", t.scope.Tenant(), at, t.head.Size)}
	}
	return nil
}

// extend brings the segments up to the log's present head, and reports whether something was
// erased since: then the segments hold what the log has no more.
func (t *tenantLog) extend(ctx context.Context) (again bool, err error) {
	before := t.head
	now := eventlog.Head{}
	if now, err = t.src.Log.Head(ctx, t.scope); err != nil {
		return false, err
	}
	t.total = now.Size
	if now.Size < before.Size {
		return false, fmt.Errorf("%w: %d entries, and the log has %d", eventlog.ErrDiffers, before.Size, now.Size)
	}
	if now != before {
		erased, err := t.addNew(ctx)
		if err != nil {
			return false, err
		}
		if erased && before.Size > 0 {
			if err := t.rewrite(ctx); err != nil {
				return false, err
			}
		}
	}
	since, err := t.src.Log.BySubjectAfter(ctx, t.scope, eventlog.ErasureSubject, t.head.Size, erasureType)
	return len(since) > 0, err
}

// addNew writes the entries behind the head, together with the last segment if that is short, and
// reports whether an erasure is among them.
func (t *tenantLog) addNew(ctx context.Context) (erased bool, err error) {
	w := t.segmentWriter()
	defer func() { err = errors.Join(err, w.drop()) }()
	keep := t.segments
	if n := len(keep) - 1; n >= 0 && keep[n].to-keep[n].from+1 < t.o.Rows && keep[n].Size < segmentBytes/8 {
		last := keep[n]
		keep = keep[:n]
		if err := t.src.Log.ExportRange(ctx, t.scope, last.from-1, last.to, w.add); err != nil {
			return false, err
		}
	}
	head, err := t.src.Log.Export(ctx, t.scope, t.head, func(rows []eventlog.Row) error {
		for i := range rows {
			erased = erased || rows[i].Type == erasureType
		}
		t.tell(rows)
		return w.add(rows)
	})
	if err == nil {
		err = w.cut()
	}
	if err != nil {
		return false, err
	}
	t.head, t.segments = head, slices.Concat(keep, w.done)
	return erased, nil
}

// tell says how far the log is read.
func (t *tenantLog) tell(rows []eventlog.Row) {
	if t.o.Progress != nil && len(rows) > 0 {
		at := rows[len(rows)-1].Position
		t.o.Progress("backing up "+t.scope.Tenant(), at, max(at, t.total))
	}
}

// rewrite writes the segments again of which content was erased.
func (t *tenantLog) rewrite(ctx context.Context) (err error) {
	lacking := make([]int, len(t.segments))
	at := 0
	err = t.src.Log.ExportRange(ctx, t.scope, 0, t.head.Size, func(rows []eventlog.Row) error {
		for i := range rows {
			for rows[i].Position > t.segments[at].to {
				at++
			}
			if lacks(&rows[i]) {
				lacking[at]++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	w := t.segmentWriter()
	defer func() { err = errors.Join(err, w.drop()) }()
	var segments []segment
	for i, seg := range t.segments {
		if lacking[i] == seg.Erased {
			segments = append(segments, seg)
			continue
		}
		w.done = nil
		err := t.src.Log.ExportRange(ctx, t.scope, seg.from-1, seg.to, w.add)
		if err == nil {
			err = w.cut()
		}
		if err != nil {
			return err
		}
		segments = append(segments, w.done...)
	}
	t.segments = segments
	return nil
}

func (t *tenantLog) segmentWriter() *segmentWriter {
	return &segmentWriter{root: t.dir, tenant: t.scope.Tenant(), limit: t.o.Rows}
}
