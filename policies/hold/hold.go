package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies"
	"satchel/schemas"
)

// Source is the CloudEvents source of what the registry writes.
const Source = "satchel://holds"

// Subject is the subject of holds in the log.
const Subject = "hold"

// The actions of policy that decide who places and who releases.
const (
	actionHold    = "hold"
	actionRelease = "release"
)

// maxLive is how many live holds a tenant may have.
const maxLive = 1024

// Log is the part of the event log that the registry needs; *eventlog.Log is one.
type Log interface {
	BySubject(ctx context.Context, s scope.Scope, subject string, types ...string) ([]eventlog.Entry, error)
}

// Office decides who may place and release, and logs it: an exception.Office with Source.
type Office interface {
	Authorise(ctx context.Context, s scope.Scope, action, words string, r policies.Resource, at time.Time) (
		schemas.PolicyDecision, error)
	Record(ctx context.Context, s scope.Scope, d schemas.PolicyDecision,
		about, eventType, id, subject string, data any) error
}

// Config is what a Registry works with. Log is required; Office and IDs to place and release.
type Config struct {
	Log    Log
	Office Office           // nil: Place and Release MUST NOT be called
	Clock  func() time.Time // default time.Now
	IDs    func() string
}

// Registry knows every tenant's holds. It is safe for concurrent use.
type Registry struct{ cfg Config }

// New returns a registry.
func New(cfg Config) *Registry {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Registry{cfg}
}

// Version is a version of an item, as far as holds look at it.
type Version struct {
	Item, Session, Agent string
	Labels               []string
}

// Held says which holds cover some items.
type Held struct {
	Live     []string // ids of the holds that keep them, oldest first
	Released []string // ids of those that did before, oldest first
	Position int64    // of the last hold that was looked at; 0: there is none
}

// Holds are all of a tenant's, oldest first.
type Holds []schemas.HoldState

// All returns the tenant's holds as they stand in the log.
func (g *Registry) All(ctx context.Context, s scope.Scope) (Holds, error) {
	return g.List(ctx, s, true)
}

// Live reports whether any hold was not released.
func (all Holds) Live() bool {
	return slices.ContainsFunc(all, func(h schemas.HoldState) bool { return h.Live })
}

// Over returns the holds that cover any of versions.
func (all Holds) Over(versions []Version) Held {
	var held Held
	for i := range all {
		h := &all[i]
		held.Position = h.Position
		switch {
		case !slices.ContainsFunc(versions, func(v Version) bool { return isVersionHeld(h, &v) }):
		case h.Live:
			held.Live = append(held.Live, h.ID)
		default:
			held.Released = append(held.Released, h.ID)
		}
	}
	return held
}

// Unless is the condition on which an erasure is appended after Over has found that nothing keeps its
// items: it fails when another hold was placed meanwhile.
func Unless(after int64) eventlog.Unless {
	return eventlog.Unless{Subject: Subject, Type: schemas.TypeHoldPlaced, After: after}
}

func isVersionHeld(h *schemas.HoldState, v *Version) bool {
	return slices.Contains(h.Items, v.Item) || h.Scope.Session != "" && h.Scope.Session == v.Session ||
		h.Agent != "" && h.Agent == v.Agent || h.Label != "" && slices.ContainsFunc(v.Labels, func(l string) bool { return strings.EqualFold(l, h.Label) })
}

// List returns the tenant's holds, oldest first; those that were released only when they are asked for.
func (g *Registry) List(ctx context.Context, s scope.Scope, released bool) ([]schemas.HoldState, error) {
	entries, err := g.cfg.Log.BySubject(ctx, s, Subject, schemas.TypeHoldPlaced, schemas.TypeHoldReleased)
	if err != nil {
		return nil, fmt.Errorf("read holds: %w", err)
	}
	list := []schemas.HoldState{}
	for i := range entries {
		e := &entries[i]
		if e.Source != Source {
			continue
		}
		var h schemas.LegalHold
		if err := json.Unmarshal(e.Data, &h); err != nil {
			return nil, fmt.Errorf("read hold at position %d: %w", e.Position, err)
		}
		if e.Type == schemas.TypeHoldPlaced {
			list = append(list, schemas.HoldState{LegalHold: h, Live: true, Position: e.Position})
			continue
		}
		if at := slices.IndexFunc(list, func(p schemas.HoldState) bool { return p.ID == h.ID }); at >= 0 {
			list[at].Live = false
			list[at].ReleasedAt = h.At
			list[at].ReleasedBy = h.Principal
			list[at].ReleaseReason = h.Reason
		}
	}
	if !released {
		list = slices.DeleteFunc(list, func(h schemas.HoldState) bool { return !h.Live })
	}
	return list, nil
}

// Place places a hold when policy lets s do so. Every error is a *schemas.Error.
func (g *Registry) Place(ctx context.Context, s scope.Scope, n schemas.NewHold) (schemas.HoldState, error) {
	req := schemas.HoldRequest{Place: &n}
	if err := schemas.Invalid(req.Validate()); err != nil {
		return schemas.HoldState{}, err
	}
	h := schemas.LegalHold{ID: g.cfg.IDs(), Scope: schemas.MemoryScope{Tenant: s.Tenant(), Session: n.Session},
		Items: n.Items, Label: n.Label, Agent: n.Agent, Matter: n.Matter, Reason: n.Reason, Principal: s.Principal().ID, At: g.cfg.Clock().UTC()}
	decision, err := g.authoriseHold(ctx, s, actionHold, &h)
	if err != nil {
		return schemas.HoldState{}, err
	}
	if !n.Absent {
		if err := g.refuseAbsentItems(ctx, s, n.Items); err != nil {
			return schemas.HoldState{}, err
		}
	}
	live, err := g.List(ctx, s, false)
	if err != nil {
		return schemas.HoldState{}, newStorageError()
	}
	if len(live) >= maxLive {
		return schemas.HoldState{}, &schemas.Error{Code: schemas.CodeOverloaded,
			Message: fmt.Sprintf("the tenant has %d live holds; name a session, a label or an agent, or release one first", len(live))}
	}
	if err := g.writeAct(ctx, s, schemas.TypeHoldPlaced, h.ID, &h, decision); err != nil {
		return schemas.HoldState{}, err
	}
	return g.findHold(ctx, s, h.ID)
}

// refuseAbsentItems refuses items of which the log has no content: a hold on them would keep nothing.
func (g *Registry) refuseAbsentItems(ctx context.Context, s scope.Scope, items []string) error {
	var absent []string
	for _, id := range items {
		entries, err := g.cfg.Log.BySubject(ctx, s, id, schemas.TypeMemoryRecorded)
		if err != nil {
			return newStorageError()
		}
		if !slices.ContainsFunc(entries, func(e eventlog.Entry) bool { return !e.Erased }) {
			absent = append(absent, id)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	const named = 8
	names := strings.Join(absent[:min(len(absent), named)], ", ")
	if more := len(absent) - named; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return &schemas.Error{Code: schemas.CodeNotFound, Field: "/place/items",
		Message: names + ": no such item; nothing is held. With absent (--absent) a hold is placed on ids that are to come"}
}

// Release ends a hold when policy lets s do so. Releasing one that was released is no error. Only
// principals who may release a hold are told whether it is there. Every error is a *schemas.Error.
func (g *Registry) Release(ctx context.Context, s scope.Scope, id, reason string) (schemas.HoldState, error) {
	decision, err := g.authoriseHold(ctx, s, actionRelease, &schemas.LegalHold{ID: id, At: g.cfg.Clock().UTC()})
	if err != nil {
		return schemas.HoldState{}, err
	}
	held, err := g.findHold(ctx, s, id)
	if err != nil || !held.Live {
		return held, err
	}
	h := held.LegalHold
	h.Reason, h.Principal, h.At = reason, s.Principal().ID, decision.CreatedAt
	if err := g.writeAct(ctx, s, schemas.TypeHoldReleased, id+".released", &h, decision); err != nil {
		return schemas.HoldState{}, err
	}
	return g.findHold(ctx, s, id)
}

// findHold returns a hold that is there.
func (g *Registry) findHold(ctx context.Context, s scope.Scope, id string) (schemas.HoldState, error) {
	all, err := g.List(ctx, s, true)
	if err != nil {
		return schemas.HoldState{}, newStorageError()
	}
	at := slices.IndexFunc(all, func(h schemas.HoldState) bool { return h.ID == id })
	if at < 0 {
		return schemas.HoldState{}, &schemas.Error{Code: schemas.CodeNotFound, Field: "/release",
			Message: "there is no such hold"}
	}
	return all[at], nil
}

func (g *Registry) authoriseHold(
	ctx context.Context, s scope.Scope, action string, h *schemas.LegalHold,
) (schemas.PolicyDecision, error) {
	r := policies.Resource{ID: h.ID, Facets: schemas.Facets{Kind: "hold", Labels: []string{}, Session: h.Scope.Session}}
	words := map[string]string{actionHold: "place a legal hold", actionRelease: "release a legal hold"}[action]
	d, err := g.cfg.Office.Authorise(ctx, s, action, words, r, h.At)
	var denied *schemas.Error
	if err != nil && !errors.As(err, &denied) {
		return d, newStorageError()
	}
	return d, err
}

// writeAct logs an act with the decision that allowed it.
func (g *Registry) writeAct(
	ctx context.Context, s scope.Scope, eventType, id string, h *schemas.LegalHold, decision schemas.PolicyDecision,
) error {
	h.Decisions = []string{decision.ID}
	if err := g.cfg.Office.Record(ctx, s, decision, h.ID, eventType, id, Subject, h); err != nil {
		return newStorageError()
	}
	return nil
}

func newStorageError() *schemas.Error {
	return &schemas.Error{Code: schemas.CodeStorage,
		Message: "the log cannot be read or written at present; list the holds to see whether anything was changed"}
}
