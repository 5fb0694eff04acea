package roles

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// measure scores sentences against questions.
type measure struct {
	pool  []candidateSentence
	asked string             // the task
	rare  map[string]float64 // inverse document frequency of a word in the pool
	task  []string
	sense []float32
}

func newMeasure(pool []candidateSentence, task string, sense []float32) *measure {
	m := &measure{pool: pool, asked: task, rare: map[string]float64{}, task: keyword.Analyze(task), sense: sense}
	for i := range pool {
		for w := range pool[i].words {
			m.rare[w]++
		}
	}
	for w, n := range m.rare {
		m.rare[w] = math.Log(1 + float64(len(pool))/n)
	}
	return m
}

// best returns at most n sentences, best first, each from another item, without those in
// used, and whether the first clearly answers. A second one must come close to the first.
func (m *measure) best(question string, sense []float32, n int, used map[int]bool) ([]int, bool) {
	type scored struct {
		at    int
		score float64
	}
	words, wanted, extra, most := keyword.Analyze(question), wantedKind(question), weightKind, 1.0
	if asksWhy(question) {
		extra, most = weightCause, mostAgain // what says the question again does not say why
	}
	var all []scored
	for _, i := range m.running(question) {
		q := &m.pool[i]
		common, meaning := m.overlap(words, q.words), cosine(sense, q.vector)
		if used[i] || common == 0 && meaning < leastMeaning && m.overlap(m.task, q.words) == 0 {
			continue
		}
		score := weightWords*min(common, most) + weightTaskWords*m.overlap(m.task, q.words) + weightMeaning*min(max(meaning, 0), most) +
			weightTaskSense*max(cosine(m.sense, q.vector), 0) + q.rank + q.named
		if wanted != nil && (wanted(q) || m.goesOn(i, wanted) >= 0) {
			score += extra
		}
		if q.data {
			score -= weightKind // it may hold the words and says nothing
		}
		if score >= leastScore {
			all = append(all, scored{i, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	before, names := formerly.MatchString(question), namesIn(question)
	if len(all) > 0 && (before || !past.MatchString(question)) {
		front := 0
		for i := range all {
			first, made := m.pool[all[front].at].made, m.pool[all[i].at].made
			if before && made.Before(first) && m.replaces(words, names, all[0].at, all[i].at) || !before && made.After(first) && m.replaces(words, names, all[i].at, all[0].at) {
				front = i
			}
		}
		first := scored{all[front].at, all[0].score}
		all = slices.Insert(slices.Delete(all, front, front+1), 0, first)
	}
	sure := len(all) > 0 && all[0].score >= clearScore && m.overlap(words, m.pool[all[0].at].words) >= clearWords
	var out []int
	from := map[int]bool{}
	for _, s := range all {
		near := closeSecond
		if m.pool[all[0].at].passage {
			near = closeDocument
		}
		if len(out) == n || s.score < near*all[0].score {
			break
		}
		if snippet := m.pool[s.at].snippet; !from[snippet] {
			from[snippet] = true
			out = append(out, s.at)
		}
	}
	return out, sure
}

// replaces reports whether one sentence of a note says later what another said before: all of the question's
// words that are there stand here, or its names and half of its words in a sentence that says what changed.
func (m *measure) replaces(words, names []string, later, before int) bool {
	a, b := &m.pool[later], &m.pool[before]
	same := cosine(a.vector, b.vector)
	if a.passage || b.passage || !a.made.After(b.made) || a.trust < b.trust {
		return false
	}
	lost := func(w string) bool { return b.words[w] && !a.words[w] }
	if change.MatchString(a.text) {
		return same >= leastChanged && m.overlap(words, a.words) >= m.overlap(words, b.words)/2 && !slices.ContainsFunc(names, lost)
	}
	return same >= leastSame && !slices.ContainsFunc(words, lost)
}

// trustOf is the trust of an item.
func trustOf(r *schemas.Record) float64 {
	if r.Trust == nil {
		return 0.5
	}
	return *r.Trust
}

// namesIn returns the words of a question that have a capital or a digit.
func namesIn(question string) []string {
	var out []string
	for w := range strings.FieldsSeq(question) {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) }) {
			out = append(out, keyword.Analyze(w)...)
		}
	}
	return out
}

// topic is the sentence, JSON apart, that has the most of the question's words, −1 where none has half of them.
func (m *measure) topic(question string) int {
	words, at, most := keyword.Analyze(question), -1, .5
	for i := range m.pool {
		if common := m.overlap(words, m.pool[i].words); common > most && !m.pool[i].data {
			at, most = i, common
		}
	}
	return at
}

// ownCause is the sentence that gives a cause and soon follows the topic in its note, −1 where the topic gives one
// itself. One that names it as the cause comes before another.
func ownCause(pool []candidateSentence, topic int) int {
	if cause.MatchString(pool[topic].text) {
		return -1
	}
	named := func(q *candidateSentence) bool {
		return namedCause.MatchString(q.text) || q.heading != pool[topic].heading && causeAbove.MatchString(q.heading)
	}
	if at := following(pool, topic, 2*soon, named); at >= 0 {
		return at
	}
	return following(pool, topic, soon, func(q *candidateSentence) bool { return cause.MatchString(q.text) })
}

// following is the first of the next n sentences behind another in its note that is as wanted, −1 for none.
func following(pool []candidateSentence, at, n int, wanted func(*candidateSentence) bool) int {
	for i := at + 1; i < len(pool) && i <= at+n && !pool[at].passage && pool[i].snippet == pool[at].snippet; i++ {
		if wanted(&pool[i]) {
			return i
		}
	}
	return -1
}

// goesOn is the sentence that follows another on its line and is as wanted, −1 for none.
func (m *measure) goesOn(at int, wanted func(*candidateSentence) bool) int {
	return following(m.pool, at, soon, func(q *candidateSentence) bool { return q.line == m.pool[at].line && wanted(q) })
}

// overlap is the share of the words, by rarity, that a sentence holds. A word that no
// sentence holds counts as the rarest.
func (m *measure) overlap(words []string, held map[string]bool) float64 {
	whole, part := 0.0, 0.0
	unknown := math.Log(1 + float64(len(m.pool)))
	for _, w := range words {
		weight, ok := m.rare[w]
		if !ok {
			weight = unknown
		}
		whole += weight
		if held[w] {
			part += weight
		}
	}
	if whole == 0 {
		return 0
	}
	return part / whole
}

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

var (
	cause = regexp.MustCompile(`(?i)\b(because|due to|as a result|that is why|caused?|therefore|reason|expired|so that|led to)\b`)
	// namedCause finds a sentence that says what the cause was, causeAbove a heading under which it stands.
	namedCause = regexp.MustCompile(`(?i)(?:\b(?:root )?causes?\b.{0,40}\b(?:was|were|is|are)\b|\bcaused by\b|^(?:root )?causes?\b|\breasons? (?:was|is|for)\b)`)
	causeAbove = regexp.MustCompile(`(?i)\b(?:why|causes?|reasons?)\b`)
	moment     = regexp.MustCompile(`(?i)\b(\d{1,2}:\d{2}|\d{4}-\d{2}|today|yesterday|tomorrow|(mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december|\d+ (day|hour|minute|week|month|year)s?)\b`)
	calendar   = regexp.MustCompile(`^(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|September|October|November|December)s?\b`)
	change     = regexp.MustCompile(`(?i)\b(now|moved|switched|changed?|changes|replaced|replaces|upgraded|migrated|renamed|raised|increased|reduced|lowered|cut to|took over|taken over|no longer|not any ?more|instead of|since|from now on|as of|postponed|delayed|rescheduled|cancelled|canceled|did not happen|new (?:date|time|place))\b`)
	formerly   = regexp.MustCompile(`(?i)\b(before|previous(ly)?|former(ly)?|original(ly)?|initial(ly)?|used to|earlier)\b`)
	past       = regexp.MustCompile(`(?i)\b(did|was|were|had|been|first|once|old|ago|until|history|in (19|20)\d\d)\b`)
	place      = regexp.MustCompile(`(?i)\b(at|in|into|inside|on|to|from|near|behind|under|below|above|between|beside|next to|opposite)\b`)
	first      = regexp.MustCompile(`\b(I|I'll|I've|we|We)\b`)
)

func asksWhy(question string) bool { return strings.Contains(strings.ToLower(question), "why ") }

// wantedKind returns what an answer to the question looks like, nil when that is open.
func wantedKind(question string) func(q *candidateSentence) bool {
	lower := strings.ToLower(question)
	begins := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(lower, w) || strings.Contains(lower, " "+w) })
	}
	switch {
	case begins("who ", "whom ", "whose "):
		return func(q *candidateSentence) bool {
			return q.speaker != "" && first.MatchString(q.text) || namesSomebody(q.text)
		}
	case begins("how much", "how many", "how often", "how long", "cost", "default", "maximum", "minimum", "limit"):
		return func(q *candidateSentence) bool { return strings.ContainsFunc(q.text, unicode.IsDigit) }
	case begins("where "):
		return func(q *candidateSentence) bool { return !q.passage && place.MatchString(q.text) }
	case begins("when "):
		return func(q *candidateSentence) bool { return moment.MatchString(q.text) }
	case begins("why "):
		return func(q *candidateSentence) bool { return cause.MatchString(q.text) }
	}
	return nil
}

// namesSomebody reports whether a word inside the text is written like a name, and is no day or month.
func namesSomebody(text string) bool {
	for i, w := range strings.Fields(text) {
		if r := []rune(w); i > 0 && len(r) > 1 && unicode.IsUpper(r[0]) && unicode.IsLower(r[1]) && !calendar.MatchString(w) {
			return true
		}
	}
	return false
}
