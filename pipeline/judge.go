package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/store/items"
	"satchel/policies"
	"satchel/schemas"
)

// Authorized is what retrieval found and what policy lets the principal see of it. Every later
// stage takes from a record only that.
type Authorized struct {
	Retrieved
	Named []candidate.Candidate  // of Retrieved.Named, those that the principal may see
	Seen  []candidate.Authorized // of each pool, in the order of its records
	// Removed lists, by the id of each item whose content redaction changed, the texts that it
	// took away. Only operations with TrackRedactions have it.
	Removed map[string][]string

	by          *authorizer // decided, and decides on what Rank finds over links
	newlyDenied []candidate.Denied
}

// Judging has policy decide.
type Judging struct {
	Policy
	items    items.Store
	ids      func() string
	selector *selection.Selector
	defenses *defend.Defenses
}

// wantsMore reports whether a further search may find more that satisfies the client's filters.
func (a *Authorized) wantsMore(plan Plan) bool {
	if plan.Narrowing.MinMatches == 0 || len(a.Pools) != 1 || !a.Pools[0].More() {
		return false
	}
	matches := 0
	for _, v := range a.Seen[0].Visible {
		aside := v != nil && v.Kind == schemas.KindTool && plan.Query.Tools > 0 // tools take no place of the limit
		if v != nil && !aside && plan.Query.Wants(v) {
			matches++
		}
	}
	return matches < min(plan.Narrowing.MinMatches, plan.Query.Limit)
}

// authorizer has policy decide for one request. It decides on each item once.
type authorizer struct {
	*selection.Authorizer
	pdp *recordingPDP
}

func (j *Judging) authorizer(req Request) *authorizer {
	pdp := &recordingPDP{request: req.ID}
	return &authorizer{pdp: pdp, Authorizer: selection.NewAuthorizer(req.Scope, selection.AuthorizerConfig{
		PDP: j.pdpFor(pdp), Sanitizer: j.Sanitizer, Registry: j.Registry, Now: req.Times.Policy, Decision: j.ids(),
	})}
}

// decide has policy decide on records and makes candidates of those that the principal may see.
func (a *authorizer) decide(ctx context.Context, records []schemas.Record) ([]candidate.Candidate, error) {
	list := make([]*items.Lent, len(records))
	for i := range records {
		list[i] = items.Lend(&records[i])
	}
	seen, err := a.Authorize(ctx, list)
	if err != nil {
		return nil, PolicyDown(ctx, err)
	}
	return visible(seen), nil
}

// visible makes candidates of what the principal may see.
func visible(seen candidate.Authorized) (out []candidate.Candidate) {
	for i, v := range seen.Visible {
		if v != nil {
			out = append(out, candidate.New(v, *seen.Verdicts[i]))
		}
	}
	return out
}

// Decide has policy decide on records that were found later.
func (a *Authorized) Decide(ctx context.Context, records []schemas.Record) ([]candidate.Candidate, error) {
	return a.by.decide(ctx, records)
}

// authorize has policy decide on everything that was found.
func (a *authorizer) authorize(ctx context.Context, spec Spec, found Retrieved) (Authorized, error) {
	before := len(a.Denied())
	records := found.records()
	all, err := a.Authorize(ctx, records)
	if err != nil {
		return Authorized{}, PolicyDown(ctx, err)
	}
	out := Authorized{Retrieved: found, by: a, newlyDenied: a.Denied()[before:]}
	out.Notes = out.Notes.With(a.Warnings()...)
	n := len(found.Named)
	out.Named = visible(candidate.Authorized{Visible: all.Visible[:n], Verdicts: all.Verdicts[:n]})
	from := n
	out.Seen = make([]candidate.Authorized, len(found.Pools))
	for i, p := range found.Pools {
		if p.Pool != nil {
			to := from + len(p.Records())
			out.Seen[i] = candidate.Authorized{Visible: all.Visible[from:to], Verdicts: all.Verdicts[from:to], Own: all.Own[from:to]}
			from = to
		}
	}
	if spec.TrackRedactions {
		out.Removed = removedTexts(records, all)
	}
	return out, nil
}

// PolicyDown is the error of a request that policy gave no verdict on. It is the request's
// deadline where that is spent.
func PolicyDown(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	down := &schemas.Error{Code: schemas.CodePolicyDenied, Undecided: true, Message: "policy gave no verdict, so nothing may leave"}
	return fmt.Errorf("%w: %w", down, cause)
}

// removedTexts lists what redaction took from the items that are shown in part.
func removedTexts(records []*items.Lent, seen candidate.Authorized) map[string][]string {
	out := map[string][]string{}
	for i, v := range seen.Visible {
		if v == nil || !v.Masked {
			continue
		}
		old := records[i].Content
		now := v.Content.Text()
		if old.Text() == now {
			continue
		}
		texts := strings.Fields(old.Text())
		shortest := 6
		var tree any
		if old.Raw() != nil {
			texts = nil
			shortest = 4
			if json.Unmarshal(old.Raw(), &tree) == nil {
				texts = valuesOf(tree)
			}
		}
		removed := slices.DeleteFunc(texts, func(text string) bool {
			return len(text) < shortest || strings.Contains(now, text)
		})
		if old.Raw() == nil {
			removed = append(removed, old.Text())
		}
		out[v.ID] = removed
	}
	return out
}

// valuesOf returns the texts and numbers of a JSON value.
func valuesOf(v any) []string {
	var out []string
	switch x := v.(type) {
	case map[string]any:
		for _, child := range x {
			out = append(out, valuesOf(child)...)
		}
	case []any:
		for _, child := range x {
			out = append(out, valuesOf(child)...)
		}
	case nil, bool:
	default:
		out = append(out, fmt.Sprint(x))
	}
	return out
}

// Visibility tells retrieval what the principal may see of records that it reads on the way. It
// does not change, and it is safe for concurrent use. Where policy gives no verdict, nothing is
// visible.
type Visibility struct {
	judge *Judging
	req   Request
}

// Visibility is what the principal of a request may see.
func (j *Judging) Visibility(req Request) *Visibility { return &Visibility{j, req} }

// Decide has policy decide on the records. Its warnings are left out: what is shown is decided
// on again, and warned of then.
func (v *Visibility) Decide(ctx context.Context, records []schemas.Record) []candidate.Candidate {
	out, err := v.judge.authorizer(v.req).decide(ctx, records)
	if err != nil {
		return nil
	}
	return out
}

// ShownWhole returns the ids of the records that the principal sees whole, in their order.
func (v *Visibility) ShownWhole(ctx context.Context, records []schemas.Record) []string {
	var ids []string
	for _, c := range v.Decide(ctx, records) {
		if !c.Masked {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// FilterVisible returns the records that the principal may see whole and that no defense
// refuses. Only these records may supply aliases.
func (v *Visibility) FilterVisible(ctx context.Context, records []schemas.Record) []candidate.Visible {
	if len(records) == 0 {
		return nil
	}
	cs := v.Decide(ctx, records)
	defend.DropNotYetValid(cs, v.req.Times.Ranking)
	v.judge.defenses.ApplyKeepingDuplicates(cs, false, v.req.Times.Ranking)
	var visible []candidate.Visible
	for i := range cs {
		if cs[i].Kept() && !cs[i].Suspect && !cs[i].Masked {
			visible = append(visible, *cs[i].Visible)
		}
	}
	return visible
}

// recordingPDP adds the request's id to decisions and keeps what was asked.
type recordingPDP struct {
	policies.PDP
	request string
	asked   [][]policies.Resource // of each decision: items, and the sources of summaries
}

// pdpFor returns the decision point of a request. It decides on summaries by their sources,
// too, and tells r of each decision.
func (j *Judging) pdpFor(r *recordingPDP) policies.PDP {
	r.PDP = j.PDP
	return policies.Sourced(r, j.items.Get)
}

func (p *recordingPDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	r.RequestID = p.request
	r.Unhashed = true
	p.asked = append(p.asked, r.Resources)
	return p.PDP.Decide(ctx, s, r)
}

// withSources returns the resources and, behind them, what the summaries among them were made
// of, as far as it was asked about.
func (p *recordingPDP) withSources(resources []policies.Resource) []policies.Resource {
	summary := func(r policies.Resource) bool { return len(r.Sources) > 0 }
	if !slices.ContainsFunc(resources, summary) {
		return resources
	}
	listed := make(map[string]bool, len(resources))
	asked := map[string]policies.Resource{}
	for i := range resources {
		listed[resources[i].ID] = true
	}
	for _, list := range p.asked {
		for i := range list {
			asked[list[i].ID] = list[i]
		}
	}
	for i := 0; i < len(resources); i++ {
		for _, id := range resources[i].Sources {
			if source, known := asked[id]; known && !listed[id] {
				listed[id] = true
				resources = append(resources, source)
			}
		}
	}
	return resources
}

// inputHash is the input hash of a decision. Only the log needs it, so it is made beside the
// stages that follow the decision. The caller that starts the hash must call wait.
type inputHash struct {
	join func() error // nil: nothing was decided
	hex  string
}

func (h *inputHash) start(s scope.Scope, r policies.Request) {
	h.join = parallel.Start(func() error {
		h.hex = policies.InputHash(s, &r)
		return nil
	})
}

// wait returns the hash, "" when nothing was decided.
func (h *inputHash) wait() (string, error) {
	if h.join == nil {
		return "", nil
	}
	err := h.join()
	return h.hex, err
}

// candidates retrieves and has policy decide on what was found. It retrieves again as if
// what policy denies were not there, so that nothing of it shows in scores or takes a place; and
// further off, where too little satisfies the client's filters.
func (j *Judging) candidates(ctx context.Context, rec *Recorder, op Operation, req Request, plan Plan) (Authorized, error) {
	by := j.authorizer(req)
	var near *Authorized // what the last search without the widening found
	for round := 1; ; round++ {
		auth, err := j.decideOn(ctx, rec, op, req, plan, by)
		if err != nil {
			if near != nil && ctx.Err() == nil {
				near.Notes = near.Notes.With("filters: only the nearest items were held against them, the indexes did not answer for more")
				return *near, nil
			}
			return Authorized{}, err
		}
		if near != nil {
			near.release(j.selector)
			near = nil
		}
		if denied := auth.newlyDenied; len(denied) > 0 && len(auth.Pools) > 0 && round < maxRounds {
			auth.release(j.selector)
			plan = plan.without(denied)
			continue
		}
		if !auth.wantsMore(plan) {
			return j.withDenied(ctx, rec, op, req, plan, by, auth)
		}
		reach := auth.Pools[0].Reach()
		if reach >= selection.MaxReach {
			auth.Notes = auth.Notes.With("filters: only the nearest 10000 items were held against them, there may be more that pass")
			return j.withDenied(ctx, rec, op, req, plan, by, auth)
		}
		plan.Query.Reach = min(farther*reach, selection.MaxReach)
		near = &auth
	}
}

// decideOn is one search, and the decision on what it found.
func (j *Judging) decideOn(ctx context.Context, rec *Recorder, op Operation, req Request, plan Plan, by *authorizer) (Authorized, error) {
	found, err := staged(ctx, rec, "retrieve", func(ctx context.Context) (Retrieved, error) {
		return op.Retrieve(ctx, req, plan)
	})
	if err != nil {
		return Authorized{}, err
	}
	auth, err := staged(ctx, rec, "slice", func(ctx context.Context) (Authorized, error) {
		return by.authorize(ctx, op.Spec(), found)
	})
	if err != nil {
		found.release(j.selector)
	}
	return auth, err
}

// withDenied has policy decide, for an auditor, on what it keeps from the search altogether, so
// that the auditor's counts are of all that the question found.
func (j *Judging) withDenied(
	ctx context.Context, rec *Recorder, op Operation, req Request, plan Plan, by *authorizer, auth Authorized,
) (Authorized, error) {
	if !isAuditor(req.Scope) || len(auth.Pools) == 0 {
		return auth, nil
	}
	all := plan
	all.Pushdown = Pushdown{Filter: schemas.MatchAll(), Population: schemas.MatchAll()}
	all.Exclude = nil
	hidden, err := j.decideOn(ctx, rec, op, req, all, by)
	if err != nil {
		return Authorized{}, err
	}
	hidden.release(j.selector)
	return auth, nil
}

// Bounds of the searches of one request.
const (
	maxRounds = 4 // again without what policy denies
	farther   = 5 // times as many hits, where those found do not satisfy the client's filters
)

// isAuditor reports whether the principal may know which items policy denies.
func isAuditor(s scope.Scope) bool {
	p := s.Principal()
	return p.HasRole("auditor")
}
