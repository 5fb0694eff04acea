package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

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

// Validate says what is wrong with the weights.
func (r *Ranker) Validate() error {
	sum := r.Similarity + r.Recency + r.Confidence
	if r.Name == "" || !(math.Abs(sum-1) <= 1e-6) || r.Similarity < 0 || r.Recency < 0 || r.Confidence < 0 {
		return fmt.Errorf("ranker %q: needs a name, and weights of at least 0 that sum to 1, not to %.4g", r.Name, sum)
	}
	return nil
}

func (t *turn) rank(r *Ranker, c *candidate.Candidate) float64 {
	days := max(0, t.now.Sub(c.Record.CreatedAt).Hours()/24)
	return r.Similarity*similarity(c) + r.Recency/(1+days) + r.Confidence*confidence(&c.Record)
}

// similarity is what selection found: the fused relevance, 0–1.
func similarity(c *candidate.Candidate) float64 { return min(max(c.Score, 0), 1) }

func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

func (e *Engine) ranker(name string) (*Ranker, error) {
	all := append(Rankers(), e.cfg.Rankers...)
	var names []string
	for i := range all {
		if all[i].Name == cmp.Or(name, "default") {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/ranker", Message: "there is no such ranker; there are " + strings.Join(names, ", "), Available: names}
}

// Build renders what a search finds through a template, within the token budget. An
// empty result is an empty text, not an error. Every error is a *schemas.Error.
func (e *Engine) Build(ctx context.Context, s scope.Scope, req schemas.BuildRequest) (schemas.BuildReply, error) {
	b, err := e.building(s, &req)
	if err != nil {
		return schemas.BuildReply{}, typed(ctx, err)
	}
	res, err := b.t.pass(ctx, s, b.door("build", false))
	if err != nil {
		return schemas.BuildReply{}, err
	}
	out := b.reply()
	out.Context, out.Memories = b.t.packed.Text, b.results(b.shown, &res)
	out.PackID, out.Positions = res.Payload.PackID, res.Payload.Positions
	return out, nil
}

// BuildByVector is Build by a vector made before.
func (e *Engine) BuildByVector(ctx context.Context, s scope.Scope, vector []float32, req schemas.BuildRequest) (schemas.BuildReply, error) {
	req.Query, req.Vector = "", vector
	return e.Build(ctx, s, req)
}

// Preview says what Build would show: ids, rank scores and budget used, of items that
// policy allows. It shows no content, so it leaves nothing in the log: context,
// memories, pack id and positions are empty.
func (e *Engine) Preview(ctx context.Context, s scope.Scope, req schemas.BuildRequest) (schemas.PreviewReply, error) {
	b, err := e.building(s, &req)
	if err != nil {
		return schemas.PreviewReply{}, typed(ctx, err)
	}
	if _, err := b.t.pass(ctx, s, b.door("preview", true)); err != nil {
		return schemas.PreviewReply{}, err
	}
	out := schemas.PreviewReply{BuildReply: b.reply(), MemoryIDs: b.t.ids(), RankingScores: b.scores,
		BudgetUsed: round(100 * float64(b.t.packed.Tokens) / float64(b.t.budget))}
	out.Memories = []schemas.SearchResult{}
	return out, nil
}

// building is a build on its way.
type building struct {
	finding
	req      *schemas.BuildRequest
	template *template.Template
	ranker   *Ranker
	scores   map[string]float64 // of everything that was ranked
	shown    []int
	left     bool // the budget left something out
}

func (e *Engine) building(s scope.Scope, req *schemas.BuildRequest) (*building, error) {
	budget := cmp.Or(req.TokenBudget, defaultBudget)
	t, err := e.enter(s, errandOf(&req.SearchRequest, budget, req.Model, req.Validate()))
	if err != nil {
		return nil, err
	}
	b := &building{finding: *newFinding(t, s, &req.SearchRequest), req: req, scores: map[string]float64{}}
	if b.ranker, err = e.ranker(req.Ranker); err != nil {
		return nil, err
	}
	b.template, err = e.template(s, req)
	return b, err
}

// template returns the template of the request: its own, or a named one.
func (e *Engine) template(s scope.Scope, req *schemas.BuildRequest) (*template.Template, error) {
	if req.Inline != nil {
		t, err := template.Parse(*req.Inline)
		return t, templateError("/inline", err)
	}
	t, err := e.cfg.Templates.Find(s, cmp.Or(req.Template, "chat"))
	if !errors.Is(err, template.ErrNotFound) {
		return t, templateError("/template", err)
	}
	there, err := e.cfg.Templates.List(s)
	if err != nil {
		return nil, templateError("/template", err)
	}
	refused := &schemas.Error{Code: schemas.CodeTemplateNotFound, Field: "/template"}
	for _, spec := range there {
		refused.Available = append(refused.Available, spec.Name)
	}
	refused.Message = "there is no such template; there are " + strings.Join(refused.Available, ", ")
	return nil, refused
}

func templateError(field string, err error) error {
	var wrong *template.FieldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return &schemas.Error{Code: schemas.CodeValidation, Field: field + "/" + wrong.Field, Message: wrong.Message}
	case errors.Is(err, template.ErrBuiltIn), errors.Is(err, template.ErrFull):
		return &schemas.Error{Code: schemas.CodeValidation, Field: field + "/name", Message: err.Error()}
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: "the templates could not be read or written"}
}

func (b *building) door(name string, dry bool) door {
	return door{name: name, gather: b.gather, order: best, fill: func(context.Context) error { return b.fill() }, dry: dry}
}

func (b *building) reply() schemas.BuildReply {
	return schemas.BuildReply{TokenCount: b.t.packed.Tokens, Truncated: b.left, Template: b.template.Spec().Name}
}

// fill ranks the results and what they are linked to, and renders the highest ranked
// that fit.
func (b *building) fill() error {
	cs := b.t.ranking.Candidates
	order := b.withRelated(b.found())
	value := make(map[int]float64, len(order))
	for _, i := range order {
		value[i] = b.t.rank(b.ranker, &cs[i])
		b.scores[cs[i].Record.ID] = round(value[i])
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(value[y], value[x]), cmp.Compare(similarity(&cs[y]), similarity(&cs[x])), cmp.Compare(cs[x].Record.ID, cs[y].Record.ID))
	})
	b.render(order)
	b.t.close(b.shown, schemas.DropBudget)
	for i := range cs {
		if _, ranked := value[i]; !ranked && cs[i].Drop == schemas.DropBudget {
			cs[i].Drop = schemas.DropRank
		}
	}
	b.t.sections("build: by the ranker " + b.ranker.Name)
	return nil
}

// render takes memories in order while they fit, and those after one that does not.
func (b *building) render(order []int) {
	t := b.t
	counter := t.e.counter(t.req.Model)
	spec := b.template.Spec()
	spent := counter.Count(spec.Header + spec.Footer)
	var texts []string
	for _, i := range order {
		c := &t.ranking.Candidates[i]
		if len(c.Record.Content.Text()) > 64*b.t.budget+1024 {
			b.left = true // no tokenizer has so few tokens for it
			continue
		}
		text := b.template.Memory(b.values(c), b.req.IncludeMetadata)
		c.Text, c.Tokens = text, counter.Count(text+spec.Separator)
		if spent+c.Tokens > t.budget {
			b.left = true
			continue
		}
		spent += c.Tokens
		texts, b.shown = append(texts, text), append(b.shown, i)
	}
	for {
		t.packed.Text, t.packed.Tokens = b.template.Join(texts), 0
		if len(texts) > 0 {
			t.packed.Tokens = counter.Count(t.packed.Text)
		}
		if t.packed.Tokens <= t.budget {
			return
		}
		texts, b.shown, b.left = texts[:len(texts)-1], b.shown[:len(b.shown)-1], true
	}
}

// values fill the template: "speaker: text", as packs show it.
func (b *building) values(c *candidate.Candidate) template.Values {
	content := pack.Plain(c.Record.Content.Text())
	if b.template.Fenced() {
		content = strings.ReplaceAll(pack.Printable(c.Record.Content.Text()), "```", "'''")
	}
	if c.Record.Speaker != "" {
		content = pack.Label(c.Record.Speaker) + ": " + content
	}
	if !b.template.Fenced() {
		content = pack.Unlisted(content)
	}
	return template.Values{
		Content: content, Type: string(c.Record.Type), Confidence: confidence(&c.Record),
		Timestamp: c.Record.CreatedAt, Score: similarity(c),
	}
}

// Templates lists the templates a tenant has, and registers one when asked to.
func (e *Engine) Templates(ctx context.Context, s scope.Scope, req schemas.TemplateRequest) (schemas.TemplateReply, error) {
	if err := s.Check(); err != nil {
		return schemas.TemplateReply{}, &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the request has no scope"}
	}
	if err := schemas.Invalid(req.Validate()); err != nil {
		return schemas.TemplateReply{}, err
	}
	if req.Register != nil {
		if err := e.cfg.Templates.Register(s, *req.Register); err != nil {
			return schemas.TemplateReply{}, typed(ctx, templateError("/register", err))
		}
	}
	list, err := e.cfg.Templates.List(s)
	if err != nil {
		return schemas.TemplateReply{}, typed(ctx, templateError("/register", err))
	}
	return schemas.TemplateReply{Templates: list}, nil
}
