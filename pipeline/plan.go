package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/relevance"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// plan decides what is looked for: relevance, policy pushed down, request filters.
func (t *turn) plan(ctx context.Context, s scope.Scope) (selection.Query, error) {
	asked, where, err := selection.Filters(t.req.Query.Filters)
	if err != nil {
		return selection.Query{}, err
	}
	t.readings, t.filtered = selection.Readings(t.req.Query.Filters)
	if len(where) > 0 || t.req.AsOf > 0 && !t.early || !t.req.AsOfTime.IsZero() {
		t.enough = t.limit
	}
	need := t.relevant(ctx)
	if kinds := need.Kinds(); len(kinds) < len(schemas.Kinds()) {
		asked = asked.And(ofKinds(kinds))
	}
	if names, only := need.Categories(); only {
		asked = asked.And(ofCategories(names))
	}
	if t.trace != nil {
		where = append(where, func(r *schemas.Record) bool { return need.Wants(&r.Facets) })
	}
	pushed, err := t.push(ctx, s)
	if err != nil {
		return selection.Query{}, policyDown(ctx, err)
	}
	t.pushed = pushed.Conds()
	if pushed.IsNone() {
		t.warnings = append(t.warnings, "policy lets this principal see nothing here")
	}
	if t.req.Repeat == schemas.RepeatStable && t.req.Session != "" && !t.replays() {
		t.last = t.e.shown.Last(s, t.req.Session)
	}
	return selection.Query{
		Text: t.query, Again: t.last, Type: t.req.Query.Type, Vector: t.req.Query.Vector, Filter: asked.And(pushed), Where: where, Graph: t.req.Query.Graph,
		Skip: func(retriever string) bool { return !need.NeedsRetriever(retriever) },
		Now:  t.now, AsOf: t.req.AsOf, AsOfTime: t.req.AsOfTime, Profile: t.req.Profile,
		Override: selection.Override{Weights: t.req.Weights, Lambda: t.req.Lambda},
		Limit:    t.deciding(), Enough: t.enough,
	}, nil
}

// deciding is how many candidates policy decides on: no more than a few times what may be
// shown, as long as not too many of them are denied.
func (t *turn) deciding() int {
	return min(t.widest(), max(leeway*t.limit, fewest))
}

// widest is how many candidates there may be: as many as fill the budget when all are short.
func (t *turn) widest() int {
	return max(min(t.limit, many), min(max(t.budget/tokensOfShort, fewest), most))
}

// onTopic reports whether an item has to be near to the question. What passes a filter, or
// was there at a past moment, was asked for; how near it is compares it with all the rest.
func (t *turn) onTopic() bool { return t.query != "" && !t.filtered && t.enough == 0 }

// push returns what the indexes need not leave out, and notes what the asker may know of:
// where an exception lifts denials of some items, policy still denies others that the
// indexes would else have left out.
func (t *turn) push(ctx context.Context, s scope.Scope) (schemas.Filter, error) {
	pushed, err := t.e.cfg.PDP.Filter(ctx, s, selection.ActionRead)
	if g, ok := t.e.cfg.PDP.(excepting); ok && err == nil && len(pushed.Conds()) == 0 && !pushed.IsNone() {
		known, err := g.Unexcepted(ctx, s, selection.ActionRead)
		if err != nil {
			return known, err
		}
		t.known = &known
	}
	return pushed, err
}

// excepting is a decision point whose filter may be wider than its policy's.
type excepting interface {
	Unexcepted(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error)
}

// conceal takes out what the asker may not know of and policy denies and, where the asker
// filters, all that policy denies and what does not pass as the asker sees it: counts of
// them would tell, word by word and filter by filter, what hidden items hold. The decision,
// which is for the log, has them all.
func (t *turn) conceal() {
	if !t.filtered && t.known == nil {
		return
	}
	t.ranking.Candidates = slices.DeleteFunc(t.ranking.Candidates, func(c candidate.Candidate) bool {
		if !c.Kept() {
			return t.filtered || !t.known.Match(&c.Record.Facets)
		}
		return t.masked[c.Record.ID] && !t.reached[c.Record.ID]
	})
	t.ranking.Found = len(t.ranking.Candidates)
}

// hides returns a function that tells which records policy denies, or shows with another
// value of what the filters look at. Where policy cannot be asked, it denies.
func (t *turn) hides(s scope.Scope) func(context.Context, []schemas.Record) []bool {
	if !t.filtered && t.enough == 0 {
		return nil
	}
	return func(ctx context.Context, records []schemas.Record) []bool {
		cs, hidden := make([]candidate.Candidate, len(records)), make([]bool, len(records))
		for i := range records {
			cs[i].Record = records[i]
		}
		whole := t.look(cs)
		var unsaid []string // all is decided on again, and says it
		_, err := selection.Slice(ctx, s, t.asking(heard{warnings: &unsaid}), t.e.cfg.Sanitizer, t.policyNow, t.e.cfg.IDs(), cs)
		shown := t.look(cs)
		for i := range cs {
			hidden[i] = err != nil || !cs[i].Kept() || !reflect.DeepEqual(whole[i], shown[i])
		}
		return hidden
	}
}

// look is what the filters look at in each of the candidates.
func (t *turn) look(cs []candidate.Candidate) [][]any {
	out := make([][]any, len(cs))
	for i := range cs {
		for _, read := range t.readings {
			out[i] = append(out[i], read(&cs[i].Record))
		}
	}
	return out
}

// ofKinds matches items of the kinds, and nothing when there are none.
func ofKinds(kinds []schemas.Kind) schemas.Filter {
	if len(kinds) == 0 {
		return schemas.MatchNone()
	}
	values := make([]string, len(kinds))
	for i, k := range kinds {
		values[i] = string(k)
	}
	return schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: values})
}

func ofCategories(names []string) schemas.Filter {
	if len(names) == 0 {
		return schemas.MatchNone()
	}
	return schemas.Where(schemas.Cond{Field: schemas.FieldCategory, Op: schemas.In, Values: names})
}

// relevant returns what this turn needs; without a request for it, everything.
func (t *turn) relevant(ctx context.Context) relevance.Decision {
	if t.req.Relevance == nil {
		return relevance.Decision{}
	}
	if t.e.cfg.Relevance == nil {
		t.warnings = append(t.warnings, "relevance: there is no gate, everything is included")
		return relevance.Decision{}
	}
	start := t.e.cfg.Clock()
	_, span := t.e.cfg.Tracer.Start(ctx, "context.relevance")
	d := t.e.cfg.Relevance.Decide(relevance.From(t.req.Relevance))
	span.End()
	t.stages["relevance"] = milliseconds(t.e.cfg.Clock().Sub(start))
	t.trace = &d.Trace
	for _, w := range d.Trace.Warnings {
		t.warnings = append(t.warnings, "relevance: "+w)
	}
	t.e.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "relevance decided",
		slog.String("request", t.request), slog.Any("relevance", d))
	return d
}

// await waits until the indexes are past min_position, and notes what is searched.
func (t *turn) await(ctx context.Context, s scope.Scope) error {
	if t.req.MinPosition > 0 {
		if err := t.stage(ctx, "await", func(ctx context.Context) error { return t.indexed(ctx, s) }); err != nil {
			return err
		}
	}
	at, err := t.e.cfg.Items.Checkpoint(ctx, s)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("read checkpoint: %w", ctx.Err())
	case err != nil:
		return &schemas.Error{Code: schemas.CodeStorage, Message: "the items store did not answer"}
	}
	t.asOf = at
	if t.early = t.req.AsOf > at; t.early {
		t.warnings = append(t.warnings, "as_of is beyond what is recorded: the request is about now")
	}
	if t.req.AsOf > 0 {
		t.asOf = min(at, t.req.AsOf)
	}
	return nil
}

// pollEvery is how often the stores are asked for their checkpoints while waiting.
const pollEvery = 2 * time.Millisecond

func (t *turn) indexed(ctx context.Context, s scope.Scope) error {
	ctx, cancel := context.WithTimeout(ctx, t.e.cfg.Wait)
	defer cancel()
	late := &schemas.Error{
		Code: schemas.CodeDeadlineExceeded, Field: "/payload/min_position", Message: "the indexes are not there yet",
	}
	if t.e.cfg.Indexed != nil {
		err := t.e.cfg.Indexed.Await(ctx, s, t.req.MinPosition)
		if err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
			return late
		}
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		at, err := t.applied(ctx, s)
		if err == nil && at >= t.req.MinPosition {
			return nil
		}
		select {
		case <-ctx.Done():
			return late
		case <-tick.C:
		}
	}
}

// applied returns the position that every store has applied.
func (t *turn) applied(ctx context.Context, s scope.Scope) (int64, error) {
	type checkpointed interface {
		Checkpoint(ctx context.Context, s scope.Scope) (int64, error)
	}
	stores := []checkpointed{t.e.cfg.Items}
	if t.e.cfg.Keyword != nil {
		stores = append(stores, t.e.cfg.Keyword)
	}
	if t.e.cfg.Vector != nil {
		stores = append(stores, t.e.cfg.Vector)
	}
	if t.e.cfg.Graph != nil {
		stores = append(stores, t.e.cfg.Graph)
	}
	lowest := int64(-1)
	for _, store := range stores {
		at, err := store.Checkpoint(ctx, s)
		if err != nil {
			return 0, err
		}
		if lowest < 0 || at < lowest {
			lowest = at
		}
	}
	return lowest, nil
}

// filterNames says which filters a request had, without their values: those may be
// content.
func filterNames(filters map[string]any) map[string]string {
	out := make(map[string]string, len(filters))
	for name, v := range filters {
		out[name] = "eq"
		if ops, ok := v.(map[string]any); ok {
			out[name] = strings.Join(slices.Sorted(maps.Keys(ops)), ",")
		}
	}
	return out
}

// counts says reasons and their counts in words, in a fixed order.
func counts(by map[string]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, reason+" "+strconv.Itoa(by[reason]))
	}
	return strings.Join(parts, ", ")
}
