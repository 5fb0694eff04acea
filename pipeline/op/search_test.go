package op_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/op"
	"satchel/schemas"
)

func found(r []schemas.SearchResult) []string {
	ids := []string{}
	for _, x := range r {
		ids = append(ids, x.Memory.ID)
	}
	return ids
}

// library has memories that differ in what the options of a search look at.
func library(t testing.TB, change func(*op.Config)) *world {
	t.Helper()
	w := openWorld(t, func(c *op.Config) {
		c.Clock, c.Defend.OffTopic = func() time.Time { return day }, -1
		if change != nil {
			change(c)
		}
	})
	one := func(id, session, category string, days int, confidence float64, text string, links ...schemas.Link) schemas.MemoryItem {
		m := item(schemas.KindMemory, id, text, nil)
		m.Session, m.Category, m.CreatedAt, m.Confidence, m.Links = session, category, day.AddDate(0, 0, -days), &confidence, links
		return m
	}
	hidden := one("h", "s1", "fact", 1, 1, "The harbour crane password is tuna.")
	hidden.SecurityLabel = []string{"level:restricted"}
	w.learn(t, "acme", hidden,
		one("a", "s1", "fact", 1, .5, "The harbour crane lifts ten tons."),
		one("b", "s1", "decision", 30, .9, "We decided to paint the harbour crane red.", schemas.Link{Rel: schemas.RelCausedBy, To: "c"}, schemas.Link{Rel: schemas.RelMentions, To: "h"}),
		one("c", "s2", "fact", 300, 1, "Rust was found below the paint.", schemas.Link{Rel: schemas.RelCausedBy, To: "d"}),
		one("d", "s2", "fact", 400, 1, "A storm came in November."),
		one("e", "s3", "fact", 2, .2, "The library opens at nine."),
	)
	return w
}

func TestSearchOptions(t *testing.T) {
	t.Parallel()
	w := library(t, nil)
	ctx := context.Background()
	s := as(t, "acme", schemas.Internal)
	half := .5
	for name, c := range map[string]struct {
		req  schemas.SearchRequest
		want []string // all of these and no other, in any order
	}{
		"types":        {schemas.SearchRequest{MemoryTypes: []string{"decision"}}, []string{"b"}},
		"kind":         {schemas.SearchRequest{MemoryTypes: []string{"code"}}, []string{}},
		"mixed":        {schemas.SearchRequest{MemoryTypes: []string{"decision", "code"}}, []string{"b"}},
		"dates":        {schemas.SearchRequest{DateFrom: day.AddDate(0, 0, -30), DateTo: day.AddDate(0, 0, -2)}, []string{"b"}},
		"confidence":   {schemas.SearchRequest{MinConfidence: &half}, []string{"a", "b", "c", "d"}},
		"conversation": {schemas.SearchRequest{ConversationID: "s1"}, []string{"a", "b"}},
	} {
		c.req.Query = "harbour crane"
		out, err := w.engine.Search(ctx, s, c.req)
		must(t, err)
		got := found(out.Results)
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	out, err := w.engine.Search(ctx, s, schemas.SearchRequest{Query: "harbour crane", Limit: 2})
	must(t, err)
	if len(out.Results) != 2 || out.Results[0].Rank != 1 || out.Results[0].Score < out.Results[1].Score || out.Results[0].Score > 1 {
		t.Errorf("limit 2: %+v", out.Results)
	}
	all, err := w.engine.Search(ctx, s, schemas.SearchRequest{Query: "harbour crane"})
	must(t, err)
	least := all.Results[1].Score - 1e-4 // scores are rounded
	out, err = w.engine.Search(ctx, s, schemas.SearchRequest{Query: "harbour crane", MinScore: &least})
	must(t, err)
	if len(all.Results) < 3 || len(out.Results) < 2 || len(out.Results) == len(all.Results) || out.Results[len(out.Results)-1].Score < least {
		t.Errorf("min_score %v: %v of %v", least, found(out.Results), found(all.Results))
	}
	v, err := w.embed.Embed(ctx, []string{"crane at the harbour"})
	must(t, err)
	out, err = w.engine.SearchByVector(ctx, s, v[0], schemas.SearchRequest{Limit: 2})
	must(t, err)
	if got := found(out.Results); len(got) != 2 || !slices.Contains(got, "a") {
		t.Errorf("by vector: %v", got)
	}
}

func TestSearchFindsARareDay(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := publicCorpus(1500, 5)
	old := list[700]
	w.put(t, "acme", list...)
	out, err := w.engine.Search(context.Background(), as(t, "acme", schemas.Internal), schemas.SearchRequest{
		Query: "violin umbrella market", Limit: 3, DateFrom: old.CreatedAt, DateTo: old.CreatedAt.Add(3 * time.Hour),
	})
	must(t, err)
	got := found(out.Results)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"m-000700", "m-000701", "m-000702"}, got); diff != "" {
		t.Error(diff)
	}
}

// What an item that the principal may not see links to takes nothing from what it may see, and so is not told by it.
func TestRelationshipsDoNotTellOfHiddenLinks(t *testing.T) {
	t.Parallel()
	item := func(id, text string, labels []string, to ...string) schemas.MemoryItem {
		m := schemas.MemoryItem{ID: id, Kind: schemas.KindMemory, Type: schemas.Episodic, Content: schemas.TextContent(text), SecurityLabel: labels,
			CreatedAt: time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)}
		m.Scope.Tenant = "acme"
		for _, id := range to {
			m.Links = append(m.Links, schemas.Link{Rel: schemas.RelCausedBy, To: id})
		}
		return m
	}
	public := []string{"level:public"}
	var want map[string]int // where it links to nothing
	for _, secret := range [][]string{{}, {"case1"}, {"case0", "case2"}, {"case0", "case1", "case2"}} {
		w := openWorld(t, nil)
		for i := range 3 {
			id := fmt.Sprint("case", i)
			w.put(t, "acme", item(id, "An open file of the pump.", public), item("q"+id, "zq "+id, public, id))
		}
		w.put(t, "acme", item("hidden", "Anna was dismissed.", []string{"level:public", "pii:name"}, secret...))
		w.put(t, "acme", item("start", "quokka sentinel", public, "qcase0", "qcase1", "qcase2", "hidden"))
		out, err := w.engine.Search(context.Background(), as(t, "acme", schemas.Internal), schemas.SearchRequest{Query: "quokka sentinel", Limit: 1, IncludeRelationships: true, RelationshipDepth: 2})
		must(t, err)
		got := map[string]int{}
		for _, r := range out.Results[0].Relationships {
			got[r.Memory.ID] = r.Depth
		}
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || got["qcase0"] != 1 {
			t.Errorf("the hidden item links to %v: %s", secret, diff)
		}
	}
}

func TestSearchFollowsRelationships(t *testing.T) {
	t.Parallel()
	w := library(t, nil)
	ctx := context.Background()
	s := as(t, "acme", schemas.Internal)
	related := func(depth int) map[string]int {
		out, err := w.engine.Search(ctx, s, schemas.SearchRequest{Query: "decided to paint it red", Limit: 1, IncludeRelationships: true, RelationshipDepth: depth})
		must(t, err)
		if len(out.Results) != 1 || out.Results[0].Memory.ID != "b" {
			t.Fatalf("found %v", found(out.Results))
		}
		got := map[string]int{}
		for _, r := range out.Results[0].Relationships {
			got[r.Memory.ID] = r.Depth
			if r.Memory.Content.Text() == "" || r.Relationship.Rel == "" {
				t.Errorf("relationship %+v", r)
			}
		}
		return got
	}
	if diff := cmp.Diff(map[string]int{"c": 1}, related(0)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"c": 1, "d": 2}, related(2)); diff != "" {
		t.Error(diff)
	}
	built, err := w.engine.Build(ctx, s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{
		Query: "decided to paint it red", Limit: 1, IncludeRelationships: true,
	}})
	must(t, err)
	if !strings.Contains(built.Context, "Rust was found") || strings.Contains(built.Context, "tuna") {
		t.Errorf("built with relationships:\n%s", built.Context)
	}
}
