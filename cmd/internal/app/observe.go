package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"satchel/cmd/internal/config"
	"satchel/pipeline/meter"
	"satchel/schemas"
)

// telemetry is where metrics and traces of a process go. Neither has content, and no label
// of a metric has a value that comes from the network: tenants are those that the operator lists.
type telemetry struct {
	meters *meter.Set
	traces trace.TracerProvider
	stops  []func(context.Context) error
}

// maxMetricsTenants is how many tenants can be listed: each has about 900 series.
const maxMetricsTenants = 50

// noTelemetry traces nothing.
func (a *App) noTelemetry() (*telemetry, error) {
	tenants := slices.Clone(a.MetricsTenants)
	slices.Sort(tenants)
	tenants = slices.Compact(tenants)
	if len(tenants) > maxMetricsTenants {
		return nil, config.Usagef("SATCHEL_METRICS_TENANTS: it lists %d tenants; list at most %d", len(tenants), maxMetricsTenants)
	}
	for _, tenant := range tenants {
		if !schemas.ValidToken(tenant) {
			return nil, config.Usagef("SATCHEL_METRICS_TENANTS: %q is no name of a tenant", tenant)
		}
	}
	return &telemetry{meters: meter.NewPerTenant(tenants), traces: tracenoop.NewTracerProvider()}, nil
}

func (t *telemetry) tracer() trace.Tracer { return t.traces.Tracer("satchel") }

// stop sends what is still to be sent.
func (t *telemetry) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var errs []error
	for _, stop := range t.stops {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}

// openTelemetry exports traces where an endpoint is set. The caller MUST stop it.
func (a *App) openTelemetry(ctx context.Context, logger *slog.Logger) (*telemetry, error) {
	t, err := a.noTelemetry()
	if err != nil || a.OTLPEndpoint == "" {
		return t, err
	}
	who, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "satchel")), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("name the process for telemetry: %w", err)
	}
	if err := t.export(ctx, who, a.OTLPEndpoint); err != nil {
		return nil, errors.Join(err, t.stop(ctx))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("export of traces", "error", err) }))
	return t, nil
}

// export sends traces over OTLP. Headers, compression, timeout and sampling are set by the
// variables that OpenTelemetry has for them.
func (t *telemetry) export(ctx context.Context, who *resource.Resource, endpoint string) error {
	base, err := url.Parse(endpoint)
	if err != nil || base.Host == "" || !slices.Contains([]string{"http", "https"}, base.Scheme) {
		return config.Usagef("OTEL_EXPORTER_OTLP_ENDPOINT: %q is no http or https URL", config.Mask(endpoint))
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(base.JoinPath("v1", "traces").String()))
	if err != nil {
		return fmt.Errorf("open the export of traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&spansOfRequests{SpanProcessor: sdktrace.NewBatchSpanProcessor(exporter)}), sdktrace.WithResource(who))
	t.traces = provider
	t.stops = append(t.stops, provider.Shutdown)
	return nil
}

// spansOfRequests hands spans on when a request's own span has ended, all at once: each span that is handed on
// by itself wakes the goroutine that exports, which costs more than the span.
type spansOfRequests struct {
	sdktrace.SpanProcessor

	mu      sync.Mutex
	waiting []sdktrace.ReadOnlySpan
}

// maxWaitingSpans is how many spans wait for the end of a request.
const maxWaitingSpans = 256

// OnEnd implements sdktrace.SpanProcessor.
func (p *spansOfRequests) OnEnd(span sdktrace.ReadOnlySpan) {
	inner := span.Parent().IsValid() && !span.Parent().IsRemote()
	p.mu.Lock()
	p.waiting = append(p.waiting, span)
	if inner && len(p.waiting) < maxWaitingSpans {
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.handOn()
}

func (p *spansOfRequests) handOn() {
	p.mu.Lock()
	list := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	for _, span := range list {
		p.SpanProcessor.OnEnd(span)
	}
}

// ForceFlush implements sdktrace.SpanProcessor.
func (p *spansOfRequests) ForceFlush(ctx context.Context) error {
	p.handOn()
	return p.SpanProcessor.ForceFlush(ctx)
}

// Shutdown implements sdktrace.SpanProcessor.
func (p *spansOfRequests) Shutdown(ctx context.Context) error {
	p.handOn()
	return p.SpanProcessor.Shutdown(ctx)
}
