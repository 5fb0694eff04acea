package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"satchel/policies"
	"satchel/policies/fallback"
	"satchel/policies/opaembed"
	"satchel/policies/oparemote"
)

// bundleEvery is how often a bundle of one's own is looked at for changes.
const bundleEvery = 2 * time.Second

// decisionPoint is the policy decision point as it is wired, and what runs for it.
type decisionPoint struct {
	policies.PDP
	remote  *oparemote.PDP // nil: it decides in the process
	standby policies.PDP   // decides by the five local rules while remote does not answer, as far as an exception covers that; nil: nobody does
	cancel  context.CancelFunc
	group   sync.WaitGroup
}

// hitRate is the share of verdicts that a cache answered.
func (d *decisionPoint) hitRate() float64 {
	if d.remote != nil {
		return d.remote.Stats().HitRate()
	}
	if p, ok := d.PDP.(*opaembed.PDP); ok {
		return p.HitRate()
	}
	return 0
}

// measure reports the rate of the cache.
func (d *decisionPoint) measure(meter metric.Meter) error {
	_, err := meter.Float64ObservableGauge(oparemote.HitRateMetric, metric.WithDescription("verdicts that the decision cache answered, 0 to 1"),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(d.hitRate())
			return nil
		}))
	return err
}

// stop ends what runs.
func (d *decisionPoint) stop() {
	d.cancel()
	d.group.Wait()
	if d.remote != nil {
		d.remote.Close()
	}
}

// openPolicy returns the decision point and the registry; a nil registry is none. The
// decision point MUST be stopped.
func (a *app) openPolicy(ctx context.Context, logger *slog.Logger) (*decisionPoint, *policies.Registry, error) {
	var registry *policies.Registry
	if a.Principals != "" {
		var err error
		if registry, err = policies.OpenRegistry(a.Principals); err != nil {
			return nil, nil, &usageError{err}
		}
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &decisionPoint{cancel: cancel}
	open := a.openEmbedded
	if a.OPAURL != "" {
		open = a.openRemote
	}
	if err := open(ctx, run, d, logger); err != nil {
		cancel()
		return nil, nil, &usageError{fmt.Errorf("open policy: %w", err)}
	}
	return d, registry, nil
}

func (a *app) bundle() opaembed.Source { return opaembed.Source{Path: a.Bundle, Key: a.BundleKey} }

func (a *app) openEmbedded(ctx, run context.Context, d *decisionPoint, logger *slog.Logger) error {
	if a.Bundle == "" {
		pdp, err := opaembed.New(ctx, opaembed.Config{})
		d.PDP = pdp
		return err
	}
	pdp, err := opaembed.Open(ctx, a.bundle(), 0)
	if err != nil {
		return err
	}
	d.PDP = pdp
	d.group.Go(func() {
		pdp.Watch(run, bundleEvery, func(err error) {
			logger.Warn("policy bundle is refused, the old one stays", "revision", pdp.Revision(), "error", err)
		})
	})
	return nil
}

func (a *app) openRemote(ctx, _ context.Context, d *decisionPoint, logger *slog.Logger) error {
	if a.Bundle != "" {
		return fmt.Errorf("POLICY_BUNDLE and SCS_OPA_URL are both set; the OPA server loads its bundle itself")
	}
	remote, err := oparemote.New(oparemote.Config{URL: a.OPAURL, Token: a.OPAToken, CAFile: a.OPACA,
		Timeout: time.Duration(a.OPATimeout) * time.Millisecond, CacheTTL: time.Duration(a.OPACache) * time.Millisecond})
	if err != nil {
		return err
	}
	if err := remote.Probe(ctx); err != nil {
		logger.Warn("the policy server does not answer", "fallback", a.OPAFallback, "error", err)
	}
	d.PDP, d.remote = remote, remote
	if !a.OPAFallback {
		return nil
	}
	five, err := opaembed.New(ctx, opaembed.Config{Bundle: fallback.Rules()})
	if err != nil {
		remote.Close()
		return err
	}
	d.standby = fallback.New(remote, five)
	return nil
}

// checkPolicy says where it is decided, and whether that answers.
func (a *app) checkPolicy(ctx context.Context) finding {
	f := finding{Check: "policy"}
	d, _, err := a.openPolicy(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	defer d.stop()
	if d.remote == nil {
		f.OK, f.Detail = true, "decided in the process, revision "+d.Revision()
		return f
	}
	if err := d.remote.Probe(ctx); err != nil {
		f.Detail = "the OPA server does not answer, so nothing may be read: " + err.Error()
		if a.OPAFallback {
			f.Detail = "the OPA server does not answer; the five local rules decide what a live exception read:unavailable covers: " + err.Error()
		}
		return f
	}
	s := d.remote.Stats()
	f.OK, f.Detail = true, fmt.Sprintf("OPA at %s, revision %s, batches %t, filter %t", mask(a.OPAURL), s.Revision, s.Batch, s.Filter)
	if a.OPACache <= 0 {
		f.Detail += "; SCS_OPA_CACHE_TTL_MS is 0: every verdict is asked for"
	}
	return f
}
