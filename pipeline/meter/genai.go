// It makes the spans of memory operations, with the names that OpenTelemetry's semantic
// conventions for generative AI give them (semantic-conventions-genai 0.1.0, "Memory"). It promises
// that a span has no text and no item, unless Tracer.Content is set. Its caller ends the span.

package meter

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"satchel/schemas"
)

// The operations, which are the names of their spans.
const (
	SearchMemory = "search_memory"
	CreateMemory = "create_memory"
	UpdateMemory = "update_memory"
	DeleteMemory = "delete_memory"
)

// The attributes.
const (
	operationName = attribute.Key("gen_ai.operation.name")
	storeID       = attribute.Key("gen_ai.memory.store.id") // the tenant
	recordCount   = attribute.Key("gen_ai.memory.record.count")
	topK          = attribute.Key("gen_ai.retrieval.top_k")
	queryText     = attribute.Key("gen_ai.memory.query.text") // content
	memoryRecords = attribute.Key("gen_ai.memory.records")    // content
	errorType     = attribute.Key("error.type")
	receiptLevel  = attribute.Key("satchel.receipt.level")
)

// Tracer makes the spans of memory operations.
type Tracer struct {
	trace.Tracer
	// Content has the spans hold queries and records, as the principal was shown or wrote them. No
	// erasure reaches them.
	Content bool
}

// Record is a record in a span.
type Record struct {
	ID      string          `json:"id"`
	Content schemas.Content `json:"content"`
	Score   *float64        `json:"score,omitempty"`
}

// Span is the span of one memory operation. The zero Span records nothing.
type Span struct {
	trace.Span
	content bool
}

// Start begins the span of an operation on a tenant's memories.
func (t Tracer) Start(ctx context.Context, operation, tenant string, more ...attribute.KeyValue) (
	context.Context, Span,
) {
	about := append([]attribute.KeyValue{operationName.String(operation), storeID.String(tenant)}, more...)
	ctx, span := t.Tracer.Start(ctx, operation, trace.WithAttributes(about...))
	return ctx, Span{span, t.Content}
}

// OperationOf is the operation that publishing an event of a type is. An item that replaces another is an update.
func OperationOf(eventType string, replaces bool) string {
	switch {
	case eventType == schemas.TypeMemoryErased:
		return DeleteMemory
	case eventType == schemas.TypeMemoryRecorded && !replaces:
		return CreateMemory
	}
	return UpdateMemory
}

// Query notes what was searched for, and how many records at most.
func (s Span) Query(text string, limit int) {
	if s.Span == nil || !s.IsRecording() {
		return
	}
	s.SetAttributes(topK.Int(limit))
	if s.content && text != "" {
		s.SetAttributes(queryText.String(text))
	}
}

// Count notes how many records the operation is about.
func (s Span) Count(records int) {
	if s.Span != nil {
		s.SetAttributes(recordCount.Int(records))
	}
}

// Records is Count with the records, which content returns. It is only called for a span that holds
// content.
func (s Span) Records(count int, content func() []Record) {
	s.Count(count)
	if s.Span == nil || !s.content || count == 0 || !s.IsRecording() {
		return
	}
	if raw, err := json.Marshal(content()); err == nil {
		s.SetAttributes(memoryRecords.String(string(raw)))
	}
}

// Receipt notes how far a write has come.
func (s Span) Receipt(level schemas.ReceiptLevel) {
	if s.Span != nil {
		s.SetAttributes(receiptLevel.String(string(level)))
	}
}

// Fail notes that the operation failed, with the code alone.
func (s Span) Fail(code schemas.Code) {
	if s.Span != nil {
		s.SetStatus(codes.Error, string(code))
		s.SetAttributes(errorType.String(string(code)))
	}
}
