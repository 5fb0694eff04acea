package exception

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies"
	"satchel/schemas"
)

// The actions of policy that decide who governs exceptions.
const (
	actionExcept = "except"
	actionRevoke = "revoke"
)

// Add registers an exception when policy lets s do so. Every error is a *schemas.Error.
func (g *Registry) Add(ctx context.Context, s scope.Scope, n schemas.NewException) (schemas.ExceptionState, error) {
	now := g.cfg.Clock().UTC()
	if err := g.checkException(&n, s.Principal().ID, now); err != nil {
		return schemas.ExceptionState{}, err
	}
	resource := policies.Resource{ID: n.Path, Facets: schemas.Facets{Kind: "exception", Labels: []string{}, Signer: n.Owner, Session: n.Session}}
	decision, err := g.authoriseAction(ctx, s, actionExcept, "register this exception", resource, now)
	if err != nil {
		return schemas.ExceptionState{}, err
	}
	if err := g.refuseStrangers(s, &n); err != nil {
		return schemas.ExceptionState{}, err
	}
	t := g.takeRegister(s.Tenant())
	defer g.releaseRegister(s.Tenant(), t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := g.settleEnds(ctx, s, t, now); err != nil {
		return schemas.ExceptionState{}, newStorageError()
	}
	live := 0
	for _, h := range t.held {
		if h.findEndCause(now) == "" {
			live++
		}
	}
	if live >= maxLive {
		return schemas.ExceptionState{}, &schemas.Error{Code: schemas.CodeOverloaded, Message: fmt.Sprintf("the tenant has %d live exceptions; revoke one first", live)}
	}
	x := schemas.GovernedException{
		ID: g.cfg.IDs(), Owner: n.Owner, Scope: schemas.MemoryScope{Tenant: s.Tenant(), Session: n.Session}, Path: n.Path,
		Principals: n.Principals, Labels: n.Labels, Purpose: n.Purpose, Reason: n.Reason, ExpiresAt: n.ExpiresAt.UTC(),
		RollbackTrigger: n.RollbackTrigger, AuditHook: n.AuditHook, Decisions: []string{decision.ID}, Principal: s.Principal().ID, At: now,
	}
	decided, err := g.office.draftDecision(s, decision, x.ID)
	if err != nil {
		return schemas.ExceptionState{}, newStorageError()
	}
	d, err := g.draftException(s, schemas.TypeExceptionRegistered, x.ID, Subject, &x)
	if err != nil {
		return schemas.ExceptionState{}, newStorageError()
	}
	if err := g.office.appendBatch(ctx, eventlog.Batch{Drafts: []eventlog.Draft{decided, d}}); err != nil {
		return schemas.ExceptionState{}, newStorageError()
	}
	if err := g.catchUpLiving(ctx, s, t, now); err != nil || t.held[x.ID] == nil {
		return schemas.ExceptionState{}, newStorageError()
	}
	return t.held[x.ID].makeState(now), nil
}

// refuseStrangers refuses an owner and principals whom the registry does not know.
func (g *Registry) refuseStrangers(s scope.Scope, n *schemas.NewException) error {
	const unknown = "is no principal of this tenant"
	var issues []schemas.Issue
	if !g.cfg.Principals.Knows(s.Tenant(), n.Owner) {
		issues = append(issues, schemas.Issue{Pointer: "/add/owner", Message: unknown})
	}
	for i, id := range n.Principals {
		if !g.cfg.Principals.Knows(s.Tenant(), id) {
			issues = append(issues, schemas.Issue{Pointer: fmt.Sprintf("/add/principals/%d", i), Message: unknown})
		}
	}
	if err := schemas.Invalid(issues); err != nil {
		return err
	}
	return nil
}

// checkException refuses what the schema cannot.
func (g *Registry) checkException(n *schemas.NewException, approver string, now time.Time) error {
	req := schemas.ExceptionRequest{Add: n}
	issues := req.Validate()
	if len(issues) == 0 && !slices.Contains(schemas.ExceptionPaths(), n.Path) && g.cfg.Denies != nil && !g.cfg.Denies(reasonOf(n.Path)) {
		issues = append(issues, schemas.Issue{Pointer: "/add/path", Message: "must be one of " + strings.Join(schemas.ExceptionPaths(), ", ") + ", or a reason for which the policy bundle denies"})
	}
	for i, id := range n.Principals {
		if strings.EqualFold(id, n.Owner) || strings.EqualFold(id, approver) {
			issues = append(issues, schemas.Issue{Pointer: fmt.Sprintf("/add/principals/%d", i), Message: "must be neither the owner nor who registers it"})
		}
	}
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		issues = append(issues, schemas.Issue{Pointer: "/add/expires_at", Message: "has passed"})
	}
	if n.ExpiresAt.After(now.Add(MaxLife)) {
		issues = append(issues, schemas.Issue{Pointer: "/add/expires_at", Message: "must be within 90 days"})
	}
	trigger, err := ParseTrigger(n.RollbackTrigger)
	if err == nil {
		err = trigger.checkCanFire()
	}
	if err != nil && n.RollbackTrigger != "" {
		issues = append(issues, schemas.Issue{Pointer: "/add/rollback_trigger", Message: err.Error()})
	}
	if err := schemas.Invalid(issues); err != nil {
		return err
	}
	return nil
}

// authoriseAction asks policy and returns the decision that allowed it. A refusal is in the log.
func (g *Registry) authoriseAction(
	ctx context.Context, s scope.Scope, action, words string, r policies.Resource, now time.Time,
) (schemas.PolicyDecision, error) {
	d, err := g.office.Authorise(ctx, s, action, words, r, now)
	var denied *schemas.Error
	if err != nil && !errors.As(err, &denied) {
		return d, newStorageError()
	}
	return d, err
}

func newStorageError() *schemas.Error {
	return &schemas.Error{Code: schemas.CodeStorage, Message: "the exception could not be logged, so nothing was changed"}
}

// Revoke ends an exception when policy lets s do so. Revoking one that has ended is no
// error. Whether there is such an exception, and how it ended, is told to whom policy would
// let revoke it; one that there is not is nobody's. Every error is a *schemas.Error.
func (g *Registry) Revoke(ctx context.Context, s scope.Scope, id string) (schemas.ExceptionState, error) {
	now := g.cfg.Clock().UTC()
	t := g.takeRegister(s.Tenant())
	defer g.releaseRegister(s.Tenant(), t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := g.settleEnds(ctx, s, t, now); err != nil {
		return schemas.ExceptionState{}, newStorageError()
	}
	h := t.held[id]
	resource := policies.Resource{ID: id, Facets: schemas.Facets{Kind: "exception", Labels: []string{}}}
	if h != nil {
		resource.Facets.Signer = h.Owner
		resource.Facets.Session = h.Scope.Session
	}
	if _, err := g.authoriseAction(ctx, s, actionRevoke, "revoke this exception", resource, now); err != nil {
		return schemas.ExceptionState{}, err
	}
	if h == nil {
		return schemas.ExceptionState{}, &schemas.Error{Code: schemas.CodeNotFound, Field: "/revoke", Message: "there is no such exception"}
	}
	if h.findEndCause(now) != "" {
		return h.makeState(now), nil
	}
	if err := g.writeEnd(ctx, s, h, CauseRevoked, s.Principal().ID, now); err != nil {
		return schemas.ExceptionState{}, newStorageError()
	}
	return h.makeState(now), nil
}

// List returns the tenant's exceptions, oldest first; those that have ended only when
// they are asked for.
func (g *Registry) List(ctx context.Context, s scope.Scope, ended bool) ([]schemas.ExceptionState, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	now := g.cfg.Clock().UTC()
	t := g.takeRegister(s.Tenant())
	defer g.releaseRegister(s.Tenant(), t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := g.catchUpLiving(ctx, s, t, now); err != nil {
		return nil, err
	}
	if ended {
		if err := g.countEndedUses(ctx, s, t, now); err != nil {
			return nil, err
		}
	}
	list := []schemas.ExceptionState{}
	for _, h := range slices.SortedFunc(maps.Values(t.held), byPosition) {
		if st := h.makeState(now); st.Live || ended {
			list = append(list, st)
		}
	}
	return list, nil
}

// Sweep writes the ends that are due. Exceptions do not wait for it: they end by
// themselves, Sweep makes it known.
func (g *Registry) Sweep(ctx context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil {
		return err
	}
	t := g.takeRegister(s.Tenant())
	defer g.releaseRegister(s.Tenant(), t)
	t.mu.Lock()
	defer t.mu.Unlock()
	return g.settleEnds(ctx, s, t, g.cfg.Clock())
}

// hasPendingEnd reports whether an exception's end is still to be written.
func (t *register) hasPendingEnd() bool {
	for _, h := range t.held {
		if h.endedAt.IsZero() {
			return true
		}
	}
	return false
}
