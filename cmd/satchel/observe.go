package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// telemetry is where metrics and traces of a process go. Neither has content, and no label
// of a metric has a value that comes from the network.
type telemetry struct {
	meters  metric.MeterProvider
	traces  trace.TracerProvider
	metrics http.Handler // GET /metrics; nil: there is none
	stops   []func(context.Context) error
}

// noTelemetry counts and traces nothing.
func noTelemetry() *telemetry {
	return &telemetry{meters: metricnoop.NewMeterProvider(), traces: tracenoop.NewTracerProvider()}
}

func (t *telemetry) meter() metric.Meter { return t.meters.Meter("satchel") }

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

// openTelemetry counts for /metrics where HTTP is served, and exports traces where an
// endpoint is set. The caller MUST stop it.
func (a *app) openTelemetry(ctx context.Context, logger *slog.Logger) (*telemetry, error) {
	t := noTelemetry()
	who, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "satchel")), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("name the process for telemetry: %w", err)
	}
	if a.HTTPAddr != "" {
		if err := t.count(who); err != nil {
			return nil, err
		}
	}
	if a.OTLPEndpoint != "" {
		if err := t.export(ctx, who, a.OTLPEndpoint); err != nil {
			return nil, errors.Join(err, t.stop(ctx))
		}
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("export of traces", "error", err) }))
	}
	return t, nil
}

// count makes the metrics, and those of the process, in a registry of their own.
func (t *telemetry) count(who *resource.Resource) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo(), otelprom.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithoutSuffixes))
	if err != nil {
		return fmt.Errorf("open metrics: %w", err)
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(who))
	t.meters, t.stops = provider, append(t.stops, provider.Shutdown)
	t.metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return nil
}

// export sends traces over OTLP. Headers, compression, timeout and sampling are set by the
// variables that OpenTelemetry has for them.
func (t *telemetry) export(ctx context.Context, who *resource.Resource, endpoint string) error {
	base, err := url.Parse(endpoint)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return usagef("OTEL_EXPORTER_OTLP_ENDPOINT: %q is no http or https URL", mask(endpoint))
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(base.JoinPath("v1", "traces").String()))
	if err != nil {
		return fmt.Errorf("open the export of traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(who))
	t.traces, t.stops = provider, append(t.stops, provider.Shutdown)
	return nil
}

// measure registers what a node counts beside the engine: its requests by endpoint, and
// whether it is ready.
func (n *node) measure(meter metric.Meter) error {
	requests, err := meter.Int64ObservableCounter("satchel.requests.total", metric.WithDescription("requests over NATS by endpoint and outcome: answered, failed, or refused because too many waited"))
	if err != nil {
		return err
	}
	waiting, err := meter.Int64ObservableGauge("satchel.requests.waiting", metric.WithDescription("requests that wait for a worker, by endpoint"))
	if err != nil {
		return err
	}
	ready, err := meter.Int64ObservableGauge("satchel.ready", metric.WithDescription("1 while the process is ready"))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for name, s := range n.services.Stats() {
			at := attribute.String("endpoint", name)
			for outcome, count := range map[string]int64{"answered": s.Requests - s.Errors, "failed": s.Errors - s.Refused, "refused": s.Refused} {
				o.ObserveInt64(requests, count, metric.WithAttributes(at, attribute.String("outcome", outcome)))
			}
			o.ObserveInt64(waiting, s.Waiting, metric.WithAttributes(at))
		}
		up := int64(0)
		if n.ready() == nil {
			up = 1
		}
		o.ObserveInt64(ready, up)
		return nil
	}, requests, waiting, ready)
	return err
}
