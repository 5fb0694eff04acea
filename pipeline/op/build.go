package op

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/fill"
	"satchel/pipeline/language"
	"satchel/pipeline/pack"
	"satchel/pipeline/pack/template"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Build renders the results of a search through a template, within the token budget. An empty
// result is an empty text, not an error. Every error is a *schemas.Error.
func (e *Operations) Build(ctx context.Context, s scope.Scope, in schemas.BuildRequest) (schemas.BuildReply, error) {
	op, out, err := e.build(ctx, s, &in, pipeline.Spec{Name: "build", DropSuspects: true})
	if err != nil {
		return schemas.BuildReply{}, err
	}
	return op.reply(&out), nil
}

// BuildByVector is Build by a vector made before.
func (e *Operations) BuildByVector(
	ctx context.Context, s scope.Scope, vector []float32, in schemas.BuildRequest,
) (schemas.BuildReply, error) {
	in.Query = ""
	in.Vector = vector
	return e.Build(ctx, s, in)
}

// Preview is a Build with the ids of what it shows, the rank scores of all that policy allows, and the used budget. With
// scores only it shows no content and writes nothing to the log.
func (e *Operations) Preview(ctx context.Context, s scope.Scope, in schemas.BuildRequest) (schemas.PreviewReply, error) {
	spec := pipeline.Spec{Name: "preview", DropSuspects: true}
	if in.ScoresOnly {
		spec.End = pipeline.AfterPack
	}
	op, out, err := e.build(ctx, s, &in, spec)
	if err != nil {
		return schemas.PreviewReply{}, err
	}
	return schemas.PreviewReply{
		BuildReply: op.reply(&out), MemoryIDs: pipeline.IDsOf(out.Ranked.Candidates, op.entries), RankingScores: op.scores,
		BudgetUsed: fourPlaces(100 * float64(out.Packed.Tokens) / float64(op.budget)),
	}, nil
}

// build runs a build or a preview.
func (e *Operations) build(
	ctx context.Context, s scope.Scope, in *schemas.BuildRequest, spec pipeline.Spec,
) (op *buildOp, out pipeline.Outcome, err error) {
	r := pipeline.Request{Model: in.Model, Limits: pipeline.Limits{Tokens: cmp.Or(in.TokenBudget, schemas.DefaultTokenBudget)}}
	req, err := e.newSearchRequest(s, &in.SearchRequest, r, in.Validate())
	if err != nil {
		return op, out, err
	}
	op = &buildOp{searchOp: searchOp{e: e, in: &in.SearchRequest, as: spec}, metadata: in.IncludeMetadata, zone: req.Zone()}
	if op.ranker, err = e.ranker(in); err != nil {
		return op, out, pipeline.Typed(ctx, err)
	}
	if op.template, op.notes, err = e.template(s, in); err != nil {
		return op, out, pipeline.Typed(ctx, err)
	}
	out, err = e.Run(ctx, op, req)
	return op, out, err
}

// reply is that of a build.
func (o *buildOp) reply(out *pipeline.Outcome) schemas.BuildReply {
	reply := schemas.BuildReply{
		Memories: []schemas.SearchResult{}, TokenCount: out.Packed.Tokens, Truncated: o.truncated, Template: o.template.Spec().Name,
		TemplateAuthor: o.template.Author(), TemplateSHA256: o.template.SHA256(), Warnings: out.Packed.Notes,
	}
	if p := &out.Result.Payload; o.as.End == pipeline.AfterCommit {
		reply.Context, reply.Memories = out.Packed.Text, o.results(*out, o.entries)
		reply.PackID = p.PackID
		reply.Positions = p.Positions
	}
	return reply
}

// buildOp is a search whose results a template renders.
type buildOp struct {
	searchOp
	template *template.Template
	notes    pipeline.Notes // on the template
	ranker   *Ranker
	metadata bool
	zone     *time.Location // of the days that it names

	scores    map[string]float64 // by id, of every item that was ranked
	truncated bool               // the budget left something out
	entries   []int              // of what is shown, without older versions
	budget    int                // tokens
}

// Plan looks for the newest as well, where the ranker prefers them.
func (o *buildOp) Plan(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, snap pipeline.Snapshot) (pipeline.Plan, error) {
	plan, err := o.searchOp.Plan(ctx, rec, req, snap)
	plan.Query.Newest = o.ranker.prefersNew()
	return plan, err
}

// Pack ranks the results and the items that their links reach, and renders the best that fit.
func (o *buildOp) Pack(ctx context.Context, req pipeline.Request, plan pipeline.Plan, ranked pipeline.Ranked) (pipeline.Packed, error) {
	cs := ranked.Candidates
	out := newPacked(ranked.Notes.With(o.notes...))
	o.scores = map[string]float64{}
	o.budget = req.Limits.Tokens
	order := o.chooseHits(req, ranked, o.ranker.order(cs, req.Times.Ranking))
	value := make(map[int]float64, len(order))
	for _, i := range order {
		value[i] = o.ranker.score(&cs[i], similarity(&cs[i]), req.Times.Ranking)
		o.scores[cs[i].ID] = fourPlaces(value[i])
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(value[y], value[x]), cmp.Compare(similarity(&cs[y]), similarity(&cs[x])),
			cmp.Compare(cs[x].ID, cs[y].ID))
	})
	var notes pipeline.Notes
	out.Compacted, notes = o.quote(ctx, req, plan, ranked, order)
	out.Notes = out.Notes.With(notes...)
	out = o.render(req, cs, order, out)
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
func (o *buildOp) quote(ctx context.Context, req pipeline.Request, plan pipeline.Plan, ranked pipeline.Ranked, order []int) (bool, pipeline.Notes) {
	cs := ranked.Candidates
	results := make([]candidate.Candidate, len(order))
	for n, i := range order {
		results[n] = cs[i]
	}
	counter := o.e.Admit.Counter(req.Model)
	spec := o.template.Spec()
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

// render takes memories in order while they fit, and those after one that does not. Older versions stand below their
// newest. The first memory that does not fit has an extract.
func (o *buildOp) render(req pipeline.Request, cs []candidate.Candidate, order []int, out pipeline.Packed) pipeline.Packed {
	counter := o.e.Admit.Counter(req.Model)
	budget := req.Limits.Tokens
	spec := o.template.Spec()
	left := o.e.Admit.Slice.Left(req.Limits)
	left.Tokens -= counter.Count(spec.Header + spec.Footer)
	newest, older := pack.Versions(cs)
	var texts []string
	take := func(i int, v template.Values) bool {
		c := &cs[i]
		c.Text = o.template.Memory(v, o.metadata)
		c.Tokens = counter.Count(c.Text + spec.Separator)
		if !left.Take(c.Tokens, len(v.Content)) {
			return false
		}
		texts = append(texts, c.Text)
		out.Shown = append(out.Shown, i)
		return true
	}
	short := false
	for _, i := range order {
		c := &cs[i]
		if newest[i] >= 0 {
			continue
		}
		whole := c.Kept() && len(c.Content.Text()) <= 64*budget+1024 && take(i, o.values(c)) // no tokenizer has so few tokens for more
		if !whole {
			o.truncated = true
		}
		if !whole && !short {
			short = left.Items > 0 && o.shorten(req, c, min(left.Tokens, left.Bytes/bytesOfToken)) && take(i, o.values(c))
			out.Compacted = out.Compacted || short
		}
		for _, of := range older[i] {
			if whole && !take(of, o.older(&cs[of], c)) {
				o.truncated = true
			}
		}
	}
	for {
		out.Text = o.template.Join(texts)
		out.Tokens = 0
		if len(texts) > 0 {
			out.Tokens = counter.Count(out.Text)
		}
		if out.Tokens <= budget {
			compaction.RestoreUnshown(cs)
			o.entries = slices.DeleteFunc(slices.Clone(out.Shown), func(i int) bool { return newest[i] >= 0 })
			return out
		}
		texts = texts[:len(texts)-1]
		out.Shown = out.Shown[:len(out.Shown)-1]
		o.truncated = true
	}
}

// shorten puts an extract that fits in the place of a memory, and reports whether there is one.
func (o *buildOp) shorten(req pipeline.Request, c *candidate.Candidate, tokens int) bool {
	frame := *c
	frame.Content = schemas.TextContent("")
	counter := o.e.Admit.Counter(req.Model)
	room := tokens - counter.Count(o.template.Memory(o.values(&frame), o.metadata)+o.template.Spec().Separator)
	return req.Query != "" && compaction.ShortenTo(c, room, compaction.Options{Query: req.Query, Budget: tokens, Counter: counter, Texts: o.e.texts})
}

// older fill the template with the line of an older version.
func (o *buildOp) older(c, newest *candidate.Candidate) template.Values {
	line := *c
	visible := *c.Visible
	visible.Speaker = ""
	visible.Author = ""
	line.Visible, line.Content, line.Also = &visible, schemas.TextContent(pack.Older(c, newest, o.zone)), nil
	return o.values(&line)
}

// values fill the template: "speaker: text", as packs show it.
func (o *buildOp) values(c *candidate.Candidate) template.Values {
	text := c.Content.Text()
	if q := c.Quote; q != nil {
		text = strings.TrimSpace(strings.Join([]string{strings.TrimSpace(q.Head + " " + q.Signature), q.Comment, text}, "\n"))
	}
	also := pack.Also(c, o.zone)
	content := o.template.Apart(pack.Plain(text) + also)
	if o.template.Fenced() {
		content = strings.ReplaceAll(language.Shown(text+also), "```", "'''")
	}
	switch {
	case c.Fenced():
		content = pack.Cautioned(c, content)
	case c.Speaker != "":
		content = pack.Said(c) + ": " + content
	default:
		content = pack.Opening(c, content) + content
	}
	if c.Speaker == "" {
		content = pack.Writer(c) + content
	}
	if !o.template.Fenced() {
		content = pack.Unlisted(content)
	}
	return template.Values{
		Content: content, Type: string(c.Type), Confidence: confidence(c.Visible),
		Timestamp: c.CreatedAt.In(o.zone), Score: similarity(c),
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

// score is the formula, for a candidate of a similarity at now.
func (r *Ranker) score(c *candidate.Candidate, similarity float64, now time.Time) float64 {
	days := max(0, now.Sub(c.CreatedAt).Hours()/24)
	return r.Similarity*similarity + r.Recency/(1+days) + r.Confidence*confidence(c.Visible)
}

// order is the order in which candidates are taken, which are in that of their standings.
func (r *Ranker) order(cs []candidate.Candidate, now time.Time) []int {
	out := fill.All(len(cs))
	value := make([]float64, len(cs))
	for i := range cs {
		value[i] = r.score(&cs[i], cs[i].Standing, now)
	}
	slices.SortStableFunc(out, func(x, y int) int { return cmp.Compare(value[y], value[x]) })
	return out
}

// prefersNew reports whether the newest count more than the nearest.
func (r *Ranker) prefersNew() bool { return r.Recency > r.Similarity }

// ranker returns the ranker that a request names, or makes one of its weights.
func (e *Operations) ranker(in *schemas.BuildRequest) (*Ranker, error) {
	if w := in.RankerWeights; w != nil {
		sum := w.Similarity + w.Recency + w.Confidence
		return &Ranker{Name: "request", Similarity: w.Similarity / sum, Recency: w.Recency / sum, Confidence: w.Confidence / sum}, nil
	}
	all := append(slices.Clone(e.text.Rankers), Rankers()...) // the first of a name counts
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
