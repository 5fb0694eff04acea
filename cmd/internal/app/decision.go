package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"satchel/cmd/internal/config"
	"satchel/pipeline/meter"
	"satchel/policies"
	"satchel/policies/opa"
	"satchel/policies/opa/remote"
	"satchel/schemas"
	"satchel/worker/erasure"
)

// bundleEvery is how often a bundle of one's own is looked at for changes.
const bundleEvery = 2 * time.Second

// DecisionPoint is the policy decision point as it is wired, and what runs for it.
type DecisionPoint struct {
	policies.PDP
	remote *remote.PDP // nil: it decides in the process
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// hitRate is the share of verdicts that a cache answered.
func (d *DecisionPoint) hitRate() float64 {
	if d.remote != nil {
		return d.remote.Stats().HitRate()
	}
	if p, ok := d.PDP.(*opa.PDP); ok {
		return p.HitRate()
	}
	return 0
}

// denies says for which reasons rules of one's own may deny; nil where a server knows.
func (d *DecisionPoint) denies() func(reason string) bool {
	if p, ok := d.PDP.(*opa.PDP); ok {
		return p.Denies
	}
	return nil
}

// measure reports the rate of the cache, and since when the policy in force has been seen.
func (d *DecisionPoint) measure(m *meter.Set) {
	rate := m.Gauge(schemas.MetricDecisionCacheHitRate)
	loaded := m.Gauge(schemas.MetricPolicyLoaded)
	own, _ := d.PDP.(*opa.PDP)
	revision := ""
	look := func() {
		rate.Set(d.hitRate())
		if own != nil && own.Revision() != revision {
			revision = own.Revision()
			loaded.SetToCurrentTime()
		}
	}
	look()
	m.BeforeReading(look)
}

// Stop ends what runs.
func (d *DecisionPoint) Stop() {
	d.cancel()
	d.group.Wait()
	if d.remote != nil {
		d.remote.Close()
	}
}

// OpenRegistry returns the principal registry, nil when none is set.
func (a *App) OpenRegistry() (*policies.Registry, error) {
	if a.Principals == "" {
		return nil, nil
	}
	registry, err := policies.OpenRegistry(a.Principals)
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	return registry, nil
}

// OpenRetention reads the retention classes; nil without a file.
func (a *App) OpenRetention() (*erasure.Retention, error) {
	if a.Retention == "" {
		return nil, nil
	}
	retention, err := erasure.OpenRetention(a.Retention)
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	return retention, nil
}

// OpenPolicy returns the decision point. It MUST be stopped.
func (a *App) OpenPolicy(ctx context.Context, logger *slog.Logger) (*DecisionPoint, error) {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &DecisionPoint{cancel: cancel}
	open := a.openEmbedded
	if a.OPAURL != "" {
		open = a.openRemote
	}
	if err := open(ctx, run, d, logger); err != nil {
		cancel()
		return nil, &config.UsageError{Err: fmt.Errorf("open policy: %w", err)}
	}
	return d, nil
}

// PolicyBundle is the bundle of rules that the settings name.
func (a *App) PolicyBundle() opa.Source { return opa.Source{Path: a.Bundle, Key: a.BundleKey} }

func (a *App) openEmbedded(ctx, run context.Context, d *DecisionPoint, logger *slog.Logger) error {
	if a.Bundle == "" {
		pdp, err := opa.New(ctx, opa.Config{})
		d.PDP = pdp
		return err
	}
	pdp, err := opa.Open(ctx, a.PolicyBundle(), 0)
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

func (a *App) openRemote(ctx, _ context.Context, d *DecisionPoint, logger *slog.Logger) error {
	if a.Bundle != "" {
		return fmt.Errorf("POLICY_BUNDLE and SCS_OPA_URL are both set; the OPA server loads its bundle itself")
	}
	server, err := remote.New(remote.Config{URL: a.OPAURL, Token: a.OPAToken, CAFile: a.OPACA,
		Timeout: time.Duration(a.OPATimeout) * time.Millisecond, CacheTTL: time.Duration(a.OPACache) * time.Millisecond})
	if err != nil {
		return err
	}
	if err := server.Probe(ctx); err != nil {
		logger.Warn("the policy server does not answer", "fallback", a.OPAFallback, "error", err)
	}
	d.PDP = server
	d.remote = server
	if !a.OPAFallback {
		return nil
	}
	rules, err := opa.New(ctx, opa.Config{})
	if err != nil {
		server.Close()
		return err
	}
	d.PDP = policies.NewLocalRules(server, rules)
	return nil
}

// CheckPolicy says where it is decided, and whether that answers.
func (a *App) CheckPolicy(ctx context.Context) Finding {
	f := Finding{Check: "policy"}
	d, err := a.OpenPolicy(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	defer d.Stop()
	if d.remote == nil {
		f.OK, f.Detail = true, "decided in the process, revision "+d.Revision()
		return f
	}
	if err := d.remote.Probe(ctx); err != nil {
		f.Detail = "the OPA server does not answer, so nothing may be read: " + err.Error()
		if a.OPAFallback {
			f.Detail = "the OPA server does not answer; the local rules decide what may be read: " + err.Error()
		}
		return f
	}
	s := d.remote.Stats()
	f.OK, f.Detail = true, fmt.Sprintf("OPA at %s, revision %s, batches %t, filter %t", config.Mask(a.OPAURL), s.Revision, s.Batch, s.Filter)
	if a.OPACache <= 0 {
		f.Detail += "; SCS_OPA_CACHE_TTL_MS is 0: every verdict is asked for"
	}
	return f
}
