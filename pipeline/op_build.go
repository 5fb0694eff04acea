package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/plaintext"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Build renders the results of a search through a template, within the token budget. An empty
// result is an empty text, not an error. Every error is a *schemas.Error.
func (e *Engine) Build(ctx context.Context, s scope.Scope, in schemas.BuildRequest) (schemas.BuildReply, error) {
	out, reply, err := e.build(ctx, s, &in, Spec{Name: "build", DropSuspects: true})
	if err != nil {
		return schemas.BuildReply{}, err
	}
	p := &out.Result.Payload
	reply.Context, reply.Memories = out.Packed.Text, resultsOf(out, out.Packed.Shown)
	reply.PackID, reply.Positions = p.PackID, p.Positions
	return reply, nil
}

// BuildByVector is Build by a vector made before.
func (e *Engine) BuildByVector(
	ctx context.Context, s scope.Scope, vector []float32, in schemas.BuildRequest,
) (schemas.BuildReply, error) {
	in.Query, in.Vector = "", vector
	return e.Build(ctx, s, in)
}

// Preview returns the ids, rank scores and used budget of a Build, of items that policy allows. It
// shows no content, so it writes nothing to the log: context, memories, pack id and positions
// are empty.
func (e *Engine) Preview(ctx context.Context, s scope.Scope, in schemas.BuildRequest) (schemas.PreviewReply, error) {
	out, reply, err := e.build(ctx, s, &in, Spec{Name: "preview", DropSuspects: true, End: AfterPack})
	if err != nil {
		return schemas.PreviewReply{}, err
	}
	reply.Memories = []schemas.SearchResult{}
	return schemas.PreviewReply{
		BuildReply: reply, MemoryIDs: idsOf(out.Ranked.Candidates, out.Packed.Shown), RankingScores: out.Packed.Build.Scores,
		BudgetUsed: fourPlaces(100 * float64(out.Packed.Tokens) / float64(cmp.Or(in.TokenBudget, schemas.DefaultTokenBudget))),
	}, nil
}

// build runs a build or a preview. Its reply has no content yet.
func (e *Engine) build(
	ctx context.Context, s scope.Scope, in *schemas.BuildRequest, spec Spec,
) (out Outcome, reply schemas.BuildReply, err error) {
	r := Request{Model: in.Model, Limits: Limits{Tokens: cmp.Or(in.TokenBudget, schemas.DefaultTokenBudget)}}
	req, err := e.newSearchRequest(s, &in.SearchRequest, r, in.Validate())
	if err != nil {
		return out, reply, typed(ctx, err)
	}
	op := &buildOp{searchOp: searchOp{e, &in.SearchRequest, spec}, metadata: in.IncludeMetadata}
	if op.ranker, err = e.ranker(in); err != nil {
		return out, reply, typed(ctx, err)
	}
	if op.template, op.notes, err = e.template(s, in); err != nil {
		return out, reply, typed(ctx, err)
	}
	if out, err = e.run(ctx, op, req); err != nil {
		return out, reply, err
	}
	reply = schemas.BuildReply{
		TokenCount: out.Packed.Tokens, Truncated: out.Packed.Build.Truncated, Template: op.template.Spec().Name,
		TemplateAuthor: op.template.Author(), TemplateSHA256: op.template.SHA256(), Warnings: out.Packed.Notes,
	}
	return out, reply, nil
}

// buildOp is a search whose results a template renders.
type buildOp struct {
	searchOp
	template *template.Template
	notes    Notes // on the template
	ranker   *Ranker
	metadata bool
}

// built is the part of a build that is not its text.
type built struct {
	Scores    map[string]float64 // by id, of every item that was ranked
	Truncated bool               // the budget left something out
}

// pack ranks the results and the items that their links reach, and renders the best that fit.
func (o *buildOp) pack(ctx context.Context, req Request, plan Plan, ranked Ranked) (Packed, error) {
	cs := ranked.Candidates
	out := newPacked(ranked.Notes.With(o.notes...))
	out.Build.Scores = map[string]float64{}
	hits, order := chooseHits(req, ranked)
	value := make(map[int]float64, len(order))
	for _, i := range order {
		value[i] = o.ranker.score(&cs[i], req.Times.Ranking)
		out.Build.Scores[cs[i].ID] = fourPlaces(value[i])
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(value[y], value[x]), cmp.Compare(similarity(&cs[y]), similarity(&cs[x])),
			cmp.Compare(cs[x].ID, cs[y].ID))
	})
	var notes Notes
	out.Compacted, notes = o.quote(ctx, req, plan, ranked, order)
	out.Notes = out.Notes.With(notes...)
	out = o.render(req, cs, order, out)
	out.Hits = hits
	markShown(cs, out.Shown, schemas.DropBudget)
	for i := range cs {
		if _, scored := value[i]; !scored && cs[i].Drop == schemas.DropBudget {
			cs[i].Drop = schemas.DropRank
		}
	}
	t := o.template
	out.Sections = sectionsOf(cs, out.Shown, req.Limits.Tokens, fmt.Sprintf("build: by the ranker %s, through the template %s of %s, sha256 %s",
		o.ranker.Name, t.Spec().Name, t.Author(), t.SHA256()))
	return out, nil
}

// quote puts passages in the place of the results that are documents, code and commits.
func (o *buildOp) quote(ctx context.Context, req Request, plan Plan, ranked Ranked, order []int) (bool, Notes) {
	cs := ranked.Candidates
	results := make([]candidate.Candidate, len(order))
	for n, i := range order {
		results[n] = cs[i]
	}
	counter, spec := o.e.counter(req.Model), o.template.Spec()
	quoted, notes := o.e.quote(ctx, req, plan, ranked, quoting{
		Budget: req.Limits.Tokens - counter.Count(spec.Header+spec.Footer), Model: req.Model,
		Measure: func(c *candidate.Candidate) int {
			return counter.Count(o.template.Memory(o.values(c), o.metadata) + spec.Separator)
		},
	}, results)
	for n, i := range order {
		cs[i] = results[n]
	}
	return quoted, notes
}

// render takes memories in order while they fit, and those after one that does not.
func (o *buildOp) render(req Request, cs []candidate.Candidate, order []int, out Packed) Packed {
	counter, budget, spec := o.e.counter(req.Model), req.Limits.Tokens, o.template.Spec()
	spent := counter.Count(spec.Header + spec.Footer)
	var texts []string
	for _, i := range order {
		c := &cs[i]
		if !c.Kept() {
			out.Build.Truncated = true
			continue
		}
		if len(c.Content.Text()) > 64*budget+1024 {
			out.Build.Truncated = true // no tokenizer has so few tokens for it
			continue
		}
		text := o.template.Memory(o.values(c), o.metadata)
		c.Text, c.Tokens = text, counter.Count(text+spec.Separator)
		if spent+c.Tokens > budget {
			out.Build.Truncated = true
			continue
		}
		spent += c.Tokens
		texts, out.Shown = append(texts, text), append(out.Shown, i)
	}
	for {
		out.Text, out.Tokens = o.template.Join(texts), 0
		if len(texts) > 0 {
			out.Tokens = counter.Count(out.Text)
		}
		if out.Tokens <= budget {
			return out
		}
		texts, out.Shown, out.Build.Truncated = texts[:len(texts)-1], out.Shown[:len(out.Shown)-1], true
	}
}

// values fill the template: "speaker: text", as packs show it.
func (o *buildOp) values(c *candidate.Candidate) template.Values {
	text := c.Content.Text()
	if q := c.Quote; q != nil {
		text = strings.TrimSpace(strings.Join([]string{strings.TrimSpace(q.Head + " " + q.Signature), q.Comment, text}, "\n"))
	}
	content := pack.Plain(text)
	if o.template.Fenced() {
		content = strings.ReplaceAll(plaintext.Shown(text), "```", "'''")
	}
	if c.Fenced() {
		content = pack.Caution + ": " + content
	}
	if c.Speaker != "" {
		content = pack.Label(c.Speaker) + ": " + content
	}
	if !o.template.Fenced() {
		content = pack.Unlisted(content)
	}
	return template.Values{
		Content: content, Type: string(c.Type), Confidence: confidence(c.Visible),
		Timestamp: c.CreatedAt, Score: similarity(c),
	}
}

// Ranker orders found memories by
//
//	similarity·Similarity + recency·Recency + confidence·Confidence
//
// with recency = 1/(1 + days since creation). The weights are in 0–1 and sum to 1.
type Ranker struct {
	Name       string
	Similarity float64
	Recency    float64
	Confidence float64
}

// Rankers returns the built-in rankers: default, similarity, recency and confidence.
func Rankers() []Ranker {
	return []Ranker{
		{Name: "default", Similarity: .6, Recency: .2, Confidence: .2},
		{Name: "similarity", Similarity: 1},
		{Name: "recency", Recency: 1},
		{Name: "confidence", Confidence: 1},
	}
}

// Validate refuses a ranker without a name, and weights that do not hold.
func (r *Ranker) Validate() error {
	sum := r.Similarity + r.Recency + r.Confidence
	if r.Name == "" || !(math.Abs(sum-1) <= 1e-6) || r.Similarity < 0 || r.Recency < 0 || r.Confidence < 0 {
		return fmt.Errorf("ranker %q: needs a name, and weights of at least 0 that sum to 1, not to %.4g", r.Name, sum)
	}
	return nil
}

// score is the formula, for a candidate at now.
func (r *Ranker) score(c *candidate.Candidate, now time.Time) float64 {
	days := max(0, now.Sub(c.CreatedAt).Hours()/24)
	return r.Similarity*similarity(c) + r.Recency/(1+days) + r.Confidence*confidence(c.Visible)
}

// ranker returns the ranker that a request names, or makes one of its weights.
func (e *Engine) ranker(in *schemas.BuildRequest) (*Ranker, error) {
	if w := in.RankerWeights; w != nil {
		sum := w.Similarity + w.Recency + w.Confidence
		return &Ranker{Name: "request", Similarity: w.Similarity / sum, Recency: w.Recency / sum, Confidence: w.Confidence / sum}, nil
	}
	all := append(Rankers(), e.cfg.Rankers...)
	var names []string
	for i := range all {
		if all[i].Name == cmp.Or(in.Ranker, "default") {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	return nil, &schemas.Error{
		Code: schemas.CodeValidation, Field: "/ranker", Available: names,
		Message: "there is no such ranker; there are " + strings.Join(names, ", "),
	}
}

func fourPlaces(x float64) float64 { return math.Round(x*1e4) / 1e4 }
