package authorship

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
	"satchel/schemas"
)

// The policy actions for events that touch existing items.
const (
	actionChange  = "change"  // record one again, hide it, add links to it
	actionRelabel = "relabel" // record one again so that it is protected less
)

// ErrNoVerdict says that policy did not decide on an event.
var ErrNoVerdict = errors.New("policy gave no verdict")

// Reviewer asks policy whether events may touch existing items. Policy decides on every
// version of an item whose content the log has. A version belongs to the key that signed it,
// else to the agent that published it. It is safe for concurrent use.
type Reviewer struct {
	cfg Config

	mu    sync.Mutex
	known map[string]map[string]*authorship // by tenant and item
	count int                               // of known, at most maxOwnerships
}

// Config is what changes are decided with. Everything but Registry is required.
type Config struct {
	Log      *eventlog.Log
	PDP      policies.PDP
	Registry *policies.Registry // nil: claims count on loopback only
	Loopback bool
	Clock    func() time.Time
}

// New returns a Reviewer that knows no item yet.
func New(cfg Config) *Reviewer { return &Reviewer{cfg: cfg} }

// maxOwnerships bounds the items in known; a full map starts again empty.
const maxOwnerships = 1 << 12

// Review returns a rejection for each draft that policy does not allow, nil for the others.
// The drafts are of one tenant, in their order. An error leaves all of them undecided.
func (c *Reviewer) Review(ctx context.Context, s scope.Scope, drafts []*write.Prepared) ([]*write.Rejection, error) {
	r := review{Reviewer: c, scope: s, drafts: drafts, refused: make([]*write.Rejection, len(drafts)),
		items: map[string]*authorship{}, accepted: map[string][]int{}, keys: map[eventlog.Key]int{}, pending: map[string]bool{}}
	if err := r.readItems(ctx); err != nil {
		return nil, err
	}
	for i := range drafts {
		if err := r.considerDraft(ctx, i); err != nil {
			return nil, err
		}
	}
	return r.refused, r.askPolicy(ctx)
}

// Forget drops the ownerships of a tenant.
func (c *Reviewer) Forget(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count -= len(c.known[tenant])
	delete(c.known, tenant)
}

// review is one pass over drafts.
type review struct {
	*Reviewer
	scope      scope.Scope
	drafts     []*write.Prepared
	refused    []*write.Rejection
	items      map[string]*authorship // as they stand without accepted; an item without one is not there
	accepted   map[string][]int       // by item, the drafts before that record it and may
	keys       map[eventlog.Key]int   // the first of the drafts before that the log may take, by its key
	unanswered []question
	pending    map[string]bool // items that drafts of unanswered questions would record
}

// question is what policy is to be asked about one item that a draft touches.
type question struct {
	at       int // the draft
	pointer  string
	action   string
	versions []policies.Resource
}

// readItems looks up every item that the drafts touch.
func (r *review) readItems(ctx context.Context) error {
	seen := map[string]bool{}
	ids := []string{eventlog.ErasureSubject}
	for _, d := range r.drafts {
		for _, t := range d.Touches {
			if !seen[t.ID] {
				seen[t.ID] = true
				ids = append(ids, t.ID)
			}
		}
	}
	if len(ids) == 1 {
		return nil
	}
	latest, err := r.cfg.Log.Latest(ctx, r.scope, ids)
	if err != nil {
		return err
	}
	for i, id := range ids[1:] {
		if latest[i+1] == 0 {
			continue
		}
		if r.items[id], err = r.authorshipOf(ctx, r.scope, id, latest[i+1], latest[0]); err != nil {
			return err
		}
	}
	return nil
}

// authorshipOf reads the versions of an item up to a position. erasure is the position of the
// tenant's last erasure; another one makes what is known of the item void.
func (c *Reviewer) authorshipOf(ctx context.Context, s scope.Scope, id string, upTo, erasure int64) (*authorship, error) {
	c.mu.Lock()
	held := c.known[s.Tenant()][id]
	c.mu.Unlock()
	if held != nil && held.erasure == erasure && held.upTo >= upTo {
		return held, nil
	}
	next := &authorship{}
	if held != nil && held.erasure == erasure {
		*next = *held // add changes no list of it
	}
	entries, err := c.cfg.Log.BySubjectAfter(ctx, s, id, next.upTo, schemas.TypeMemoryRecorded)
	if err != nil {
		return nil, fmt.Errorf("find versions of item %q: %w", id, err)
	}
	next.upTo = upTo
	next.erasure = erasure
	for i := range entries {
		if entries[i].Erased {
			continue
		}
		item, err := write.Item(entries[i])
		if err != nil {
			return nil, err
		}
		next.addVersion(&item, entries[i].Agent, write.Own(entries[i].Source))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count >= maxOwnerships {
		c.known = nil
		c.count = 0
	}
	if c.known == nil {
		c.known = map[string]map[string]*authorship{}
	}
	if c.known[s.Tenant()] == nil {
		c.known[s.Tenant()] = map[string]*authorship{}
	}
	if c.known[s.Tenant()][id] == nil {
		c.count++
	}
	c.known[s.Tenant()][id] = next
	return next, nil
}

// considerDraft accepts the next draft, refuses it, or notes the questions about it.
func (r *review) considerDraft(ctx context.Context, i int) error {
	d := r.drafts[i]
	if len(d.Touches) == 0 {
		return nil
	}
	if slices.ContainsFunc(d.Touches, func(t write.Touch) bool { return r.pending[t.ID] }) {
		if err := r.askPolicy(ctx); err != nil {
			return err
		}
	}
	if err := r.foldVersions(ctx, d); err != nil {
		return err
	}
	questions, err := r.listQuestions(i)
	switch {
	case err != nil:
		return err
	case len(questions) == 0:
		r.acceptDraft(i)
		return nil
	}
	if r.items[d.Touches[0].ID].hasSystemVersion() && d.Type != schemas.TypeMemorySuperseded {
		return r.refuseDraft(ctx, i, d.Touches[0].Pointer, "is a summary of Satchel's own, which nobody else writes")
	}
	r.unanswered = append(r.unanswered, questions...)
	if d.Type == schemas.TypeMemoryRecorded {
		r.pending[d.Touches[0].ID] = true
	}
	return nil
}

// acceptDraft makes a draft count for the drafts behind it. The log takes one event of a key.
func (r *review) acceptDraft(i int) {
	d := r.drafts[i]
	key := eventlog.Key{Source: d.Source, ID: d.ID}
	if first, again := r.keys[key]; again {
		r.keys[key] = min(first, i)
		return
	}
	r.keys[key] = i
	if d.Type == schemas.TypeMemoryRecorded {
		r.accepted[d.Touches[0].ID] = append(r.accepted[d.Touches[0].ID], i)
	}
}

// foldVersions adds the versions that earlier drafts record to the items that d touches. A draft
// whose key the log has does not count: the log does not take it.
func (r *review) foldVersions(ctx context.Context, d *write.Prepared) error {
	for _, t := range d.Touches {
		for _, i := range r.accepted[t.ID] {
			from := r.drafts[i]
			logged, err := r.isLogged(ctx, eventlog.Key{Source: from.Source, ID: from.ID})
			if err != nil {
				return err
			}
			if logged {
				continue
			}
			item, err := itemOf(from)
			if err != nil {
				return err
			}
			next := authorship{}
			if st := r.items[t.ID]; st != nil {
				next = *st
			}
			next.addVersion(&item, from.Agent, false)
			r.items[t.ID] = &next
		}
		delete(r.accepted, t.ID)
	}
	return nil
}

// isLogged reports whether the log has an event of a key.
func (r *review) isLogged(ctx context.Context, key eventlog.Key) (bool, error) {
	_, err := r.cfg.Log.Find(ctx, r.scope, key.Source, key.ID)
	if errors.Is(err, eventlog.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// listQuestions lists the questions that policy has to answer about a draft.
func (r *review) listQuestions(i int) (questions []question, err error) {
	d := r.drafts[i]
	signer := d.Extensions[schemas.ExtensionSigner]
	for n, t := range d.Touches {
		st := r.items[t.ID]
		versions := st.listResources(d.Agent, signer, false)
		if n == 0 && d.Type == schemas.TypeMemoryLinked && len(versions) == 0 {
			versions = []policies.Resource{{ID: t.ID, Facets: schemas.Facets{Labels: []string{}}}} // what is to come is nobody's yet
		}
		if len(versions) > 0 {
			questions = append(questions, question{i, t.Pointer, actionChange, versions})
		}
		if n > 0 || len(versions) == 0 || d.Type != schemas.TypeMemoryRecorded {
			continue
		}
		item, err := itemOf(d)
		if err != nil {
			return nil, err
		}
		if write.Lowers(&st.last, &item) {
			questions = append(questions, question{i, t.Pointer, actionRelabel, st.listResources(d.Agent, signer, true)})
		}
	}
	return questions, nil
}

// askPolicy has policy decide on the unanswered questions. Those about one action of one principal
// are one request.
func (r *review) askPolicy(ctx context.Context) error {
	type asker struct {
		agent, roles, action string
		level                schemas.Level
	}
	by := map[asker][]question{}
	var order []asker
	for _, q := range r.unanswered {
		d := r.drafts[q.at]
		who := asker{d.Agent, strings.Join(d.Roles, ","), q.action, d.Level}
		if by[who] == nil {
			order = append(order, who)
		}
		by[who] = append(by[who], q)
	}
	denied := map[int]question{} // by draft, the first that policy denies
	for _, who := range order {
		if err := r.decideQuestions(ctx, by[who], denied); err != nil {
			return err
		}
	}
	for n, q := range r.unanswered {
		if n > 0 && r.unanswered[n-1].at == q.at {
			continue
		}
		no, is := denied[q.at]
		if !is {
			r.acceptDraft(q.at)
			continue
		}
		cause := "this agent may not change this item; whoever wrote every version of it may, and an editor"
		if no.action == actionRelabel {
			cause = "this agent may not record this item again with less protection"
		}
		if err := r.refuseDraft(ctx, q.at, no.pointer, cause); err != nil {
			return err
		}
	}
	r.unanswered = nil
	clear(r.pending)
	return nil
}

// decideQuestions adds to denied the drafts that policy does not allow, or that touch what is above
// the clearance they claim. The questions are about one action of one principal.
func (r *review) decideQuestions(ctx context.Context, questions []question, denied map[int]question) error {
	first := &questions[0]
	var d policies.Decision
	who, ok := PrincipalOf(r.cfg.Registry, r.cfg.Loopback, r.drafts[first.at], actionChange)
	if ok {
		req := policies.Request{Action: first.action, Now: r.cfg.Clock(), Unhashed: true}
		for i := range questions {
			req.Resources = append(req.Resources, questions[i].versions...)
		}
		var err error
		if d, err = r.cfg.PDP.Decide(ctx, who, req); err != nil || len(d.Verdicts) != len(req.Resources) {
			return errors.Join(ErrNoVerdict, err)
		}
	}
	for i, at := 0, 0; i < len(questions); i++ {
		q := &questions[i]
		end := at + len(q.versions)
		allowed := ok && !ExceedsClearance(r.drafts[q.at].Level, q.versions) &&
			!slices.ContainsFunc(d.Verdicts[at:end], func(v policies.Verdict) bool { return !v.Allow })
		if _, before := denied[q.at]; !allowed && !before {
			denied[q.at] = *q
		}
		at = end
	}
	return nil
}

// refuseDraft refuses a draft, unless the log or an earlier draft has its key: the log then says
// whether it is the same event or another.
func (r *review) refuseDraft(ctx context.Context, i int, pointer, cause string) error {
	d := r.drafts[i]
	key := eventlog.Key{Source: d.Source, ID: d.ID}
	if first, again := r.keys[key]; again && first < i {
		return nil
	}
	logged, err := r.isLogged(ctx, key)
	if err == nil && !logged {
		r.refused[i] = &write.Rejection{Reason: write.PolicyDenied, Pointer: pointer, Cause: cause}
	}
	return err
}

// ExceedsClearance reports whether a version needs more than the clearance that was claimed. What
// nobody could be shown under a claim is not changed or erased under it either, whatever role
// policy asks for.
func ExceedsClearance(claimed schemas.Level, versions []policies.Resource) bool {
	return slices.ContainsFunc(versions, func(r policies.Resource) bool { return r.Facets.Level > claimed })
}

// PrincipalOf returns the agent of an event as policy knows it: with the roles and the clearance
// that the registry grants and the event claims, where it claims any. Without a registry the
// claims count. It is false for an agent that cannot be a principal.
func PrincipalOf(registry *policies.Registry, loopback bool, d *write.Prepared, purpose string) (scope.Scope, bool) {
	claim := schemas.Agent{Type: "agent", ID: d.Agent, SecurityLevel: d.Level.String(), Roles: d.Roles}
	principal, err := registry.Resolve(d.Tenant, claim, loopback)
	if err != nil {
		return scope.Scope{}, false
	}
	s, err := scope.New(d.Tenant, principal, purpose)
	return s, err == nil
}

// itemOf reads the item of a draft.
func itemOf(d *write.Prepared) (schemas.MemoryItem, error) {
	return write.Item(eventlog.Entry{Data: d.Data, Extensions: d.Extensions})
}
