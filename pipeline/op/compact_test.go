package op_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/pipeline/token"
	"satchel/schemas"
	"satchel/test/parts"
)

// minutes are long notes of a session, one of them confidential, one with a flagged field.
func minutes() []schemas.MemoryItem {
	var out []schemas.MemoryItem
	for i := range 24 {
		var b strings.Builder
		for n := range 14 {
			fmt.Fprintf(&b, "Point %d of meeting %d was about the weather, the coffee and the chairs. ", n, i)
		}
		fmt.Fprintf(&b, "Then Ana said that lantern number %d hangs at gate %d. Nobody objected to it.", i, i*7)
		m := memory(fmt.Sprintf("m%02d", i), "level:public", "Ana", b.String())
		m.CreatedAt = day.Add(time.Duration(i-48) * time.Hour)
		out = append(out, m)
	}
	out[3].SecurityLabel = []string{"level:confidential"}
	out[5].Content = schemas.JSONContent(json.RawMessage(fmt.Sprintf(`{"note":%q,"phone":"+31 6 5550100"}`, out[5].Content.Text())))
	out[5].PIIFlags = []string{"$.content.phone"}
	return out
}

func compactAsk(mode string, budget int) schemas.ContextRequest {
	req := ask("which gate does lantern number 9 hang at?")
	req.Payload.Compaction, req.Payload.TokenBudget, req.Payload.Fill, req.Payload.UserMessage, req.Payload.Task = mode, budget, true, "", ""
	return req
}

// tiles holds what is shown and dropped of every item against its text.
func tiles(t *testing.T, p *schemas.ContextPack, drops []schemas.Drop, items []schemas.MemoryItem) (parts int) {
	t.Helper()
	texts := map[string]string{}
	for i := range items {
		texts[items[i].ID] = items[i].Content.Text()
	}
	for _, section := range p.Sections {
		for _, item := range section.Items {
			if len(item.Spans) == 0 {
				continue
			}
			parts++
			spans := slices.Clone(item.Spans)
			for _, d := range drops {
				if d.ItemID == item.ID && d.Span != nil {
					spans = append(spans, *d.Span)
				}
			}
			slices.SortFunc(spans, func(a, b schemas.Span) int { return a.Start - b.Start })
			at := 0
			for _, s := range spans {
				if s.Start != at {
					t.Errorf("item %s: bytes %d to %d are neither shown nor dropped once", item.ID, at, s.Start)
				}
				at = s.End
			}
			if text := texts[item.ID]; text != "" && at != len(text) {
				t.Errorf("item %s: %d of %d bytes are accounted for", item.ID, at, len(text))
			}
		}
	}
	return parts
}

func TestCompactionShowsExtracts(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := minutes()
	w.put(t, "acme", list...)
	ctx, s := context.Background(), as(t, "acme", schemas.Internal)
	off, err := w.engine.Context(ctx, s, compactAsk("off", 900))
	must(t, err)
	silent, err := w.engine.Context(ctx, s, compactAsk("", 900))
	must(t, err)
	if off.Payload.Text != silent.Payload.Text || tiles(t, &off.Payload.Pack, off.Payload.Drop.Drops, list) != 0 {
		t.Error("without a setting a pack is compacted")
	}
	auto, err := w.engine.Context(ctx, s, compactAsk("auto", 900))
	must(t, err)
	p := &auto.Payload
	if p.Pack.TokenActual > 900 || w.tokens.Count(p.Text) > 900 {
		t.Errorf("%d tokens, %d counted", p.Pack.TokenActual, w.tokens.Count(p.Text))
	}
	if n := tiles(t, &p.Pack, p.Drop.Drops, nil); n == 0 || len(p.Results) <= len(off.Payload.Results) {
		t.Errorf("%d items are shown in part, %d in all, %d without compaction", n, len(p.Results), len(off.Payload.Results))
	}
	if !strings.Contains(p.Text, "lantern number 9 hangs at gate 63") {
		t.Errorf("what is asked for is not shown:\n%s", p.Text)
	}
	if strings.Contains(p.Text, "5550100") || slices.Contains(ids(&auto), "m03") {
		t.Error("what policy hides is shown")
	}
	if !strings.Contains(p.Drop.Reason, "an extract stands for the whole") {
		t.Errorf("reason is %q", p.Drop.Reason)
	}
	again, err := w.engine.Context(ctx, s, compactAsk("auto", 900))
	must(t, err)
	if again.Payload.Text != p.Text {
		t.Error("the same request gives another text")
	}
	small, err := w.engine.Context(ctx, s, compactAsk("auto", 100_000))
	must(t, err)
	if tiles(t, &small.Payload.Pack, small.Payload.Drop.Drops, list) != 0 {
		t.Error("extracts are shown where everything fits")
	}
}

// Where no item fits in the rest of the budget, an extract of the next one does, with the sentence that answers.
func TestRestOfBudgetIsFilled(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	var list []schemas.MemoryItem
	for i := range 12 {
		var b strings.Builder
		for j := range 9 {
			fmt.Fprintf(&b, "Crew %d dusted shelf %d of the attic. ", i, j)
		}
		fmt.Fprintf(&b, "Then lantern number %d was hung at gate %d.", i, i*7)
		list = append(list, memory(fmt.Sprintf("m%02d", i), "level:public", "Ana", b.String()))
	}
	w.put(t, "acme", list...)
	for budget := 300; budget <= 900; budget += 60 {
		asking := func(mode string) (schemas.ResultPayload, int) {
			req := compactAsk(mode, budget)
			req.Payload.Query.Text = "which lantern was hung at which gate?"
			res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), req)
			must(t, err)
			return res.Payload, tiles(t, &res.Payload.Pack, res.Payload.Drop.Drops, list)
		}
		off, _ := asking("off")
		auto, parts := asking("auto")
		if rest := budget - off.Pack.TokenActual; rest < 50 {
			continue
		}
		last := auto.Pack.TokenActual
		if last <= off.Pack.TokenActual || last > budget || parts != 1 || len(auto.Results) != len(off.Results)+1 ||
			strings.Count(auto.Text, "was hung at gate") != len(auto.Results) {
			t.Errorf("of %d tokens %d, %d without an extract; %d items in part\n%s", budget, last, off.Pack.TokenActual, parts, auto.Text)
		}
	}
}

func TestToolOutputIsCompactedAtOnce(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "2026-03-03T10:%02d:%02dZ INFO lantern %d lit\n", i/60, i%60, i)
	}
	b.WriteString("2026-03-03T11:00:00Z ERROR lantern 9 went out\n")
	out := memory("tool-1", "level:public", "", b.String())
	out.Role, out.CreatedAt = "tool", day.Add(-time.Minute)
	w.put(t, "acme", memory("a1", "level:public", "Ana", "Please light the lanterns."), out)
	req := compactAsk("auto", 50_000)
	req.Payload.Session = "s1"
	ctx, s := context.Background(), as(t, "acme", schemas.Internal)
	res, err := w.engine.Context(ctx, s, req)
	must(t, err)
	if !strings.Contains(res.Payload.Text, "300 lines like: {2026-03-03T10:00:00Z} INFO lantern {0} lit") || !strings.Contains(res.Payload.Text, "ERROR lantern 9 went out") || res.Payload.Pack.TokenActual > 600 {
		t.Errorf("%d tokens:\n%.600s", res.Payload.Pack.TokenActual, res.Payload.Text)
	}
	later := memory("a2", "level:public", "Ana", "Thanks, lantern 9 gives enough light.")
	later.CreatedAt = day
	w.put(t, "acme", later)
	res, err = w.engine.Context(ctx, s, req)
	must(t, err)
	if strings.Contains(res.Payload.Text, "300 lines like") {
		t.Error("the output of an older call is shown in part where there is room for the whole")
	}
}

// liar is a tokenizer that counts a text as no other liar does.
type liar struct{ id int64 }

func (l liar) Name() string { return fmt.Sprint("liar", l.id) }

func (l liar) Count(text string) int { return len(text)/6 + int(l.id) }

func TestMismatchBlocksTheReply(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	w := openWorld(t, func(c *op.Config) {
		c.Tokens = func(string) token.Counter { return liar{n.Add(1)} }
	})
	w.put(t, "acme", minutes()...)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), compactAsk("auto", 900))
	var e *schemas.Error
	if !errors.As(err, &e) || e.Code != schemas.CodeCompaction || res.Payload.Text != "" {
		t.Fatalf("got %q and error %v, want compaction_error and nothing", res.Payload.Text, err)
	}
	sys, err := scope.System("acme")
	must(t, err)
	entries, err := w.log.BySubject(context.Background(), sys, "req-1")
	must(t, err)
	if len(entries) != 1 || entries[0].Type != schemas.TypeRequestRefused || !strings.Contains(string(entries[0].Data), "compaction_error") {
		t.Errorf("the log has %d entries of the request", len(entries))
	}
}

func TestCompactAndRecover(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := minutes()
	w.put(t, "acme", list...)
	ctx, s := context.Background(), as(t, "acme", schemas.Internal)
	pack, err := w.engine.Context(ctx, s, compactAsk("off", 6000))
	must(t, err)
	out, err := w.engine.Compact(ctx, s, schemas.CompactRequest{PackID: pack.Payload.PackID, Query: "which gate does lantern 9 hang at?", Budget: 1500}, &pack)
	must(t, err)
	if out.Compacted.TokenActual > 1500 || w.tokens.Count(out.Text) != out.Compacted.TokenActual {
		t.Errorf("%d tokens of 1500, %d counted", out.Compacted.TokenActual, w.tokens.Count(out.Text))
	}
	if n := tiles(t, &out.Compacted, out.Drop.Drops, nil); n == 0 {
		t.Error("nothing is shown in part")
	}
	levels := map[schemas.SummaryLevel]int{}
	for _, x := range out.Summaries {
		levels[x.Level]++
		if x.Position == 0 || slices.Contains(x.Links, "m05") || slices.Contains(x.Links, "m03") {
			t.Errorf("summary %s at %d is of %v", x.ID, x.Position, x.Links)
		}
	}
	if levels[schemas.SummaryOfItem] == 0 || levels[schemas.SummaryOfCluster] == 0 || levels[schemas.SummaryOfSession] != 1 {
		t.Errorf("levels are %v", levels)
	}
	checkSummaries(t, w, &out)
	again, err := w.engine.Compact(ctx, s, schemas.CompactRequest{PackID: pack.Payload.PackID, Query: "which gate does lantern 9 hang at?", Budget: 1500}, &pack)
	must(t, err)
	if len(again.Summaries) != len(out.Summaries) || again.Summaries[0].Position != out.Summaries[0].Position {
		t.Error("the same compaction keeps its summaries twice")
	}
	recoverSome(t, w, s, &out, list)
}

// checkSummaries reads the summaries back from the log and follows the citations down.
func checkSummaries(t *testing.T, w *world, out *schemas.CompactReply) {
	t.Helper()
	sys, err := scope.System("acme")
	must(t, err)
	for _, x := range out.Summaries {
		entry, err := w.log.Entry(context.Background(), sys, x.Position)
		must(t, err)
		item, issues := schemas.DecodeMemoryItem(entry.Data)
		if len(issues) > 0 || item.ID != x.ID || item.Kind != schemas.KindSummary || entry.Subject != x.ID || item.SecurityLabel[0] != "level:public" {
			t.Errorf("entry of %s: %v, labels %v", x.ID, issues, item.SecurityLabel)
		}
		a, err := item.Summarised()
		must(t, err)
		if a.Level != x.Level || a.Method != "extractive" || len(a.Lines) != len(x.Lines) {
			t.Errorf("attributes of %s are %+v", x.ID, a)
		}
		var links []string
		for _, l := range item.Links {
			links = append(links, l.To)
		}
		slices.Sort(links)
		if diff := cmp.Diff(madeOf(x.ID, out.Summaries), links); diff != "" {
			t.Errorf("%s links to what it cites and to every item below (-want +got):\n%s", x.ID, diff)
		}
	}
}

// madeOf returns the ids that a summary cites, and the items at the end of its citations, sorted.
func madeOf(id string, summaries []schemas.SummaryInfo) []string {
	at := slices.IndexFunc(summaries, func(s schemas.SummaryInfo) bool { return s.ID == id })
	if at < 0 {
		return nil
	}
	all := slices.Clone(summaries[at].Links)
	for _, l := range summaries[at].Links {
		for _, below := range madeOf(l, summaries) {
			if !strings.HasPrefix(below, "summary-") {
				all = append(all, below)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func recoverSome(t *testing.T, w *world, s scope.Scope, out *schemas.CompactReply, list []schemas.MemoryItem) {
	t.Helper()
	ctx := context.Background()
	stored := schemas.ContextResult{Payload: schemas.ResultPayload{Pack: out.Compacted, Drop: out.Drop}}
	stored.Payload.Pack.AsOf = w.at["acme"]
	var part *schemas.Drop
	for i := range out.Drop.Drops {
		if d := &out.Drop.Drops[i]; d.Span != nil && d.ItemID != "m05" {
			part = d
		}
	}
	if part == nil {
		t.Fatal("no span was dropped")
	}
	got, err := w.engine.Recover(ctx, s, schemas.RecoverRequest{PackID: "p", Spans: []schemas.SpanRef{{ItemID: part.ItemID, Span: *part.Span}}}, &stored)
	must(t, err)
	at := slices.IndexFunc(list, func(m schemas.MemoryItem) bool { return m.ID == part.ItemID })
	want := list[at].Content.Text()[part.Span.Start:part.Span.End]
	if len(got.Results) != 1 || !strings.Contains(got.Results[0].Content.Text(), want) || got.PackID == "" || got.Positions.Pack == 0 {
		t.Errorf("span %v of %s: got %+v", *part.Span, part.ItemID, got)
	}
	whole, err := w.engine.Recover(ctx, s, schemas.RecoverRequest{PackID: "p", ItemIDs: []string{part.ItemID, "never", "m03"}}, &stored)
	must(t, err)
	if len(whole.Results) != 1 || whole.Results[0].Content.Text() != list[at].Content.Text() || !slices.Equal(whole.Missing, []string{"never", "m03"}) {
		t.Errorf("whole: %d results, missing %v", len(whole.Results), whole.Missing)
	}
	twin := list[at]
	twin.ID = "twin"
	w.put(t, "acme", twin)
	both := stored
	both.Payload.Pack.AsOf = 0
	both.Payload.Drop.Drops = append(slices.Clone(both.Payload.Drop.Drops), schemas.Drop{ItemID: "twin", Reason: schemas.DropDuplicate})
	pair, err := w.engine.Recover(ctx, s, schemas.RecoverRequest{PackID: "p", ItemIDs: []string{part.ItemID, "twin"}}, &both)
	must(t, err)
	if len(pair.Results) != 2 || len(pair.Missing) != 0 {
		t.Errorf("an item and its duplicate: %d results, missing %v", len(pair.Results), pair.Missing)
	}
	nobody := as(t, "acme", schemas.Public)
	stored.Payload.Drop.Drops = append(stored.Payload.Drop.Drops, schemas.Drop{ItemID: "m03", Reason: schemas.DropBudget})
	denied, err := w.engine.Recover(ctx, nobody, schemas.RecoverRequest{PackID: "p", ItemIDs: []string{"m03"}}, &stored)
	must(t, err)
	if len(denied.Results) != 0 || !slices.Equal(denied.Missing, []string{"m03"}) {
		t.Errorf("what is denied comes back: %+v", denied)
	}
	changed := list[at]
	changed.Content = schemas.TextContent("It was rewritten.")
	w.put(t, "acme", changed)
	gone, err := w.engine.Recover(ctx, s, schemas.RecoverRequest{PackID: "p", ItemIDs: []string{part.ItemID}}, &stored)
	must(t, err)
	if len(gone.Results) != 0 {
		t.Error("an item that has changed since comes back as what was dropped")
	}
}

// TestCompactKeepsNoCopies compacts what fits, and what does not: memory holds no summary
// that saves nothing or repeats an item, and later packs show no line twice.
func TestCompactKeepsNoCopies(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	ctx, s := context.Background(), as(t, "acme", schemas.Internal)
	w.put(t, "acme", memory("a1", "level:public", "", "The lantern hangs at gate 7."), memory("a2", "level:public", "", "Lunch is at one."))
	out, err := w.engine.Compact(ctx, s, schemas.CompactRequest{Session: "s1", Budget: 100}, nil)
	must(t, err)
	if len(out.Summaries) != 0 || out.Drop.TokenSavings != 0 {
		t.Errorf("%d tokens saved, kept %+v", out.Drop.TokenSavings, out.Summaries)
	}
	out, err = w.engine.Compact(ctx, s, schemas.CompactRequest{Session: "s1", Budget: 30}, nil)
	must(t, err)
	for _, x := range out.Summaries {
		if x.Level != schemas.SummaryOfItem && len(x.Links) < 2 {
			t.Errorf("a summary repeats one short item: %+v", x)
		}
	}
}

// TestASummaryBesideItsSources has one that says what its sources say, which are all
// shown: it is their duplicate, whichever ranks higher, and never the other way round.
func TestASummaryBesideItsSources(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	of := memory("sum", "level:public", "", "Ana: Lantern number 9 hangs at gate 63.\nLunch is at one in the great hall.")
	of.Kind, of.Links = schemas.KindSummary, []schemas.Link{{Rel: schemas.RelDerivedFrom, To: "a1"}, {Rel: schemas.RelDerivedFrom, To: "a2"}}
	copied := memory("copy", "level:public", "", "Lunch is at one in the great hall.")
	copied.Kind, copied.Links = schemas.KindSummary, []schemas.Link{{Rel: schemas.RelDerivedFrom, To: "a2"}}
	w.put(t, "acme", memory("a1", "level:public", "Ana", "Lantern number 9 hangs at gate 63."), memory("a2", "level:public", "", "Lunch is at one in the great hall."), of, copied)
	ctx, s := context.Background(), as(t, "acme", schemas.Internal)
	for _, mode := range []string{"off", "auto"} {
		res, err := w.engine.Context(ctx, s, compactAsk(mode, 2000))
		must(t, err)
		if got := ids(&res); slices.Contains(got, "sum") || slices.Contains(got, "copy") || !slices.Contains(got, "a1") || !slices.Contains(got, "a2") {
			t.Errorf("%s: the pack shows %v", mode, got)
		}
		if n := strings.Count(res.Payload.Text, "hangs at gate 63"); n > 2 { // the item and the TL;DR
			t.Errorf("%s: the line stands %d times:\n%s", mode, n, res.Payload.Text)
		}
		for _, d := range res.Payload.Drop.Drops {
			if d.ItemID == "sum" && d.Reason != schemas.DropDuplicate {
				t.Errorf("%s: the summary is dropped for %s", mode, d.Reason)
			}
		}
	}
}

func TestCompactSession(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := minutes()
	w.put(t, "acme", list...)
	ctx := context.Background()
	out, err := w.engine.Compact(ctx, as(t, "acme", schemas.Internal), schemas.CompactRequest{Session: "s1", Query: "lantern number 9", Budget: 600}, nil)
	must(t, err)
	if len(out.Results) == 0 || len(out.Results)+len(out.Drop.DroppedItemIDs)+out.Drop.Denied["clearance"] > len(list) || out.Compacted.TokenActual > 600 {
		t.Errorf("%d shown, %d dropped, %v denied", len(out.Results), len(out.Drop.DroppedItemIDs), out.Drop.Denied)
	}
	if !strings.Contains(out.Text, "lantern number 9 hangs at gate 63") {
		t.Errorf("what is asked for is not shown:\n%s", out.Text)
	}
	for name, req := range map[string]schemas.CompactRequest{
		"nothing":    {Budget: 100},
		"no budget":  {Session: "s1"},
		"bad budget": {Session: "s1", Budget: -1},
		"both":       {Session: "s1", PackID: "p", Budget: 100},
	} {
		var e *schemas.Error
		if _, err := w.engine.Compact(ctx, as(t, "acme", schemas.Internal), req, nil); !errors.As(err, &e) || e.Code != schemas.CodeValidation {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	empty, err := w.engine.Compact(ctx, as(t, "acme", schemas.Internal), schemas.CompactRequest{Session: "elsewhere", Budget: 100}, nil)
	must(t, err)
	if len(empty.Results) != 0 || len(empty.Summaries) != 0 {
		t.Errorf("an empty session gives %+v", empty)
	}
}

// A summary cites nothing that an obligation changed: another principal may see more of it.
func TestSummariesCiteNothingThatIsMasked(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.PDP = obliges{c.PDP} })
	list := minutes()
	for i := range list {
		if i%2 == 0 {
			list[i].Content = schemas.TextContent(list[i].Content.Text() + " Write to bob@example.org about it.")
		}
	}
	w.put(t, "acme", list...)
	out, err := w.engine.Compact(context.Background(), as(t, "acme", schemas.Internal), schemas.CompactRequest{Session: "s1", Budget: 600}, nil)
	must(t, err)
	cited := 0
	for _, x := range out.Summaries {
		if x.Level != schemas.SummaryOfItem {
			continue
		}
		for _, id := range x.Links {
			cited++
			at := slices.IndexFunc(list, func(m schemas.MemoryItem) bool { return m.ID == id })
			if at%2 == 0 {
				t.Errorf("a summary is of %s, which is masked:\n%s", id, x.Text)
			}
		}
	}
	if cited == 0 {
		t.Error("no summary cites an item")
	}
}

// Of a session with too much text the newest items are compacted, and the reply says so.
func TestCompactALongSession(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w := openWorld(t, nil)
	long := strings.Repeat("The kiln by the meadow was fired with beech wood. ", 14<<10)
	n := 16<<20/len(long) + 3
	for i := range n {
		m := memory(fmt.Sprintf("m%02d", i), "level:internal", "", fmt.Sprint("Lantern ", i, " hangs at the gate. ", long))
		m.CreatedAt = day.Add(time.Duration(i) * time.Minute)
		w.put(t, "acme", m)
	}
	out, err := w.engine.Compact(t.Context(), as(t, "acme", schemas.Internal), schemas.CompactRequest{Session: "s1", Query: "lantern", Budget: 600}, nil)
	must(t, err)
	of := map[string]bool{}
	for i := range out.Results {
		of[out.Results[i].ID] = true
	}
	for _, id := range out.Drop.DroppedItemIDs {
		of[id] = true
	}
	if of["m00"] || !of[fmt.Sprintf("m%02d", n-1)] || !strings.Contains(fmt.Sprint(out.Warnings), "newest items alone") {
		t.Errorf("of %d items are read: %v; %q", n, of, out.Warnings)
	}
}
