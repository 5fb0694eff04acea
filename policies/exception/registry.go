package exception

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies"
	"satchel/schemas"
)

// Source is the CloudEvents source of what the registry writes.
const Source = "satchel://exceptions"

// Subject is the subject of registrations and ends in the log, so that they are found
// without reading it all. A use has its request's.
const Subject = "exception"

// Limits of an exception.
const (
	MaxLife = 90 * 24 * time.Hour // from registration to expiry
	maxLive = 256                 // of a tenant
)

// Log is the part of the event log that the registry needs; *eventlog.Log is one.
type Log interface {
	Append(ctx context.Context, b eventlog.Batch) ([]eventlog.Outcome, error)
	BySubject(ctx context.Context, s scope.Scope, subject string, types ...string) ([]eventlog.Entry, error)
	Read(ctx context.Context, s scope.Scope, after int64, limit int) ([]eventlog.Entry, error)
}

// Config is what a Registry works with. Log and PDP are required.
type Config struct {
	Log Log
	PDP policies.PDP // decides who may register and revoke; not a Guard

	Principals *policies.Registry // who can own an exception; nil: anybody

	// Denies reports whether a rule of the policy's own may deny for a reason; nil: any may.
	Denies func(reason string) bool

	Refresh time.Duration    // how old the list of exceptions may be that another process adds to; default 1 s
	Clock   func() time.Time // default time.Now
	IDs     func() string    // default UUIDv7
	Logger  *slog.Logger     // default discards
}

// Registry knows every tenant's exceptions. It is safe for concurrent use.
type Registry struct {
	cfg    Config
	office Office

	mu      sync.Mutex
	tenants map[string]*register
}

// register is one tenant's exceptions, folded from the log up to a position.
type register struct {
	mu     sync.Mutex
	loaded time.Time // when the list was last read; zero: never
	held   map[string]*held

	users int // calls that have it; under Registry.mu
}

// maxRegisters is how many tenants without exceptions are remembered as such. What is known of
// others is read from the log whenever they are asked for.
const maxRegisters = 1024

// New returns a registry.
func New(cfg Config) (*Registry, error) {
	if cfg.Log == nil || cfg.PDP == nil {
		return nil, errors.New("new exception registry: log and policy decision point are required")
	}
	if cfg.Refresh <= 0 {
		cfg.Refresh = time.Second
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.IDs == nil {
		cfg.IDs = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	office := Office{Log: cfg.Log, PDP: cfg.PDP, Source: Source, IDs: cfg.IDs}
	return &Registry{cfg: cfg, office: office, tenants: map[string]*register{}}, nil
}

// takeRegister returns a tenant's exceptions, which no other call has apart. The caller MUST release
// them.
func (g *Registry) takeRegister(tenant string) *register {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tenants[tenant]
	if t == nil {
		t = &register{held: map[string]*held{}}
		g.tenants[tenant] = t
	}
	t.users++
	return t
}

func (g *Registry) releaseRegister(tenant string, t *register) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.users--
	if t.users == 0 && len(t.held) == 0 && len(g.tenants) > maxRegisters {
		delete(g.tenants, tenant)
	}
}

// findMatching returns the exceptions that may serve who asks, by the list as it was read
// last. What it returns is looked at again before it is used; a log that cannot be read
// has no exceptions.
func (g *Registry) findMatching(ctx context.Context, s scope.Scope, action string) []*held {
	if s.Check() != nil {
		return nil
	}
	t := g.takeRegister(s.Tenant())
	defer g.releaseRegister(s.Tenant(), t)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := g.cfg.Clock()
	if err := g.loadExceptions(ctx, s, t, now, false); err != nil {
		g.cfg.Logger.LogAttrs(ctx, slog.LevelError, "governed exceptions cannot be read, so none holds", slog.String("tenant", s.Tenant()))
		return nil
	}
	var out []*held
	for _, h := range t.held {
		if h.canServe(s, action) && h.findEndCause(now) == "" {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, byPosition)
	return out
}

func byPosition(a, b *held) int { return cmp.Compare(a.position, b.position) }

// loadExceptions reads what was registered and ended, at most every Refresh unless at once.
func (g *Registry) loadExceptions(ctx context.Context, s scope.Scope, t *register, now time.Time, atOnce bool) error {
	if !atOnce && !t.loaded.IsZero() && now.Sub(t.loaded) < g.cfg.Refresh && !now.Before(t.loaded) {
		return nil
	}
	entries, err := g.cfg.Log.BySubject(ctx, s, Subject, schemas.TypeExceptionRegistered, schemas.TypeExceptionEnded)
	if err != nil {
		return fmt.Errorf("read exceptions: %w", err)
	}
	for i := range entries {
		t.noteEntry(&entries[i])
	}
	t.loaded = now
	return nil
}

// noteEntry takes a registration or an end.
func (t *register) noteEntry(e *eventlog.Entry) {
	if x, ok := dataOf[schemas.GovernedException](e, schemas.TypeExceptionRegistered); ok && t.held[x.ID] == nil && e.Source == Source {
		trigger, err := ParseTrigger(x.RollbackTrigger)
		h := &held{GovernedException: x, trigger: trigger, position: e.Position, folded: e.Position}
		if err != nil {
			h.cause = CauseTriggered // what cannot be enforced does not hold
		}
		t.held[x.ID] = h
	}
	if x, ok := dataOf[schemas.GovernedException](e, schemas.TypeExceptionEnded); ok && e.Source == Source {
		if h := t.held[x.ID]; h != nil && (h.cause == "" || h.endedAt.IsZero()) {
			h.cause = x.Cause
			h.endedAt = x.At
		}
	}
}

// catchUpLiving brings what lives up to the log's end: uses and what triggers count.
func (g *Registry) catchUpLiving(ctx context.Context, s scope.Scope, t *register, now time.Time) error {
	if err := g.loadExceptions(ctx, s, t, now, true); err != nil {
		return err
	}
	return g.foldEntries(ctx, s, t, slices.DeleteFunc(slices.Collect(maps.Values(t.held)), func(h *held) bool { return h.findEndCause(now) != "" }))
}

// countEndedUses counts the uses of what has ended, too: once, when its end is in the log.
func (g *Registry) countEndedUses(ctx context.Context, s scope.Scope, t *register, now time.Time) error {
	ended := slices.DeleteFunc(slices.Collect(maps.Values(t.held)), func(h *held) bool { return h.counted || h.findEndCause(now) == "" })
	if err := g.foldEntries(ctx, s, t, ended); err != nil {
		return err
	}
	for _, h := range ended {
		h.counted = h.cause != ""
	}
	return nil
}

// foldEntries reads the log to its end for some exceptions.
func (g *Registry) foldEntries(ctx context.Context, s scope.Scope, t *register, some []*held) error {
	if len(some) == 0 {
		return nil
	}
	after := slices.MinFunc(some, func(a, b *held) int { return cmp.Compare(a.folded, b.folded) }).folded
	for {
		entries, err := g.cfg.Log.Read(ctx, s, after, 512)
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if len(entries) == 0 {
			return nil
		}
		for i := range entries {
			t.noteEntry(&entries[i])
			for _, h := range some {
				h.observeEntry(&entries[i])
			}
		}
		after = entries[len(entries)-1].Position
	}
}

// useExceptions grants, of the exceptions in used (id → denials lifted), those that live by the
// log as it stands, and commits an entry for each before it returns.
func (g *Registry) useExceptions(ctx context.Context, s scope.Scope, r *policies.Request, used map[string]int) (map[string]bool, error) {
	t := g.takeRegister(s.Tenant())
	defer g.releaseRegister(s.Tenant(), t)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := g.cfg.Clock()
	if err := g.catchUpLiving(ctx, s, t, now); err != nil {
		return nil, err
	}
	granted := make(map[string]bool, len(used))
	var batch eventlog.Batch
	for _, id := range slices.Sorted(maps.Keys(used)) {
		h := t.held[id]
		if h == nil || h.findEndCause(now) != "" || used[id] == 0 {
			continue
		}
		x := h.GovernedException
		x.RequestID, x.Principal, x.Action, x.Lifted, x.At, x.Decisions = r.RequestID, s.Principal().ID, r.Action, used[id], now.UTC(), nil
		if r.DecisionID != "" {
			x.Decisions = []string{r.DecisionID}
		}
		d, err := g.draftException(s, schemas.TypeExceptionUsed, g.cfg.IDs(), r.RequestID, &x)
		if err != nil {
			return nil, err
		}
		batch.Drafts = append(batch.Drafts, d)
		granted[id] = true
	}
	if err := g.office.appendBatch(ctx, batch); err != nil {
		return nil, err
	}
	return granted, g.settleEnds(ctx, s, t, now)
}

// settleEnds folds what was just written and writes the ends that are due.
func (g *Registry) settleEnds(ctx context.Context, s scope.Scope, t *register, now time.Time) error {
	if err := g.catchUpLiving(ctx, s, t, now); err != nil {
		return err
	}
	for _, h := range t.held {
		if cause := h.findEndCause(now); cause != "" && h.endedAt.IsZero() {
			if err := g.writeEnd(ctx, s, h, cause, "satchel", now); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeEnd writes exception.ended. Another process may have written it before.
func (g *Registry) writeEnd(ctx context.Context, s scope.Scope, h *held, cause, by string, now time.Time) error {
	x := h.GovernedException
	x.Cause, x.Principal, x.At, x.Decisions = cause, by, now.UTC(), nil
	d, err := g.draftException(s, schemas.TypeExceptionEnded, h.ID+".ended", Subject, &x)
	if err != nil {
		return err
	}
	if _, err := g.cfg.Log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{d}}); err != nil {
		return fmt.Errorf("log end of exception: %w", err)
	}
	h.cause, h.endedAt = cause, now.UTC()
	g.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "governed exception ended", slog.String("tenant", s.Tenant()), slog.String("exception", h.ID), slog.String("cause", cause))
	return nil
}

func (g *Registry) draftException(s scope.Scope, eventType, id, subject string, data *schemas.GovernedException) (eventlog.Draft, error) {
	d, err := g.office.makeDraft(s, eventType, id, cmp.Or(subject, Subject), data.At, data)
	d.Agent = cmp.Or(data.AuditHook, d.Agent)
	return d, err
}

// Pending returns the tenants with an exception whose end is not in the log yet, sorted.
func (g *Registry) Pending() []string {
	g.mu.Lock()
	tenants := maps.Clone(g.tenants)
	g.mu.Unlock()
	var list []string
	for name, t := range tenants {
		t.mu.Lock()
		if t.hasPendingEnd() {
			list = append(list, name)
		}
		t.mu.Unlock()
	}
	slices.Sort(list)
	return list
}
