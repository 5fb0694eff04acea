// It says of a stored result, item by item, why it was shown or left out and what
// would have changed that. It knows no more than the result.

package selection

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

// KeptReason is the reason of an item that is shown.
const KeptReason = "kept"

// Account explains the items and the drops of a result: for each a sentence on its
// score, and what changes its outcome. It knows no more than the result, so
// that it says the same of one that was stored. What it says a request would show is sure. A larger budget
// or limit reads other items and weighs all of them anew, so of these it says what the item takes, and no number
// at which it would be shown.
type Account struct {
	p       *schemas.ResultPayload
	weights map[string]float64
	shown   []schemas.ContextItem // by score, best first
	beaten  []schemas.Drop        // what fits or budget left out, in the order of choice
}

// NewAccount reads a result.
func NewAccount(p *schemas.ResultPayload) *Account {
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
		return cmp.Or(cmp.Compare(x.Place, y.Place), cmp.Compare(y.Score, x.Score), cmp.Compare(x.ItemID, y.ItemID))
	})
	return a
}

// Item returns the shown item of an id and its explanation.
func (a *Account) Item(id string) (item *schemas.ContextItem, explanation, change string) {
	for i := range a.shown {
		if it := &a.shown[i]; it.ID == id {
			return it, a.describeScore(it.Score, it.Evidence.Signals) + ", kept as number " + strconv.Itoa(i+1) + " of " + strconv.Itoa(len(a.shown)) + " by score.", a.explainExclusion(it)
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
			why := a.describeScore(d.Score, d.Signals) + ", dropped because " + d.Reason.Sentence() + detail + "."
			switch {
			case d.OfRequest():
				why = "The text of the request did not fit the token budget: " + d.Detail + "."
			case isUnread(d):
				why = "Found, and not read: enough other items stood before it in the search. It has no score."
			}
			return d, why, a.explainInclusion(d)
		}
	}
	return nil, "", ""
}

// describeScore is the score and the signals that add most to it.
func (a *Account) describeScore(score float64, signals map[string]float64) string {
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

// explainExclusion says what would have left a shown item out.
func (a *Account) explainExclusion(it *schemas.ContextItem) string {
	out := fmt.Sprintf("A min_score above %.4g would leave it out", math.Ceil(it.Score*scoreSteps)/scoreSteps)
	if len(a.beaten) > 0 {
		out += fmt.Sprintf("; the best that was left out scores %.3f at %d tokens, against its %d", a.beaten[0].Score, a.beaten[0].Tokens, it.Tokens)
	}
	return out + "."
}

// scoreSteps is how many steps a score has in sentences, and in drops, which are rounded.
const scoreSteps = 1e4

// returned says how to read what a pack has no place for.
const returned = " Recover returns it (satchel dropped), unless it looks injected."

// isUnread reports whether a drop is of an item that was found and never read.
func isUnread(d *schemas.Drop) bool {
	return d.Reason == schemas.DropRank && d.Detail == candidate.NotRead
}

// explainInclusion says what would have shown a dropped item.
func (a *Account) explainInclusion(d *schemas.Drop) string {
	switch d.Reason {
	case schemas.DropBudget:
		switch {
		case d.OfRequest():
			return "A larger token_budget has room for more of it."
		case d.Detail != "":
			return "A larger max_bytes may show it." + returned
		}
		return fmt.Sprintf("It takes %d tokens, and the pack took %d of %d; a larger token_budget may show it%s.",
			d.Tokens, a.p.Pack.TokenActual, a.p.Pack.TokenBudget, a.describeGap(d)) + returned
	case schemas.DropRank:
		switch {
		case isUnread(d):
			return "A question nearer to what it says may have it read." + returned
		case strings.HasSuffix(d.Detail, candidate.FillShows):
			return strings.TrimSpace(returned)
		case d.Detail != "":
			return "A larger token_budget may show it." + returned
		case d.Place == 0:
			return fmt.Sprintf("A larger limit may show it%s.", a.describeGap(d)) + returned
		}
		return fmt.Sprintf("It was choice %d and %d are shown; a larger limit may show it%s.", d.Place, len(a.shown), a.describeGap(d)) + returned
	case schemas.DropConfidence:
		return "A higher confidence of the item itself would let it take part."
	case schemas.DropScore:
		if d.Detail != "" { // a log from before low confidence had a reason of its own
			return "A higher confidence of the item itself would let it take part."
		}
		return fmt.Sprintf("A min_score of %.4g or less lets it take part%s.", max(0, math.Floor(d.Score*scoreSteps-1)/scoreSteps), a.describeGap(d)) + returned
	case schemas.DropRecalled:
		return "The items it was made of are shown by themselves."
	case schemas.DropDuplicate:
		return "The item that says the same stands for it."
	case schemas.DropNewer:
		return "A larger token_budget or limit may show what it says otherwise, below its newest version." + returned
	case schemas.DropStale:
		if from, early := strings.CutPrefix(d.Detail, defend.NotYetValid); early {
			return "A request whose now is " + from + " or later lets it take part."
		}
		return "A later end of its validity lets it take part: record it again."
	case schemas.DropSuperseded:
		return "Recording it again would: the item that replaced it is asked for instead."
	case schemas.DropOffTopic:
		return "A question nearer to what it says may show it." + returned
	case schemas.DropInjection:
		return "An operator may fence such items instead of dropping them."
	case schemas.DropRelevance:
		return "Another mode, or other signals, would include its kind of context."
	case schemas.DropSummarised:
		return strings.TrimSpace(returned)
	case schemas.DropErased:
		return "Nothing would."
	}
	return ""
}

// describeGap says what a drop's score lacks to the last item shown, and which signal holds it
// back most.
func (a *Account) describeGap(d *schemas.Drop) string {
	if len(a.shown) == 0 {
		return ""
	}
	lacks := a.shown[len(a.shown)-1].Score - d.Score
	if lacks < .005 {
		return ""
	}
	out := fmt.Sprintf("; it scores %.3f less than the last item shown", lacks)
	worst := ""
	room := 0.0
	for _, name := range candidate.SignalNames() {
		if v, ok := d.Signals[name]; ok && a.weights[name]*(1-v) > room {
			worst = name
			room = a.weights[name] * (1 - v)
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
	a := NewAccount(p)
	for i := range p.Results {
		m := &p.Results[i].Metadata
		m.Reason = KeptReason
		_, m.Explanation, m.Change = a.Item(p.Results[i].ID)
	}
	for i := range p.Drop.Drops {
		d := &p.Drop.Drops[i]
		_, d.Explanation, d.Change = a.Drop(d.ItemID)
	}
}
