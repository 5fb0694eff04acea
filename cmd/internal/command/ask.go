package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/pack"
	"satchel/schemas"
)

// Ask is satchel ask.
type Ask struct {
	Question []string `arg:"" help:"What you want to know."`
	PrincipalFlags
	Budget  int      `help:"Tokens of the rendered pack." default:"2000"`
	Limit   int      `help:"Items at most." default:"0"`
	Fill    bool     `help:"Take the whole budget. Without it the pack ends where more is worth too little for its tokens."`
	AsOf    Moment   `help:"Only what had been recorded by this position of the log, this date or this time." placeholder:"WHEN"`
	Session string   `help:"Session of the asker."`
	Repeat  string   `help:"What the session has just seen is one line; full shows it whole, stable also where it stood." enum:",full,stable" default:""`
	Prefer  string   `help:"Where the answer should stand, if you can tell: docs, code or history." enum:",docs,code,history" default:""`
	Type    string   `help:"keyword, semantic, graph or hybrid." default:"hybrid" enum:"keyword,semantic,graph,hybrid"`
	Hops    int      `help:"Follow links this many hops, 1 to 3; 0 is 2." default:"0"`
	Rel     []string `help:"Follow these links only: caused_by, supersedes, mentions, part_of, follows, derived_from."`
	Explain bool     `help:"Show scores, signals and drops."`
	Text    bool     `help:"Print the rendered pack alone."`
	Graph   string   `help:"Print the causal graph of what is shown alone, as mermaid or dot." enum:",mermaid,dot" default:""`

	Profile string             `help:"Ranking profile: default, seed, balanced, recent, trusted, causal or one of the settings."`
	Weight  map[string]float64 `help:"Weights of signals over the profile's, as --weight recency=0.3." placeholder:"SIGNAL=W"`
	EmptyFlag
	FilterFlags
	Score float64 `name:"min-score" help:"Score under which items are left out, 0 to 1; 0 leaves out what does not bear on the question, 0.3 most of what is about something else."`
}

// Moment is a position of the log or a time. The zero Moment is now.
type Moment struct {
	Position int64
	Time     TimeFlag
}

// UnmarshalText reads what a flag says.
func (m *Moment) UnmarshalText(text []byte) (err error) {
	if m.Position, err = strconv.ParseInt(string(text), 10, 64); err == nil && m.Position > 0 {
		return nil
	}
	var at TimeFlag
	if err = at.UnmarshalText(text); err != nil {
		return fmt.Errorf("%w, nor a position of the log, from 1", err)
	}
	m.Time = at
	return nil
}

// Request returns the request that the flags make. tz is the zone of its days.
func (c *Ask) Request(tz string) schemas.ContextRequest {
	zone, _ := schemas.Zone(tz) // Operation refuses what is none
	req := schemas.ContextRequest{Meta: schemas.Meta{Type: schemas.MessageContextRequest,
		From: c.agent()}}
	req.Payload = schemas.RequestPayload{Query: schemas.Query{Type: c.Type, Text: strings.Join(c.Question, " "), Filters: c.filters()},
		Limit: c.Limit, TokenBudget: c.Budget, Fill: c.Fill, IncludeScores: c.Explain, IncludeGraph: c.Graph != "", Purpose: c.Purpose, Session: c.Session, Repeat: c.Repeat, Prefer: schemas.Preference(c.Prefer),
		Profile: c.Profile, Weights: c.Weight, MinScore: c.Score, AsOf: c.AsOf.Position, AsOfTime: c.AsOf.Time.In(zone), TZ: tz}
	if c.Hops > 0 || len(c.Rel) > 0 {
		req.Payload.Query.Graph = &schemas.GraphQuery{Hops: c.Hops}
		for _, r := range c.Rel {
			req.Payload.Query.Graph.Rels = append(req.Payload.Query.Graph.Rels, schemas.Rel(r))
		}
	}
	return req
}

// Run asks and prints the pack with its reasons.
func (c *Ask) Run(ctx context.Context, a *app.App) error {
	var res schemas.ContextResult
	if err := Operation(ctx, a, "request", c.Request(a.TZ), &res); err != nil {
		return err
	}
	var err error
	switch {
	case a.JSON:
		err = PrintJSON(a, res)
	case c.Graph != "":
		_, err = io.WriteString(a.Out, drawn(&res.Payload, c.Graph))
	case c.Text:
		_, err = io.WriteString(exact(a), res.Payload.Text)
	default:
		PrintResult(a.Out, &res.Payload, c.Explain)
	}
	return errors.Join(err, c.check(len(res.Payload.Results)))
}

// drawn is the causal graph of a result, each node with its place and how it begins.
func drawn(p *schemas.ResultPayload, format string) string {
	g := p.Explainability.CausalGraph
	if g == nil {
		g = &schemas.CausalGraph{}
	}
	labels := map[string]string{}
	for i := range p.Results {
		r := &p.Results[i]
		labels[r.ID] = strings.TrimSpace(fmt.Sprintf("[%d] %s", i+1, beginning(r)))
	}
	draw := pack.Mermaid
	if format == "dot" {
		draw = pack.DOT
	}
	return draw(g, func(id string) string { return labels[id] })
}

// PrintResult prints a pack for a person: what is shown, what is not and why, and
// where it stands in the log.
func PrintResult(w io.Writer, p *schemas.ResultPayload, explain bool) {
	fmt.Fprintln(w, strings.TrimRight(p.Text, "\n"))
	fmt.Fprintln(w)
	used := p.Explainability.Slicing.BudgetUsed
	fmt.Fprintf(w, "shown    %s, %d of %d tokens (%s), from %s\n", terminal.Plural(used.Items, "item", "items"), p.Pack.TokenActual, p.Pack.TokenBudget, p.Pack.Tokenizer, strings.Join(p.Sources, ", "))
	hidden := 0
	for i := range p.Results {
		if p.Results[i].Metadata.Redacted {
			hidden++
		}
	}
	if hidden > 0 {
		fmt.Fprintf(w, "redacted parts of %s, which policy hides from this principal\n", terminal.Plural(hidden, "item", "items"))
	}
	if explain {
		PrintScores(w, p)
	}
	PrintDrops(w, p, explain)
	printArtifacts(w, p)
	for _, warning := range p.Explainability.Warnings {
		fmt.Fprintf(w, "warning  %s\n", warning)
	}
	for _, af := range p.Explainability.Affordances {
		fmt.Fprintf(w, "hint     %s (%.2f): %s\n", af.Type, af.Confidence, af.Description)
	}
	fmt.Fprintf(w, "proof    pack %s is entry %d of the log, its decisions entry %d\n", p.PackID, p.Positions.Pack, p.Positions.Decision)
}

// PrintScores prints each shown item with its scores, its signals and what would have
// left it out, best first.
func PrintScores(w io.Writer, p *schemas.ResultPayload) {
	if r := p.Pack.Ranking; r != nil {
		fmt.Fprintf(w, "ranked   by profile %s:", r.Profile)
		for _, name := range slices.Sorted(maps.Keys(r.Weights)) {
			fmt.Fprintf(w, " %s %.3g", name, r.Weights[name])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "scores   best first: what is shown, by its [n] in the text above, then what was left out (-)")
	said := map[string]*schemas.ResultMetadata{}
	for i := range p.Results {
		said[p.Results[i].ID] = &p.Results[i].Metadata
	}
	var shown []*schemas.ContextItem
	place := map[string]int{} // as the text counts them
	for _, section := range p.Pack.Sections {
		for i := range section.Items {
			shown = append(shown, &section.Items[i])
			place[section.Items[i].ID] = len(shown)
		}
	}
	slices.SortStableFunc(shown, func(x, y *schemas.ContextItem) int { return cmp.Compare(y.Score, x.Score) })
	for _, item := range shown {
		fmt.Fprintf(w, "  [%d] %-8s %3d tokens  by %s", place[item.ID], item.ID, item.Tokens, item.Evidence.Retriever)
		for _, name := range slices.Sorted(maps.Keys(item.Evidence.Channels)) {
			if ch := item.Evidence.Channels[name]; ch.Rank > 0 {
				fmt.Fprintf(w, "  %s #%d z %.2f", name, ch.Rank, ch.Z)
			}
		}
		fmt.Fprintln(w)
		printSignals(w, item.Evidence.Signals)
		if m := said[item.ID]; m != nil && m.Explanation != "" {
			fmt.Fprintf(w, "               %s %s\n", m.Explanation, m.Change)
		}
	}
}

func printSignals(w io.Writer, signals map[string]float64) {
	if len(signals) == 0 {
		return
	}
	fmt.Fprint(w, "              ")
	for _, name := range slices.Sorted(maps.Keys(signals)) {
		fmt.Fprintf(w, " %s %.2f", name, signals[name])
	}
	fmt.Fprintln(w)
}

// PrintDrops prints what a pack left out. Of an item that the pack shows in part it says where that is from, or how
// it begins; of the others the result has the ids alone.
func PrintDrops(w io.Writer, p *schemas.ResultPayload, explain bool) {
	d := &p.Drop
	places := shownPlaces(p)
	counts := map[schemas.DropReason][]string{}
	drops := slices.Clone(d.Drops)
	if explain {
		slices.SortStableFunc(drops, func(x, y schemas.Drop) int { return cmp.Compare(y.Score, x.Score) })
	}
	for i := range drops {
		drop := &drops[i]
		name := droppedName(drop)
		if place := places[drop.ItemID]; place != "" {
			name += " (" + place + ")"
		}
		if !slices.Contains(counts[drop.Reason], name) {
			counts[drop.Reason] = append(counts[drop.Reason], name)
		}
		if explain && drop.Explanation != "" {
			fmt.Fprintf(w, "  - %-10s %3d tokens\n", drop.ItemID, drop.Tokens)
			printSignals(w, drop.Signals)
			fmt.Fprintf(w, "               %s %s\n", drop.Explanation, drop.Change)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		ids := counts[reason]
		shown := ids
		if !explain && len(shown) > 4 {
			shown = shown[:4]
		}
		more := ""
		if len(shown) < len(ids) {
			more = fmt.Sprintf(" and %d more", len(ids)-len(shown))
		}
		fmt.Fprintf(w, "left out %s: %s%s\n", reason.Sentence(), strings.Join(shown, ", "), more)
	}
	printDenied(w, d)
}

// printDenied prints how many items policy denied, which the report of an auditor has.
func printDenied(w io.Writer, d *schemas.DropReport) {
	for _, reason := range slices.Sorted(maps.Keys(d.Denied)) {
		fmt.Fprintf(w, "denied   %d by policy: %s\n", d.Denied[reason], strings.ReplaceAll(reason, "_", " "))
	}
}

// shownPlaces says of each item that a result shows where it is from, or how it begins.
func shownPlaces(p *schemas.ResultPayload) map[string]string {
	places := map[string]string{}
	for i := range p.Results {
		places[p.Results[i].ID] = beginning(&p.Results[i])
	}
	for _, section := range p.Pack.Sections {
		for i := range section.Items {
			if where := section.Items[i].Where; where != "" {
				places[section.Items[i].ID] = terminal.Excerpt(where, mostPlace)
			}
		}
	}
	return places
}

// mostPlace is how many characters say where an item is from or how it begins.
const mostPlace = 60

// beginning is how an item begins, "" for one that is to be quoted.
func beginning(r *schemas.ResultItem) string {
	if r.Metadata.Flagged != "" {
		return ""
	}
	return terminal.Excerpt(r.Content.Text(), mostPlace)
}

// droppedName is what satchel dropped takes to bring a drop back.
func droppedName(d *schemas.Drop) string {
	if d.Span == nil {
		return d.ItemID
	}
	return fmt.Sprintf("%s:%d-%d", d.ItemID, d.Span.Start, d.Span.End)
}
