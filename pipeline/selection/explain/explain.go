// Package explain says of a stored result, item by item, why it was shown or left out and what
// would have changed that. It knows no more than the result.
package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/defend"
	"satchel/schemas"
)

// Kept is the reason of an item that is shown.
const Kept = "kept"

// Account explains the items and the drops of a result: for each a sentence on its
// score, and what would have changed its outcome. It knows no more than the result, so
// that it says the same of one that was stored.
type Account struct {
	p       *schemas.ResultPayload
	weights map[string]float64
	shown   []schemas.ContextItem // by score, best first
	beaten  []schemas.Drop        // what fits or budget left out, in the order of choice
}

// New reads a result.
func New(p *schemas.ResultPayload) *Account {
	a := &Account{p: p, weights: map[string]float64{candidate.SignalRelevance: 1}}
	if p.Pack.Ranking != nil {
		a.weights = p.Pack.Ranking.Weights
	}
	for i := range p.Pack.Sections {
		a.shown = append(a.shown, p.Pack.Sections[i].Items...)
	}
	slices.SortStableFunc(a.shown, func(x, y schemas.ContextItem) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.ID, y.ID))
	})
	for i := range p.Drop.Drops {
		if d := p.Drop.Drops[i]; (d.Reason == schemas.DropBudget || d.Reason == schemas.DropRank) && d.Detail == "" {
			a.beaten = append(a.beaten, d)
		}
	}
	slices.SortStableFunc(a.beaten, func(x, y schemas.Drop) int {
		return cmp.Or(cmp.Compare(x.Place, y.Place), cmp.Compare(worth(&y), worth(&x)), cmp.Compare(x.ItemID, y.ItemID))
	})
	return a
}

// worth is what a pack chooses by: the score against the cost.
func worth(d *schemas.Drop) float64 {
	s := min(max(d.Score, 1e-9), 1-1e-9)
	return .75*math.Log(s/(1-s)) - .5*math.Log(float64(max(1, d.Tokens)))
}

// Item returns the shown item of an id and its explanation.
func (a *Account) Item(id string) (item *schemas.ContextItem, explanation, change string) {
	for i := range a.shown {
		if it := &a.shown[i]; it.ID == id {
			return it, a.sentence(it.Score, it.Evidence.Signals) + ", kept as number " + strconv.Itoa(i+1) + " of " + strconv.Itoa(len(a.shown)) + " by score.", a.losing(it)
		}
	}
	return nil, "", ""
}

// Drop returns the drop of an id and its explanation. Signals are those of the drop.
func (a *Account) Drop(id string) (drop *schemas.Drop, explanation, change string) {
	for i := range a.p.Drop.Drops {
		if d := &a.p.Drop.Drops[i]; d.ItemID == id {
			detail := ""
			if d.Detail != "" {
				detail = " (" + d.Detail + ")"
			}
			return d, a.sentence(d.Score, d.Signals) + ", dropped because " + d.Reason.Sentence() + detail + ".", a.winning(d)
		}
	}
	return nil, "", ""
}

// sentence is the score and the signals that add most to it.
func (a *Account) sentence(score float64, signals map[string]float64) string {
	names := make([]string, 0, len(signals))
	for _, name := range candidate.SignalNames() {
		if _, ok := signals[name]; ok && a.weights[name] > 0 {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(x, y string) int {
		return cmp.Compare(a.weights[y]*signals[y], a.weights[x]*signals[x])
	})
	out := fmt.Sprintf("Score %.3f", score)
	if len(names) == 0 {
		return out
	}
	parts := make([]string, 0, 3)
	for _, name := range names[:min(3, len(names))] {
		parts = append(parts, fmt.Sprintf("%s=%.2f", name, signals[name]))
	}
	return out + " (top signals: " + strings.Join(parts, ", ") + ")"
}

// losing says what would have left a shown item out.
func (a *Account) losing(it *schemas.ContextItem) string {
	out := fmt.Sprintf("A min_score above %.4g would leave it out", it.Score)
	if len(a.beaten) > 0 {
		out += fmt.Sprintf("; the best that was left out scores %.3f at %d tokens, against its %d", a.beaten[0].Score, a.beaten[0].Tokens, it.Tokens)
	}
	return out + "."
}

// winning says what would have shown a dropped item.
func (a *Account) winning(d *schemas.Drop) string {
	switch d.Reason {
	case schemas.DropBudget:
		if d.Detail != "" {
			return "A larger max_bytes, or fewer items before it, would show it."
		}
		return fmt.Sprintf("A token_budget of %d would show it%s.", a.enough(d), a.gap(d))
	case schemas.DropRank:
		if d.Detail == "" {
			also := ""
			if n := a.enough(d); n > a.p.Pack.TokenBudget+1 {
				also = fmt.Sprintf(", with a token_budget of %d,", n)
			}
			return fmt.Sprintf("A limit of %d%s would show it%s.", cmp.Or(d.Place, len(a.shown)+a.before(d)+1), also, a.gap(d))
		}
		return "A larger limit would show it."
	case schemas.DropConfidence:
		return "A higher confidence of the item itself would let it take part."
	case schemas.DropScore:
		if d.Detail != "" { // a log from before low confidence had a reason of its own
			return "A higher confidence of the item itself would let it take part."
		}
		return fmt.Sprintf("A min_score of %.4g or less would let it take part%s.", d.Score, a.gap(d))
	case schemas.DropRecalled:
		return "The items it was made of are shown by themselves."
	case schemas.DropDuplicate:
		return "It would be shown if the item that says the same were not there."
	case schemas.DropStale:
		if from, early := strings.CutPrefix(d.Detail, defend.NotYetValid); early {
			return "A request whose now is " + from + " or later would show it."
		}
		return "A later end of its validity would show it: record it again."
	case schemas.DropSuperseded:
		return "Recording it again would: the item that replaced it is asked for instead."
	case schemas.DropOffTopic:
		return "A question nearer to what it says would show it."
	case schemas.DropInjection:
		return "An operator may fence such items instead of dropping them."
	case schemas.DropRelevance:
		return "Another mode, or other signals, would include its kind of context."
	case schemas.DropErased:
		return "Nothing would."
	}
	return ""
}

// before counts the drops that would be chosen before d.
func (a *Account) before(d *schemas.Drop) int {
	return max(0, slices.IndexFunc(a.beaten, func(o schemas.Drop) bool { return o.ItemID == d.ItemID }))
}

// What stands beside items costs at most: the heading of a day, that of a section, and a
// section that policy speaks in, for which fewer than roomy tokens have no room.
const (
	dayHeading     = 8
	sectionHeading = 5
	policySection  = 20
	roomy          = 64
)

// enough is a token budget at which everything chosen before the drop fits, and the
// drop itself.
func (a *Account) enough(d *schemas.Drop) int {
	before := a.beaten[:a.before(d)]
	sum := max(a.p.Pack.TokenActual, 0) + d.Tokens + dayHeading
	for i := range before {
		sum += before[i].Tokens + dayHeading
	}
	headings, spoken := 0, 0
	for i := range a.p.Pack.Sections {
		s := &a.p.Pack.Sections[i]
		if s.TokenActual > 0 {
			continue
		}
		switch s.Type {
		case schemas.SectionTools, schemas.SectionKnowledge, schemas.SectionMemory:
			headings++
		case schemas.SectionPolicy:
			spoken++
		}
	}
	if len(a.p.Drop.Denied) == 0 && spoken > 0 {
		spoken-- // nothing was withheld to speak of
	}
	if sum += min(headings, len(before)+1) * sectionHeading; sum >= roomy {
		sum += spoken * policySection
	}
	return max(sum, a.p.Pack.TokenBudget+1)
}

// gap says what a drop's score lacks to the last item shown, and which signal holds it
// back most.
func (a *Account) gap(d *schemas.Drop) string {
	if len(a.shown) == 0 {
		return ""
	}
	lacks := a.shown[len(a.shown)-1].Score - d.Score
	if lacks < .005 {
		return ""
	}
	out := fmt.Sprintf("; it scores %.3f less than the last item shown", lacks)
	worst, room := "", 0.0
	for _, name := range candidate.SignalNames() {
		if v, ok := d.Signals[name]; ok && a.weights[name]*(1-v) > room {
			worst, room = name, a.weights[name]*(1-v)
		}
	}
	if worst == "" {
		return out
	}
	if v := d.Signals[worst]; room >= lacks {
		return out + fmt.Sprintf(", as much as %s of %.2f instead of %.2f would give it", worst, v+lacks/a.weights[worst], v)
	}
	return out + fmt.Sprintf(", mostly for its %s of %.2f", worst, d.Signals[worst])
}

// Annotate writes signals and explanations to the results and drops of a payload. The
// drops become its own: the report that goes to the log shares them.
func Annotate(p *schemas.ResultPayload, signals func(id string) map[string]float64) {
	p.Drop.Drops = slices.Clone(p.Drop.Drops)
	for i := range p.Drop.Drops {
		d := &p.Drop.Drops[i]
		d.Signals = signals(d.ItemID)
	}
	a := New(p)
	for i := range p.Results {
		m := &p.Results[i].Metadata
		m.Reason = Kept
		_, m.Explanation, m.Change = a.Item(p.Results[i].ID)
	}
	for i := range p.Drop.Drops {
		d := &p.Drop.Drops[i]
		_, d.Explanation, d.Change = a.Drop(d.ItemID)
	}
}
