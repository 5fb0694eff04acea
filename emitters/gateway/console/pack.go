package console

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"satchel/schemas"
)

// makeAskPage is the form alone.
func makeAskPage(view) (page, error) { return page{name: "ask", title: "Ask"}, nil }

// answerQuestion asks the question of the form and goes to the pack.
func answerQuestion(v view) (page, error) {
	if err := v.ParseForm(); err != nil {
		return page{}, newRefusal(schemas.CodeValidation, "the form could not be read")
	}
	budget, err := strconv.Atoi(cmp.Or(v.PostForm.Get("budget"), "2000"))
	if err != nil {
		return page{}, newRefusal(schemas.CodeValidation, "the budget must be a number of tokens")
	}
	req := schemas.ContextRequest{Payload: schemas.RequestPayload{Query: schemas.Query{Text: v.PostForm.Get("question")},
		TokenBudget: budget, Session: v.PostForm.Get("session"), Purpose: v.PostForm.Get("purpose"), IncludeScores: true}}
	res, err := v.client.Ask(v.Context(), req)
	if err != nil {
		return page{}, err
	}
	if res.Payload.Positions.Pack == 0 {
		return page{}, newRefusal(schemas.CodeNotFound, "the tenant is empty: nothing was ever recorded there")
	}
	return page{to: Path + "packs/" + url.PathEscape(res.Payload.PackID)}, nil
}

// openPack returns a pack as this session may see it. It does not tell another principal's pack from none.
func openPack(v view, id string) (*schemas.ResultPayload, error) {
	res, err := v.client.Pack(v.Context(), id)
	var refused *schemas.Error
	hiding := []schemas.Code{schemas.CodePolicyDenied, schemas.CodeNotFound, schemas.CodeValidation}
	if errors.As(err, &refused) && slices.Contains(hiding, refused.Code) {
		return nil, notFound()
	}
	return &res.Payload, err
}

// packView is a pack as its page shows it.
type packView struct {
	*schemas.ResultPayload
	Parts []part
	Cards []card
	Left  []leftOut
	Mine  bool
	Entry int64 // of the pack in the log
	Size  int64 // of the log
}

// part is a piece of the text; N is the number of the card that it refers to, 0 for none.
type part struct {
	Text string
	N    int
}

// card is a shown item.
type card struct {
	N       int
	Section schemas.SectionType
	schemas.ContextItem
	Meta     schemas.ResultMetadata
	Signals  []signal
	Channels []channel
}

// signal is one of the numbers that order candidates.
type signal struct {
	Name  string
	Value float64
}

// channel is one retriever's opinion.
type channel struct {
	Name string
	schemas.Channel
}

// leftOut are the drops of one reason.
type leftOut struct {
	Reason  schemas.DropReason
	Drops   []schemas.Drop
	Changes bool // some say what would have shown them
}

// makePackPage is the page of a pack.
func makePackPage(v view) (page, error) {
	p, err := openPack(v, v.PathValue("pack"))
	if err != nil {
		return page{}, err
	}
	data := viewOf(p, v.who)
	proved, err := v.client.Prove(v.Context(), schemas.ProveRequest{Source: schemas.SourceEngine, ID: p.PackID})
	if err != nil {
		return page{}, err
	}
	if proved.Inclusion != nil {
		data.Entry = proved.Inclusion.Position
		data.Size = proved.Inclusion.Size
	}
	return page{name: "pack", title: "Pack", data: data}, nil
}

// makeDebugPage is the page of how a pack came about.
func makeDebugPage(v view) (page, error) {
	p, err := openPack(v, v.PathValue("pack"))
	if err != nil {
		return page{}, err
	}
	data := struct {
		packView
		Retrievers []retriever
		Weights    []signal
		Stages     []signal
	}{packView: viewOf(p, v.who), Stages: listSignals(p.Explainability.Timings.Stages)}
	if p.Pack.Ranking != nil {
		data.Weights = listSignals(p.Pack.Ranking.Weights)
	}
	data.Retrievers = listRetrievers(data.Cards)
	return page{name: "debug", title: "How the pack came about", data: data}, nil
}

// retriever is what one retriever found of what is shown, best first.
type retriever struct {
	Name  string
	Found []found
}

// found is an item in the list of a retriever.
type found struct {
	schemas.Channel
	N  int
	ID string
}

func listRetrievers(cards []card) []retriever {
	byName := map[string][]found{}
	for i := range cards {
		for _, ch := range cards[i].Channels {
			if ch.Rank > 0 {
				byName[ch.Name] = append(byName[ch.Name], found{ch.Channel, cards[i].N, cards[i].ID})
			}
		}
	}
	var list []retriever
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		slices.SortFunc(byName[name], func(a, b found) int { return cmp.Compare(a.Rank, b.Rank) })
		list = append(list, retriever{name, byName[name]})
	}
	return list
}

func viewOf(p *schemas.ResultPayload, who Identity) packView {
	out := packView{ResultPayload: p, Mine: p.Pack.Principal == who.Principal}
	said := map[string]schemas.ResultMetadata{}
	for i := range p.Results {
		said[p.Results[i].ID] = p.Results[i].Metadata
	}
	for _, section := range p.Pack.Sections {
		for i := range section.Items {
			item := section.Items[i]
			one := card{N: len(out.Cards) + 1, Section: section.Type, ContextItem: item, Meta: said[item.ID],
				Signals: listSignals(item.Evidence.Signals)}
			for _, name := range slices.Sorted(maps.Keys(item.Evidence.Channels)) {
				one.Channels = append(one.Channels, channel{name, item.Evidence.Channels[name]})
			}
			out.Cards = append(out.Cards, one)
		}
	}
	out.Parts = partsOf(p.Text, len(out.Cards))
	out.Left = leftOuts(p.Drop.Drops)
	return out
}

func listSignals(values map[string]float64) []signal {
	var list []signal
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, signal{name, values[name]})
	}
	return list
}

var reference = regexp.MustCompile(`\[[0-9]{1,4}\]`)

// partsOf splits a text where it refers to one of n cards.
func partsOf(text string, n int) []part {
	var parts []part
	for {
		at := reference.FindStringIndex(text)
		if at == nil {
			return append(parts, part{Text: text})
		}
		number, _ := strconv.Atoi(text[at[0]+1 : at[1]-1]) // digits
		parts = append(parts, part{Text: text[:at[0]]})
		if number > n {
			number = 0
		}
		parts = append(parts, part{Text: text[at[0]:at[1]], N: number})
		text = text[at[1]:]
	}
}

// leftOuts groups drops by reason, best first.
func leftOuts(drops []schemas.Drop) []leftOut {
	byReason := map[schemas.DropReason][]schemas.Drop{}
	for i := range drops {
		byReason[drops[i].Reason] = append(byReason[drops[i].Reason], drops[i])
	}
	var list []leftOut
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		slices.SortStableFunc(byReason[reason], func(a, b schemas.Drop) int { return cmp.Compare(b.Score, a.Score) })
		changes := slices.ContainsFunc(byReason[reason], func(d schemas.Drop) bool { return d.Change != "" })
		list = append(list, leftOut{reason, byReason[reason], changes})
	}
	return list
}

// makeExplainPage is the page of why an item is, or is not, in a pack.
func makeExplainPage(v view) (page, error) {
	if _, err := openPack(v, v.PathValue("pack")); err != nil {
		return page{}, err
	}
	return makeExplainedPage(v, "")
}

// readItem is the same page with an item that the pack left out, as policy shows it now.
func readItem(v view) (page, error) {
	id := v.PathValue("pack")
	if _, err := openPack(v, id); err != nil {
		return page{}, err
	}
	reply, err := v.client.Recover(v.Context(), id, []string{v.PathValue("id")})
	if err != nil {
		return page{}, err
	}
	if len(reply.Results) == 0 {
		return page{}, newRefusal(schemas.CodeNotFound, "the item has changed, or there is none that you may see")
	}
	return makeExplainedPage(v, reply.Results[0].Quoted())
}

func makeExplainedPage(v view, text string) (page, error) {
	id := v.PathValue("pack")
	item := v.PathValue("id")
	reply, err := v.client.Explain(v.Context(), id, item)
	if err != nil {
		return page{}, err
	}
	var values []signal
	switch {
	case reply.Item != nil:
		values = listSignals(reply.Item.Evidence.Signals)
	case reply.Drop != nil:
		values = listSignals(reply.Drop.Signals)
	}
	return page{name: "explain", title: "Why", data: struct {
		schemas.ExplainReply
		Pack, ID, Text string
		Signals        []signal
	}{reply, id, item, text, values}}, nil
}

// change is an item in two packs: its number and tokens in each, 0 where it is not.
type change struct {
	ID               string
	A, B             int
	TokensA, TokensB int
	Redacted         bool // is redacted otherwise
	Why              string
}

// Kind says what became of the item.
func (c change) Kind() string {
	switch {
	case c.A == 0:
		return "entered"
	case c.B == 0:
		return "left"
	case c.A != c.B:
		return "moved"
	}
	return "stayed"
}

// makeDiffPage is the page of what differs between two packs.
func makeDiffPage(v view) (page, error) {
	ids := [2]string{strings.TrimSpace(v.URL.Query().Get("a")), strings.TrimSpace(v.URL.Query().Get("b"))}
	data := struct {
		IDs     [2]string
		Packs   [2]*schemas.ResultPayload
		Changes []change
	}{IDs: ids}
	if ids[0] == "" || ids[1] == "" {
		return page{name: "diff", title: "Diff", data: data}, nil
	}
	for i, id := range ids {
		p, err := openPack(v, id)
		if err != nil {
			return page{}, err
		}
		data.Packs[i] = p
	}
	data.Changes = listChanges(data.Packs[0], data.Packs[1])
	return page{name: "diff", title: "Diff", data: data}, nil
}

// listChanges lists the items of both packs in the order of the second, then what left.
func listChanges(a, b *schemas.ResultPayload) []change {
	before := viewOf(a, Identity{}).Cards
	after := viewOf(b, Identity{}).Cards
	at := func(list []card, id string) *card {
		if i := slices.IndexFunc(list, func(c card) bool { return c.ID == id }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	why := func(p *schemas.ResultPayload, id string) string {
		for i := range p.Drop.Drops {
			if p.Drop.Drops[i].ItemID == id {
				return p.Drop.Drops[i].Reason.Sentence()
			}
		}
		return "it was not a candidate"
	}
	var list []change
	for i := range after {
		one := change{ID: after[i].ID, B: after[i].N, TokensB: after[i].Tokens}
		if old := at(before, one.ID); old != nil {
			one.A, one.TokensA, one.Redacted = old.N, old.Tokens, !slices.Equal(old.Redactions, after[i].Redactions)
		} else {
			one.Why = "not in A: " + why(a, one.ID)
		}
		list = append(list, one)
	}
	for i := range before {
		if old := &before[i]; at(after, old.ID) == nil {
			list = append(list, change{ID: old.ID, A: old.N, TokensA: old.Tokens, Why: "not in B: " + why(b, old.ID)})
		}
	}
	return list
}
