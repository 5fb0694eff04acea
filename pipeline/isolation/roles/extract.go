package roles

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// What a sentence must have to be quoted, and how its score is made up.
const (
	leastRelevance   = 0.1 // of the item that a sentence is of
	shortestSentence = 12  // bytes
	longestSentence  = 400 // bytes
	shortNote        = 240 // bytes of a note that is quoted whole
	leastScore       = 0.3
	leastAlone       = 0.5 // of the question's words, in a sentence of a note that as a whole does not bear on it
	clearScore       = 0.4 // of a sentence that clearly answers, which has clearWords of the question's words
	clearWords       = 0.3
	leastMeaning     = 0.35 // cosine that makes up for no common word
	closeSecond      = 0.92 // of the best score, for a second sentence to stand beside it
	besideBest       = 0.5  // of the best relevance, from which an item bears on a question of several parts as well
	leastSame        = 0.4  // cosine of two sentences that may say the same of different times
	leastChanged     = 0.3  // the same, if the later one says what changed

	leastDocument = 0.03 // as leastRelevance, of a document, code or a commit: they share few words with a question
	closeDocument = 0.75 // as closeSecond
	weightPlace   = 0.4  // of a passage: 1 where its item comes first in the pack, 0 from lastPlace on
	lastPlace     = 8
	weightNamed   = 0.2 // of what the question names, four times for a passage that gives it a value
	mostPassages  = 3   // of an answer, but for the first of each step

	weightWords, weightTaskWords   = 0.35, 0.15
	weightMeaning, weightTaskSense = 0.25, 0.15
	weightRank, weightKind         = 0.1, 0.2
	weightCause, mostAgain         = 0.4, 0.5
	mostCauses                     = 4 // that are given before other sentences
	soon                           = 3 // sentences
)

// candidateSentence is a sentence of the context.
type candidateSentence struct {
	evidence
	kind    schemas.Kind
	text    string
	speaker string        // shown with it
	heading string        // that it stands under
	line    int           // of the note
	title   *schemas.Span // the heading, where it is quoted before the text
	words   map[string]bool
	vector  []float32
	rank    float64   // what the place of its item in the pack adds to its score
	named   float64   // what it adds to have what the question names
	passage bool      // of a document, code or a commit
	short   bool      // of a note that may be quoted whole
	data    bool      // JSON
	alone   bool      // of a note that does not bear on the question as a whole
	made    time.Time // of the item; no later than it was recorded
	trust   float64   // of the item
}

// extract answers each step with the sentences or passages of the context that say most about it,
// word for word, and warns where no passage clearly bears on the task.
func (st *step) extract(ctx context.Context) (*schemas.RoleAnswer, []string, error) {
	invocation, err := st.invocation(Extractive, map[string]float64{"least_score": leastScore, "close_second": closeSecond, "close_document": closeDocument}, st.view)
	if err != nil {
		return nil, nil, err
	}
	plan := st.view.Fields().Plan
	texts := []string{st.req.Task}
	for _, s := range plan {
		texts = append(texts, s.Question)
	}
	vectors, err := st.cfg.Embedder.Embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return nil, nil, &schemas.Error{Code: schemas.CodeEmbedding, Message: "the question could not be embedded"}
	}
	pool, err := st.quotables(ctx, vectors[0])
	if err != nil {
		return nil, nil, err
	}
	w := st.writer()
	m := newMeasure(pool.list, st.req.Task, vectors[0])
	used, titled, passages, relevance, clearly := map[int]bool{}, map[evidence]bool{}, 0, 0.0, false
	for i, s := range plan {
		most := 2
		if len(plan) == 1 {
			most = 3
		}
		chosen, sure := m.best(s.Question, vectors[i+1], most, used)
		clearly = clearly || sure
		if wanted := wantedKind(s.Question); asksWhy(s.Question) {
			chosen = st.withCauses(pool.list, chosen, m.topic(s.Question), used)
		} else if len(chosen) > 0 && wanted != nil && !wanted(&pool.list[chosen[0]]) {
			if at := m.goesOn(chosen[0], wanted); at >= 0 && !used[at] && !slices.Contains(chosen, at) {
				chosen = slices.Insert(chosen, 1, at)
			}
		}
		for n, at := range chosen {
			q := &pool.list[at]
			if q.passage && n > 0 && passages >= mostPassages {
				continue
			}
			used[at] = true
			text, from := q.text, []evidence{q.evidence}
			switch title := (evidence{q.snippet, q.title, q.where}); {
			case q.passage && q.title != nil && !titled[title]:
				titled[title] = true
				text, from = q.heading+"\n"+text, []evidence{title, q.evidence}
			case q.short && len(plan) == 1: // one of its sentences might mislead
				text = st.view.Fields().Snippets[q.snippet].Text
				from = []evidence{{q.snippet, &schemas.Span{End: len(text)}, q.where}}
			}
			if q.passage {
				passages++
			}
			relevance = max(relevance, pool.found.relevance[st.view.Fields().Snippets[q.snippet].ItemID])
			w.add(text, q.speaker, s.ID, from)
		}
	}
	a := w.answer(invocation)
	a.Invocation.AnswerSHA256, a.Invocation.AnswerTokens = digest([]byte(a.Text)), st.cfg.Tokens(a.Text)
	var warnings []string
	if documents := passages > 0 && passages == len(a.Sentences); documents && relevance < leastRelevance || passages == 0 && len(a.Sentences) > 0 && !clearly {
		warnings = []string{"synthesizer: these quotations come closest; none of them clearly answers the task"}
	}
	return a, warnings, nil
}

// quotables are the sentences of the snippets, questions apart, and the passages of documents, code
// and commits.
func (st *step) quotables(ctx context.Context, sense []float32) (*quotable, error) {
	speakers, records, err := st.sources(ctx)
	if err != nil {
		return nil, err
	}
	pool := &quotable{found: newFound(st.context), at: map[string]int{}}
	if preamble, _, _ := strings.Cut(st.context.Payload.Text, "\n## "); strings.Contains(preamble, "\n"+candidate.NothingMentions) {
		return pool, nil
	}
	ranks, found, pointed, place := itemRanks(st.context), pool.found, pointers(st.req.Task), 0
	found.parts = len(st.view.Fields().Plan) > 1
	for i, snippet := range st.view.Fields().Snippets {
		record := records[snippet.ItemID]
		if record == nil || record.Kind == schemas.KindTool && !asksForTool(st.req.Task) {
			continue
		}
		bears := found.bears(snippet.ItemID, holds(snippet.Text, pointed))
		if !bears && !found.mayHold(snippet.ItemID, snippet.Text) {
			continue
		}
		q := candidateSentence{evidence: evidence{snippet: i}, alone: !bears, kind: record.Kind, speaker: speakers[snippet.ItemID], rank: weightRank * ranks[snippet.ItemID]}
		switch record.Kind {
		case schemas.KindCode, schemas.KindCommit, schemas.KindKnowledge:
			if found.injected[snippet.ItemID] { // the pack quotes it as what it is, an answer would not
				continue
			}
			q.passage, q.rank = true, weightPlace*found.share()*max(0, 1-float64(place)/lastPlace)
			for _, p := range pieces(record.Kind, snippet.Text) {
				if q.title = p.title; p.title != nil {
					q.heading = snippet.Text[p.title.Start:p.title.End]
				}
				q.named = weightNamed * named(snippet.Text[p.span.Start:p.span.End], pointed)
				q.where = placeOf(record, found.places[snippet.ItemID], snippet.Text[p.span.Start:p.span.End])
				pool.add(q, p.span, snippet.Text)
			}
			place++
			continue
		}
		q.short = !found.injected[snippet.ItemID] && len(snippet.Text) <= shortNote && !strings.ContainsAny(snippet.Text, "?\n")
		q.where, q.made, q.trust = record.CreatedAt.UTC().Format("2 January 2006"), record.CreatedAt, trustOf(record)
		if record.RecordedAt.Before(q.made) { // a writer may name any day
			q.made = record.RecordedAt
		}
		for _, part := range partsOf(snippet.Text) {
			text := snippet.Text[part.span.Start:part.span.End]
			q.data = strings.ContainsAny(text[:1], "{[") && json.Valid([]byte(text))
			if q.heading, q.line = part.heading, part.line; answers(text) {
				pool.add(q, part.span, snippet.Text)
			}
		}
	}
	texts := make([]string, len(pool.list))
	for i := range pool.list {
		texts[i] = pool.list[i].text
	}
	vectors, err := st.cfg.Embedder.Embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return nil, &schemas.Error{Code: schemas.CodeEmbedding, Message: "the context could not be embedded"}
	}
	for i := range pool.list {
		pool.list[i].vector = vectors[i]
	}
	if slices.ContainsFunc(pool.list, func(q candidateSentence) bool { return q.alone }) {
		m := newMeasure(pool.list, st.req.Task, sense)
		pool.list = slices.DeleteFunc(pool.list, func(q candidateSentence) bool {
			return q.alone && (m.overlap(m.task, q.words) < leastAlone || cosine(sense, q.vector) < leastMeaning)
		})
	}
	return pool, nil
}

// quotable is what may be quoted, each text once.
type quotable struct {
	list  []candidateSentence
	found *found
	at    map[string]int // by speaker and text
}

// add adds a span of a text, unless it is there already: then a source stands for its summary, and an item that bears on
// the question for one that does not.
func (p *quotable) add(q candidateSentence, span schemas.Span, text string) {
	q.span, q.text, q.words = &span, text[span.Start:span.End], map[string]bool{}
	for _, w := range keyword.Analyze(q.speaker + " " + q.heading + " " + q.text) {
		q.words[w] = true
	}
	key := q.speaker + "\x00" + q.text
	if at, again := p.at[key]; again {
		if p.list[at].kind == schemas.KindSummary || p.list[at].alone && !q.alone {
			p.list[at] = q
		}
		return
	}
	p.at[key] = len(p.list)
	p.list = append(p.list, q)
}

// found is how probable it is that the items of a pack bear on the question: of what is read from
// files and repositories, that the best of it does, since it shares few words with a question.
type found struct {
	relevance             map[string]float64
	places                map[string]string
	injected              map[string]bool // the items that look so
	bestPlaced, bestOther float64
	parts                 bool // the question has several
}

func newFound(pack *schemas.ContextResult) *found {
	f := &found{relevance: itemRelevance(pack), places: places(pack), injected: map[string]bool{}}
	for i := range pack.Payload.Results {
		r := &pack.Payload.Results[i]
		f.injected[r.ID] = r.Metadata.Flagged == schemas.FlagInjection
	}
	for id, r := range f.relevance {
		if f.places[id] != "" {
			f.bestPlaced = max(f.bestPlaced, r)
		} else {
			f.bestOther = max(f.bestOther, r)
		}
	}
	return f
}

// bears reports whether an item may be quoted. Less is asked of a document if nothing else bears on the
// question, and of an item that has what the question names.
func (f *found) bears(id string, names bool) bool {
	r, known := f.relevance[id]
	switch {
	case known && f.places[id] != "" && f.bestOther < leastRelevance:
		return f.bestPlaced >= leastDocument
	case known && f.places[id] != "":
		return f.bestPlaced >= leastRelevance
	case names:
		return !known || r >= leastDocument
	}
	return !known || r >= leastRelevance || f.parts && f.bestOther >= leastRelevance && r >= besideBest*f.bestOther
}

// mayHold reports whether a sentence of an item that does not bear on the question as a whole may: a long note
// speaks of more than one thing.
func (f *found) mayHold(id, text string) bool {
	return f.places[id] == "" && len(text) > shortNote && f.relevance[id] >= leastDocument
}

// share is what the order of passages counts beside items of other kinds.
func (f *found) share() float64 {
	if f.bestOther <= f.bestPlaced {
		return 1
	}
	return f.bestPlaced / f.bestOther
}

// sources returns who said what, as far as the pack shows it, and the items.
func (st *step) sources(ctx context.Context) (map[string]string, map[string]*schemas.Record, error) {
	ids := make([]string, 0, len(st.view.Fields().Snippets))
	for _, s := range st.view.Fields().Snippets {
		ids = append(ids, s.ItemID)
	}
	records, err := st.cfg.Items.Get(ctx, st.s, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("read items: %w", err)
	}
	speakers, byID := map[string]string{}, make(map[string]*schemas.Record, len(records))
	for i := range records {
		r := &records[i]
		if byID[r.ID] = r; r.Speaker != "" && strings.Contains(st.context.Payload.Text, "] "+r.Speaker+": ") {
			speakers[r.ID] = r.Speaker
		}
	}
	return speakers, byID, nil
}

// itemRanks says how well each item of a pack was found: 1 the best, toward 0.
func itemRanks(pack *schemas.ContextResult) map[string]float64 {
	best := math.SmallestNonzeroFloat64
	scores := map[string]float64{}
	for _, section := range pack.Payload.Pack.Sections {
		for i := range section.Items {
			scores[section.Items[i].ID] = max(section.Items[i].Score, 0)
			best = max(best, section.Items[i].Score)
		}
	}
	for id := range scores {
		scores[id] /= best
	}
	return scores
}

// itemRelevance is how probable it is that each item of a pack bears on the question.
func itemRelevance(pack *schemas.ContextResult) map[string]float64 {
	out := map[string]float64{}
	for _, section := range pack.Payload.Pack.Sections {
		for i := range section.Items {
			if r, ok := section.Items[i].Evidence.Signals[candidate.SignalRelevance]; ok {
				out[section.Items[i].ID] = r
			}
		}
	}
	return out
}

// withCauses puts the cause that the topic's own item gives, and a sentence of each cause that the pack's links give
// of the topic, and of its causes, before the other chosen sentences, and the topic before them.
func (st *step) withCauses(pool []candidateSentence, chosen []int, topic int, used map[int]bool) []int {
	if topic < 0 {
		return chosen
	}
	of := func(at int) string { return st.view.Fields().Snippets[pool[at].snippet].ItemID }
	var causes []int
	if at := ownCause(pool, topic); at >= 0 && !used[at] {
		causes = append(causes, at)
	}
	var edges []schemas.Edge
	if graph := st.context.Payload.Explainability.CausalGraph; graph != nil {
		edges = graph.Edges
	}
	for chain := []string{of(topic)}; len(chain) > 0 && len(causes) < mostCauses; chain = chain[1:] {
		for _, e := range edges {
			if e.Rel != schemas.RelCausedBy || e.From != chain[0] {
				continue
			}
			at := slices.IndexFunc(pool, func(q candidateSentence) bool { return st.view.Fields().Snippets[q.snippet].ItemID == e.To })
			if at >= 0 && at != topic && !used[at] && !slices.Contains(causes, at) {
				causes, chain = append(causes, at), append(chain, e.To)
			}
		}
	}
	if len(causes) == 0 {
		return chosen
	}
	out := causes
	if !used[topic] {
		out = append([]int{topic}, causes...)
	}
	return append(out, slices.DeleteFunc(chosen, func(at int) bool { return slices.Contains(out, at) })...)
}
