package service

import (
	"context"
	"encoding/json"
	"errors"

	"satchel/pipeline/meter"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/schemas"
)

// publishTraced publishes under a span, which ends with the receipt: where publish returns a Wait, when that
// has returned.
func (v *Service) publishTraced(ctx context.Context, tenant string, d *write.Prepared,
	publish func(context.Context) (any, error),
) (any, error) {
	if v.cfg.Tracer.Tracer == nil {
		return publish(ctx)
	}
	ctx, span := v.cfg.Tracer.Start(ctx, meter.OperationOf(d.Type, len(d.Touches) > 1), tenant)
	describeWrite(span, &d.Draft)
	reply, err := publish(ctx)
	wait, waits := reply.(Wait)
	if !waits {
		endWriteSpan(ctx, span, reply, err)
		return reply, err
	}
	return Wait(func(ctx context.Context) (any, error) {
		reply, err := wait(ctx)
		endWriteSpan(ctx, span, reply, err)
		return reply, err
	}), nil
}

// describeWrite tells a span how many records a write is about, and, where the span holds content, what
// is recorded.
func describeWrite(span meter.Span, d *eventlog.Draft) {
	var erased schemas.MemoryErased
	count := 1
	if d.Type == schemas.TypeMemoryErased && json.Unmarshal(d.Data, &erased) == nil {
		count = len(erased.Items)
	}
	if d.Type != schemas.TypeMemoryRecorded {
		span.Count(count)
		return
	}
	span.Records(count, func() []meter.Record {
		var item schemas.MemoryItem
		if json.Unmarshal(d.Data, &item) != nil {
			return nil
		}
		return []meter.Record{{ID: item.ID, Content: item.Content}}
	})
}

// endWriteSpan notes how a write ended, and ends its span.
func endWriteSpan(ctx context.Context, span meter.Span, reply any, err error) {
	if receipt, ok := reply.(schemas.Receipt); ok {
		span.Receipt(receipt.Level)
	}
	if err != nil {
		var typed *schemas.Error
		errors.As(storageError(ctx, "write", err), &typed) // it always is one
		span.Fail(typed.Code)
	}
	span.End()
}
