package roles

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// quotation is an item of the pack, as the pack shows it.
type quotation struct {
	evidence
	id, text, speaker string
	said              string  // who said it, without who wrote it
	writer            string  // agent that recorded it
	note, summary     bool    // no document, code or commit; a summary
	score             float64 // the pack's: the probability that it answers
	made              time.Time
	trust             float64
	words             map[string]bool
	vector            []float32
	near              []float64 // to each step of the plan
	alike             int       // other notes that are about the same, or of the same form
}

// extractAnswer answers with what the pack shows, word for word, in the order of the scores: each quotation for the step that it is
// nearest to.
func (st *step) extractAnswer(ctx context.Context) (*schemas.RoleAnswer, []string, error) {
	invocation, err := st.makeInvocation(Extractive, map[string]float64{"least_share": leastShare, "least_near": leastNear}, st.view)
	if err != nil {
		return nil, nil, err
	}
	plan := st.view.Fields().Plan
	list, err := st.listQuotations(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := st.measureQuotations(ctx, plan, list); err != nil {
		return nil, nil, err
	}
	steps := make([][]*quotation, len(plan))
	for _, q := range list {
		nearest := slices.Index(q.near, slices.Max(q.near))
		steps[nearest] = append(steps[nearest], q)
	}
	w := st.newAnswerWriter()
	warnings := []string(nil)
	later := []string(nil)
	w.lines = true               // they are no text that goes on
	answers := map[string]bool{} // by step
	for i, of := range steps {
		of = st.newestFirst(plan[i].Question, dropWeakQuotations(of))
		for _, q := range of {
			w.addSentence(q.text, q.speaker, plan[i].ID, []evidence{q.evidence})
			if q.canReplace(of[0]) {
				later = append(later, fmt.Sprintf("%s [%d]", q.where, w.numbers[q.id]))
			}
			for s := range plan {
				answers[plan[s].ID] = answers[plan[s].ID] || len(plan) == 1 || q.near[s] >= leastNear
			}
		}
	}
	a := w.finishAnswer(invocation)
	a.Unanswered = nil
	for _, s := range plan {
		if !answers[s.ID] {
			a.Unanswered = append(a.Unanswered, s.ID)
		}
	}
	a.Invocation.AnswerSHA256, a.Invocation.AnswerTokens = hashBytes([]byte(a.Text)), st.cfg.Tokens(a.Text)
	if len(list) > 0 && list[0].score < clearly {
		warnings = append(warnings, "synthesizer: these quotations come closest; none of them clearly answers the task: "+
			fmt.Sprintf("the best score is %.2f", list[0].score))
	}
	if len(later) > 0 {
		warnings = append(warnings, "synthesizer: a later note is about the same: "+strings.Join(later, ", "))
	}
	return a, warnings, nil
}

// listQuotations are the items of the pack that may be quoted, best score first. What looks injected is none, nor is a tool unless
// one is asked for. Where a name of the task is nowhere, there are none.
func (st *step) listQuotations(ctx context.Context) ([]*quotation, error) {
	if preamble, _, _ := strings.Cut(st.context.Payload.Text, "\n## "); strings.Contains(preamble, "\n"+candidate.NothingMentions) {
		return nil, nil
	}
	records, err := st.readRecords(ctx)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*schemas.Record, len(records))
	for i := range records {
		byID[records[i].ID] = &records[i]
	}
	shown := ofItems(st.context, func(it *schemas.ContextItem) *schemas.ContextItem { return it })
	zone := st.findZone()
	speakers := st.findSpeakers()
	asked := findNounNumbers(st.req.Task)
	var list []*quotation
	for i, snippet := range st.view.Fields().Snippets {
		r := byID[snippet.ItemID]
		it := shown[snippet.ItemID]
		if r == nil || it == nil || snippet.Flagged == schemas.FlagInjection || hasRivalNumbers(asked, snippet.Text) ||
			r.Kind == schemas.KindTool && !language.AsksForTool(st.req.Task) {
			continue
		}
		q := &quotation{
			evidence: evidence{snippet: i, span: &schemas.Span{End: len(snippet.Text)}, where: it.Where},
			id:       r.ID, text: snippet.Text, writer: r.Author, summary: r.Kind == schemas.KindSummary,
			note:  it.Where == "" && r.Kind != schemas.KindCode && r.Kind != schemas.KindCommit,
			score: it.Score, made: r.CreatedAt, trust: r.TrustOrDefault(),
		}
		if r.RecordedAt.Before(q.made) { // a writer may name any day
			q.made = r.RecordedAt
		}
		if forms := speakers[r.ID]; forms != nil {
			q.speaker = forms[len(forms)-1]
			if len(forms) > 1 {
				q.said = forms[0]
			}
		}
		if q.note {
			q.where = r.CreatedAt.In(zone).Format("2 January 2006")
		}
		list = append(list, q)
	}
	list = slices.DeleteFunc(list, func(q *quotation) bool { return q.summary && slices.ContainsFunc(list, q.isRepeatOf) })
	slices.SortStableFunc(list, func(a, b *quotation) int { return cmp.Compare(b.score, a.score) })
	left := len(st.view.Fields().Plan) * quotedTokens // a pack for a model has more
	for i, q := range list {
		left -= st.cfg.Tokens(q.text)
		if left < 0 && i > 0 {
			return list[:i], nil
		}
	}
	return list, nil
}

// isRepeatOf reports whether a summary says again what another item says.
func (q *quotation) isRepeatOf(other *quotation) bool {
	return !other.summary && strings.Contains(q.text, other.text)
}

// measureQuotations takes in the words and vectors of the quotations, and how near each is to each step: half by the step's words that it
// has, by how rare they are here, half by meaning.
func (st *step) measureQuotations(ctx context.Context, plan []schemas.PlanStep, list []*quotation) error {
	texts := make([]string, 0, len(plan)+len(list))
	seen := map[string]float64{}
	for _, s := range plan {
		texts = append(texts, s.Question)
	}
	for _, q := range list {
		texts = append(texts, q.text)
		q.words = map[string]bool{}
		for _, w := range language.Analyze(q.said + " " + q.text) {
			if !q.words[w] {
				q.words[w] = true
				seen[w]++
			}
		}
	}
	vectors, err := st.cfg.Embedder.Embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return &schemas.Error{Code: schemas.CodeEmbedding, Message: "the question and the context could not be embedded"}
	}
	for s := range plan {
		words := language.Analyze(plan[s].Question)
		for i, q := range list {
			q.vector = vectors[len(plan)+i]
			whole := math.SmallestNonzeroFloat64
			common := 0.
			for _, w := range words {
				rarity := math.Log(1 + float64(len(list)+1)/(seen[w]+1))
				whole += rarity
				if q.words[w] {
					common += rarity
				}
			}
			q.near = append(q.near, (common/whole+max(0, vecmath.Cosine(vectors[s], q.vector)))/2)
		}
	}
	for i, q := range list {
		for _, other := range list[:i] {
			if q.note && other.note && vecmath.Cosine(q.vector, other.vector) >= leastSame {
				q.alike = q.alike + 1
				other.alike = other.alike + 1
			}
		}
	}
	return nil
}

// dropWeakQuotations leaves out what scores far less than the best of a step, where that clearly answers. A later note about the same thing
// stays, and so do documents, code and commits where one is the best: the pack chose them by their passages.
func dropWeakQuotations(list []*quotation) []*quotation {
	if len(list) == 0 || list[0].score < clearly {
		return list
	}
	first := list[0]
	return slices.DeleteFunc(list, func(q *quotation) bool {
		return q.score < leastShare*first.score && (q.note || first.note) && !q.canReplace(first)
	})
}

// newestFirst puts the later notes that are about the same thing as the first of a step before it, the newest first: those that
// have the names of the question that the first has, and half of its words. Where the question names days, what is of them comes
// first instead.
func (st *step) newestFirst(question string, list []*quotation) []*quotation {
	if len(list) == 0 {
		return list
	}
	if asked := language.FindTimes(question, st.started.In(st.findZone())); len(asked) > 0 {
		return st.daysFirst(asked, list)
	}
	words := list[0].findSharedWords(language.Analyze(question))
	names := list[0].findSharedWords(namesIn(question))
	var later, rest []*quotation
	for _, q := range list {
		if q.canReplace(list[0]) && len(q.findSharedWords(names)) == len(names) && float64(len(q.findSharedWords(words))) >= leastShared*float64(len(words)) {
			later = append(later, q)
		} else {
			rest = append(rest, q)
		}
	}
	slices.SortStableFunc(later, func(a, b *quotation) int { return b.made.Compare(a.made) })
	return append(later, rest...)
}

// daysFirst puts what is of the days that are asked for before what is not. Where what was before or after a day is asked for, none
// is moved.
func (st *step) daysFirst(asked []language.Interval, list []*quotation) []*quotation {
	if slices.ContainsFunc(asked, func(d language.Interval) bool { return d.From.IsZero() || d.To.IsZero() }) {
		return list
	}
	var of, rest []*quotation
	for _, q := range list {
		if q.isOf(asked, st.findZone()) {
			of = append(of, q)
		} else {
			rest = append(rest, q)
		}
	}
	return append(of, rest...)
}

// isOf reports whether a note was made on days, or a text names a day of them. When a document was recorded says nothing of what it
// says.
func (q *quotation) isOf(asked []language.Interval, zone *time.Location) bool {
	if q.note && slices.ContainsFunc(asked, func(d language.Interval) bool { return d.Has(q.made) }) {
		return true
	}
	for _, named := range language.FindTimes(q.text, q.made.In(zone)) {
		within := func(d language.Interval) bool {
			return d.Has(named.From) && !named.To.IsZero() && !named.To.After(d.To)
		}
		if slices.ContainsFunc(asked, within) {
			return true
		}
	}
	return false
}

// canReplace reports whether a note is later than another about the same thing, of the same writer, and is trusted no less. Where many
// are alike, as tickets are, each is about another thing.
func (q *quotation) canReplace(other *quotation) bool {
	return other.alike <= mostVersions && q.note && other.note && q.writer == other.writer && q.made.After(other.made) && q.trust >= other.trust &&
		vecmath.Cosine(q.vector, other.vector) >= leastSame
}

// findSharedWords returns those of the words that stand there.
func (q *quotation) findSharedWords(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !q.words[w] })
}

// namesIn returns the words of a question that have a capital, but for the first word, or a digit.
func namesIn(question string) []string {
	var out []string
	for i, w := range strings.Fields(question) {
		if strings.ContainsFunc(w, func(r rune) bool { return i > 0 && unicode.IsUpper(r) || unicode.IsDigit(r) }) {
			out = append(out, language.Analyze(w)...)
		}
	}
	return out
}

// numbered finds what a text names by a number or an identifier: "recipe 42", "#17", "INV-1042".
var numbered = regexp.MustCompile(`(?i)([\p{L}_-]*[\p{L}#_-])\s*(?:(?:no\.?|nr\.?|number)\s*)?#?(\d+(?:[.,:/-]?\w+)*)`)

// findNounNumbers are the numbers that a text gives to each noun. Stop words and months have none.
func findNounNumbers(text string) map[string][]string {
	out := map[string][]string{}
	for _, m := range numbered.FindAllStringSubmatch(text, -1) {
		if noun := language.Analyze(m[1]); (len(noun) == 1 || m[1] == "#") && !language.IsTimeName(m[1]) {
			kind := strings.Join(noun, "")
			out[kind] = append(out[kind], strings.ToLower(m[2]))
		}
	}
	return out
}

// hasRivalNumbers reports whether a text has other numbers for what is asked for by one, and that one nowhere.
func hasRivalNumbers(asked map[string][]string, text string) bool {
	here := findNounNumbers(text)
	rival := false
	for kind, values := range asked {
		for _, v := range here[kind] {
			if slices.Contains(values, v) {
				return false
			}
			rival = true
		}
	}
	return rival
}
