package op_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"satchel/pipeline/op"
	"satchel/pipeline/relevance"
	"satchel/schemas"
)

// A question without a word is near to nothing, and that is the reason.
func TestAQuestionWithoutAWordIsOffTopic(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.Defend.OffTopic = .99 })
	fill(t, w)
	for question, want := range map[string]string{"what is it?": "the question has nothing to search by", "Zeppelins": "nothing that was found fits: off_topic "} {
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), ask(question))
		must(t, err)
		warnings := res.Payload.Explainability.Warnings
		if len(res.Payload.Results) != 0 || len(warnings) == 0 || !strings.Contains(warnings[len(warnings)-1], want) {
			t.Errorf("%s: %v shown, warnings %q, want %q", question, ids(&res), warnings, want)
		}
	}
}

// An empty pack says what it is empty for.
func TestWhyAPackIsEmpty(t *testing.T) {
	t.Parallel()
	gate, err := relevance.New(relevance.Config{})
	must(t, err)
	w := openWorld(t, func(c *op.Config) { c.Relevance = gate })
	fill(t, w)
	session := map[string]any{"session": "s1"}
	for name, tc := range map[string]struct {
		question string
		change   func(*schemas.RequestPayload)
		want     string
	}{
		"emoji":           {"😱", func(*schemas.RequestPayload) {}, "the question has nothing to search by"},
		"emoji, filtered": {"😱 👍", func(p *schemas.RequestPayload) { p.Query.Filters = session }, "the question has nothing to search by"},
		"stop words":      {"what is it?", func(p *schemas.RequestPayload) { p.Query.Type = schemas.QueryKeyword }, "the question has nothing to search by"},
		"no word is held": {"什么", func(p *schemas.RequestPayload) { p.Query.Filters = session }, "nothing that passes the filters and that this principal may see has a word of the question"},
		"filters":         {"Lantern", func(p *schemas.RequestPayload) { p.Query.Filters = map[string]any{"session": "none"} }, "nothing was found that passes the filters and that this principal may see"},
		"relevance":       {"Lantern", func(p *schemas.RequestPayload) { p.Relevance = &schemas.RelevanceRequest{Mode: "ACKNOWLEDGE"} }, "relevance left out every source but client_context, "},
		"relevance, filter": {"Lantern", func(p *schemas.RequestPayload) {
			p.Query.Filters, p.Relevance = session, &schemas.RelevanceRequest{Mode: "ACKNOWLEDGE"}
		}, "nothing was found that passes the filters and that this principal may see: ask in another mode"},
		"unknown mode": {"Lantern", func(p *schemas.RequestPayload) {
			p.Query.Filters, p.Relevance = map[string]any{"session": "none"}, &schemas.RelevanceRequest{Mode: "DREAM"}
		}, "nothing was found that passes the filters and that this principal may see"},
		"min_score": {"Lantern release", func(p *schemas.RequestPayload) { p.MinScore = .999 }, "all that was found scores less than min_score 0.999, the best 0."},
		"budget":    {"Lantern release", func(p *schemas.RequestPayload) { p.TokenBudget = 1 }, "budget: 1 is too small for any item that was found; the smallest takes "},
	} {
		req := ask(tc.question)
		req.Payload.UserMessage, req.Payload.Task = "", ""
		tc.change(&req.Payload)
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
		must(t, err)
		warnings := res.Payload.Explainability.Warnings
		if len(res.Payload.Results) != 0 || len(warnings) == 0 || !strings.Contains(warnings[len(warnings)-1], tc.want) {
			t.Errorf("%s: %v shown, warnings %q, want %q", name, ids(&res), warnings, tc.want)
		}
	}
}

// The warning of a budget that is too small names one that shows an item, and no hint blames the relevance.
func TestTheSmallestBudget(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	fill(t, w)
	shown := func(budget int) (int, schemas.Explainability) {
		req := ask("Lantern release")
		req.Payload.UserMessage, req.Payload.Task, req.Payload.TokenBudget = "", "", budget
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
		must(t, err)
		return len(res.Payload.Results), res.Payload.Explainability
	}
	n, why := shown(5)
	least := 0
	for _, said := range why.Warnings {
		if _, after, ok := strings.Cut(said, "the smallest takes "); ok {
			_, err := fmt.Sscanf(after, "%d tokens", &least)
			must(t, err)
		}
	}
	if n != 0 || least <= 5 || len(why.Affordances) != 0 {
		t.Errorf("%d shown, the smallest takes %d; hints %+v", n, least, why.Affordances)
	}
	for budget, want := range map[int]bool{least - 1: false, least: true} {
		if n, _ := shown(budget); n > 0 != want {
			t.Errorf("%d items in %d tokens, where the smallest takes %d", n, budget, least)
		}
	}
}

// A question that says nothing of what it is about shows nothing, and a greeting before a question changes nothing.
func TestNothingForNothing(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	talkSet(t, w, "team-1")
	page := memory("page", "level:public", "", "The server answers ok where it is ready, and no where it is not; ja and okay are read as well.")
	page.Kind = schemas.KindKnowledge
	w.put(t, "acme", page)
	shown := func(question string) (string, int) {
		req := ask(question)
		req.Payload.UserMessage, req.Payload.Task = "", ""
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
		must(t, err)
		return fmt.Sprint(ids(&res)), res.Payload.Pack.TokenActual
	}
	for _, question := range []string{"?", "...", "🙂", "👍 👍", "—", "asdf", "blorptag", "fnord grabblewock", "and?", "what is it?", "no", "ok", "Okay, got it!", "ja", "好的", "yes please, thanks", "hello!", "Good morning team", "many thanks"} {
		if got, tokens := shown(question); got != "[]" || tokens > 20 {
			t.Errorf("%q: %d tokens, %s", question, tokens, got)
		}
	}
	few := openWorld(t, nil)
	for i, text := range []string{"The harbour ferry leaves at 9:15 from pier four.", "Priya leads the support desk.", "The spare part number of the pump is 77-120."} {
		few.put(t, "acme", memory(fmt.Sprint("few", i), "level:public", "", text))
	}
	for _, question := range []string{"ok", "cool", "haha", "got it", "sounds good", "qwerty"} {
		req := ask(question)
		req.Payload.UserMessage, req.Payload.Task = "", ""
		res, err := few.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
		must(t, err)
		if got, tokens := ids(&res), res.Payload.Pack.TokenActual; len(got) != 0 || tokens > 20 {
			t.Errorf("%q of few notes: %d tokens, %s", question, tokens, got)
		}
	}
	const asked = "Which food could put Milo in hospital?"
	want, _ := shown(asked)
	for _, greeting := range []string{"Hi! ", "Ok. ", "Yes please, ", "hello, ", "Good morning team! ", "Hey Bram, thanks a lot. ", "Hallo zusammen – ", "Hi. How are you? "} {
		if got, _ := shown(greeting + asked); got != want || want == "[]" {
			t.Errorf("%q changes\n%s to\n%s", greeting, want, got)
		}
	}
}
