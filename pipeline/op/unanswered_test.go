package op_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

// crowd is items that say nothing of the questions below.
func crowd(n int) []schemas.MemoryItem {
	list := make([]schemas.MemoryItem, n)
	for i := range list {
		list[i] = memory(fmt.Sprintf("c%04d", i), "level:internal", "", fmt.Sprintf("Barley field %d was ploughed and the kiln by the meadow fired.", i))
		list[i].Session = ""
	}
	return list
}

// A score is the same in a store of one item and of thousands, and whoever asks.
func TestScoresAreAbsolute(t *testing.T) {
	t.Parallel()
	exact := memory("exact", "level:public", "", "Jonas renewed the TLS certificate of the card gateway.")
	exact.Session = ""
	scores := map[string]float64{}
	for n, extra := range map[string]int{"1": 0, "20": 19, "3000": 2999} {
		w := openWorld(t, nil)
		w.put(t, "acme", append(crowd(extra), exact)...)
		for _, level := range []schemas.Level{schemas.Public, schemas.Internal} {
			for _, kind := range []string{schemas.QueryHybrid, schemas.QueryGraph, schemas.QuerySemantic} {
				req := ask("Who renewed the certificate of the card gateway?")
				req.Payload.MinScore, req.Payload.IncludeScores, req.Payload.Query.Type = .5, true, kind
				res, err := w.engine.Context(context.Background(), as(t, "acme", level), req)
				must(t, err)
				if got := ids(&res); len(got) != 1 || got[0] != "exact" {
					t.Fatalf("%s items: shown %v", n, got)
				}
				scores[fmt.Sprint(n, level, kind)] = *res.Payload.Results[0].Score
			}
		}
	}
	for name, score := range scores {
		if math.Abs(score-scores[fmt.Sprint("1", schemas.Public, schemas.QueryHybrid)]) > 1e-3 {
			t.Errorf("%s: %v of %v", name, score, scores)
		}
	}
}

// What nothing answers is said, and not padded; a name that only others may see is not here.
func TestNotKnownIsAnAnswer(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	hidden := memory("hidden", "level:confidential", "", "The capital of Peru is Lima.")
	w.put(t, "acme", append(crowd(300), hidden, memory("ana", "level:internal", "Ana", "The capital of the region is by the sea, said Bo."))...)
	for _, c := range []struct {
		question, says string
		level          schemas.Level
		most           int // items
	}{
		{"Do you sell aspirin or bandages?", "Nothing here answers it.", schemas.Internal, 0},
		{"What is the capital of Peru?", "Nothing here mentions: Peru\n", schemas.Internal, 40},
		{"Has anybody climbed Mount Fuji?", "Nothing here mentions: Mount Fuji\n", schemas.Internal, 40},
		{"What is the capital of Peru?", "", schemas.Confidential, 40},
		{"Did Ana talk of the capital?", "", schemas.Internal, 40},
	} {
		res, err := w.engine.Context(context.Background(), as(t, "acme", c.level), ask(c.question))
		must(t, err)
		if says := strings.Contains(res.Payload.Text, "Nothing here"); says != (c.says != "") || !strings.Contains(res.Payload.Text, c.says) {
			t.Errorf("%q of %v: %s", c.question, c.level, res.Payload.Text)
		}
		if n := len(res.Payload.Results); n > c.most || c.says != "" && res.Payload.Pack.TokenActual > 510 {
			t.Errorf("%q: %d items, %d tokens", c.question, n, res.Payload.Pack.TokenActual)
		}
	}
}

// Of what hardly bears on a question the best few are shown, and none is quoted; fill shows all. Tools, and the turns of the
// session, keep their places; an item that only others may see changes nothing.
func TestHardlyAnswered(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := crowd(20)
	for i := range 40 {
		list = append(list, plain(fmt.Sprintf("far%02d", i), fmt.Sprintf(
			"Doctor %d left the south of Africa, and her land lost the human capital that it had paid for.", i)))
	}
	for i := range 8 {
		turn := memory(fmt.Sprintf("turn%d", i), "level:internal", "Ana", strings.Repeat(fmt.Sprintf("We sorted shelf %d. ", i), 8))
		turn.Session = "live"
		list = append(list, turn)
	}
	tool := item(schemas.KindTool, "capitals", "country_capital finds the capital city of a country.", map[string]any{
		"name": "country_capital", "signature": "country_capital(country: string)", "description": "Finds the capital city of a country."})
	answer := memory("answer", "level:confidential", "", "Lima is the capital of Peru.")
	answer.Session = ""
	w.put(t, "acme", append(list, tool, answer)...)
	asking := func(question, session string, level schemas.Level, fill bool) schemas.ResultPayload {
		t.Helper()
		req := ask(question)
		req.Payload.TokenBudget, req.Payload.Session, req.Payload.Repeat, req.Payload.Fill = 1000, session, schemas.RepeatFull, fill
		res, err := w.engine.Context(t.Context(), as(t, "acme", level), req)
		must(t, err)
		return res.Payload
	}
	const question = "what is the capital city of peru and when was it founded?"
	far := asking(question, "", schemas.Internal, false)
	memory, tools := section(far, schemas.SectionMemory), section(far, schemas.SectionTools)
	if !hardly(far) || memory.TokenActual == 0 || memory.TokenActual > 260 || len(shownIDs(far)) > 11 || !strings.Contains(far.Text, " more bear on it less: fill shows them.") || len(far.Explainability.TLDR.Sentences) > 0 || tools.TokenActual == 0 {
		t.Errorf("memory takes %d, tools %d, TL;DR %q, warnings %q", memory.TokenActual, tools.TokenActual,
			far.Explainability.TLDR.Summary, far.Explainability.Warnings)
	}
	live := asking(question, "live", schemas.Internal, false)
	turns, others := 0, 0
	for _, id := range shownIDs(live) {
		if strings.HasPrefix(id, "turn") {
			turns++
		} else if strings.HasPrefix(id, "far") {
			others++
		}
	}
	if turns != 8 || others < 5 || section(live, schemas.SectionMemory).TokenActual > 1000 {
		t.Errorf("of the session 8 turns: %d shown, and %d others, %d tokens", turns, others, section(live, schemas.SectionMemory).TokenActual)
	}
	if all := asking(question, "", schemas.Internal, true); !hardly(all) || len(shownIDs(all)) < 25 || strings.Contains(all.Text, "fill shows") {
		t.Errorf("fill shows %d items, warnings %q", len(shownIDs(all)), all.Explainability.Warnings)
	}
	for name, p := range map[string]schemas.ResultPayload{
		"nearer":       asking("Where did the doctor go?", "", schemas.Internal, false),
		"more may see": asking(question, "", schemas.Confidential, false),
	} {
		if hardly(p) || len(p.Explainability.TLDR.Sentences) == 0 {
			t.Errorf("%s: warnings %q, TL;DR %q", name, p.Explainability.Warnings, p.Explainability.TLDR.Summary)
		}
	}
}

// plain is an internal memory of no session.
func plain(id, text string) schemas.MemoryItem {
	m := memory(id, "level:internal", "", text)
	m.Session = ""
	return m
}

func section(p schemas.ResultPayload, of schemas.SectionType) schemas.ContextSection {
	for _, s := range p.Pack.Sections {
		if s.Type == of {
			return s
		}
	}
	return schemas.ContextSection{}
}

func hardly(p schemas.ResultPayload) bool {
	return strings.Contains(strings.Join(p.Explainability.Warnings, "\n"), "hardly relevant")
}

// TestSummariesThatAreAskedFor: whoever filters by the kind summary gets summaries, however little the
// question says; of any other kind, which holds most of a store, few are shown that hardly bear on it.
func TestSummariesThatAreAskedFor(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	sum := memory("sum", "level:internal", "", "Ada looked at the crane and a second look is due.")
	sum.Kind, sum.Type = schemas.KindSummary, schemas.Semantic
	w.put(t, "acme", append(crowd(50), sum)...)
	for name, c := range map[string]struct {
		filter any
		asked  bool
	}{
		"summaries": {"summary", true}, "a list": {[]any{"summary"}, true}, "an operator": {map[string]any{"in": []any{"summary"}}, true},
		"among others": {[]any{"summary", "memory"}, false}, "memories": {"memory", false},
	} {
		req := ask("what happened")
		req.Payload.Query.Filters = map[string]any{"kind": c.filter}
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), req)
		must(t, err)
		if n := len(res.Payload.Results); c.asked != (n == 1) || n > 10 || c.asked == hardly(res.Payload) {
			t.Errorf("%s: %d shown, warnings %q", name, n, res.Payload.Explainability.Warnings)
		}
	}
}

// A question in a language that the table of words does not read is answered too, if it shares a word with the answer.
// How many it shares says little: Chinese is compared by pairs of characters.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	answers := []string{
		"我用的手机是苹果的iPhone13。", "ゲートウェイの証明書は3月3日に期限が切れます。", "인증서는 3월 3일에 만료됩니다.",
		"Поезд в Москву отправляется в девять утра.", "يغادر القطار إلى القاهرة في التاسعة.", "राहुल को मूंगफली से एलर्जी है।",
		"Jonas ist allergisch gegen Erdnüsse.", "El certificado de la pasarela caduca el 3 de marzo.",
	}
	list := crowd(300)
	for i, text := range answers {
		list = append(list, plain(fmt.Sprint("answer", i), text))
	}
	w.put(t, "acme", list...)
	for i, question := range []string{
		"我手里拿的这款手机是什么来着？", "証明書の期限はいつですか？", "인증서는 언제 만료됩니까?",
		"Во сколько отправляется поезд?", "متى يغادر القطار؟", "राहुल को किससे एलर्जी है?",
		"Wogegen ist Jonas allergisch?", "¿Cuándo caduca el certificado?",
	} {
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), ask(question))
		must(t, err)
		if want := fmt.Sprint("answer", i); !slices.Contains(ids(&res), want) {
			t.Errorf("%s: shown %v, not %s", question, ids(&res), want)
		}
	}
	nouns, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), ask("Wogegen ist der kleine Jonas allergisch, gegen welche Speise?"))
	must(t, err)
	if strings.Contains(nouns.Payload.Text, "Nothing here mentions") || !slices.Contains(ids(&nouns), "answer6") {
		t.Errorf("a noun in German counts as a name: %s", nouns.Payload.Text)
	}
	inflected, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), ask("Во сколько поезд, спросил Иван Марию?"))
	must(t, err)
	if strings.Contains(inflected.Payload.Text, "Nothing here mentions") || !slices.Contains(ids(&inflected), "answer3") || len(ids(&inflected)) > 5 {
		t.Errorf("a name in Russian counts as one that nothing mentions, or too much is shown: %s", inflected.Payload.Text)
	}
	for _, question := range []string{"月亮有多远？", "Какого цвета машина?"} {
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), ask(question))
		must(t, err)
		if len(ids(&res)) > 0 || !strings.Contains(res.Payload.Text, "Nothing here answers it.") {
			t.Errorf("%s: shown %v", question, ids(&res))
		}
	}
}

// A question of words that nothing has and that are no words, a greeting and thanks get no item, whatever is near by its
// vector. A rare word that an item has, and a day that a question names, speak for the item.
func TestNothingIsShownOfNothing(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := crowd(60)
	for i := range 20 {
		turn := memory(fmt.Sprint("turn", i), "level:internal", "Ana", fmt.Sprintf("Hello again, and thanks for walk %d along the river in the morning with the dogs.", i))
		turn.CreatedAt = time.Date(2026, 1, 2+i, 9, 0, 0, 0, time.UTC)
		list = append(list, turn)
	}
	rare := plain("rare", "Dejamos el proveedor Zendrop por los retrasos.")
	hidden := plain("hidden", "The zorblaxity of the quuxifier was measured twice.")
	hidden.SecurityLabel = []string{"level:confidential"}
	w.put(t, "acme", append(list, rare, hidden)...)
	for _, c := range []struct {
		question string
		level    schemas.Level
		shown    string // id of the first, "" for no item
	}{
		{"zorblaxity of the quuxifier", schemas.Internal, ""}, {"zorblaxity of the quuxifier", schemas.Confidential, "hidden"},
		{"wixnavord plimberoxity dogs", schemas.Internal, ""}, {"hello!", schemas.Internal, ""}, {"Thanks a lot, and good night", schemas.Internal, ""},
		{"Zendrop plimberoxity", schemas.Internal, "rare"},
	} {
		req := ask(c.question)
		req.Payload.UserMessage, req.Payload.Task = "", ""
		res, err := w.engine.Context(t.Context(), as(t, "acme", c.level), req)
		must(t, err)
		got := ids(&res)
		if c.shown == "" && (len(got) > 0 || res.Payload.Pack.TokenActual > 26) || c.shown != "" && !slices.Contains(got, c.shown) {
			t.Errorf("%q of %v: shown %v in %d tokens:\n%s", c.question, c.level, got, res.Payload.Pack.TokenActual, res.Payload.Text)
		}
	}
	day, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), ask("What became of plimberoxity on 5 January 2026?"))
	must(t, err)
	if !slices.Contains(ids(&day), "turn3") {
		t.Errorf("of the day: shown %v", ids(&day))
	}
}

// A question that shares no word with the turn that answers it finds it, and no single turn must come near by itself.
func TestAskedInOtherWords(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := crowd(40)
	for i, text := range []string{
		"We finally adopted a beagle from the shelter, she sleeps under the piano and chews every slipper she finds.",
		"The boiler man came again on Tuesday and says that the pump has to be replaced before the frost.",
		"My sister moved into the flat above the bakery, so the stairs smell of bread at five in the morning.",
		"I will be in Lisbon for the trade fair and cannot take the minutes of the board this time.",
	} {
		turn := memory(fmt.Sprint("turn", i), "level:internal", "Ana", text)
		turn.Session = "talk"
		list = append(list, turn)
	}
	w.put(t, "acme", list...)
	for question, want := range map[string]string{"Which pet do they have?": "turn0", "What is wrong with the heating?": "turn1"} {
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), ask(question))
		must(t, err)
		if !slices.Contains(ids(&res), want) {
			t.Errorf("%s: shown %v, not %s", question, ids(&res), want)
		}
	}
}

// TestSmallPacksSayThatNothingAnswers asks within few tokens, which what hardly bears on the question wants: other words
// give way to those that say that nothing answers.
func TestSmallPacksSayThatNothingAnswers(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := crowd(20)
	for i := range 40 {
		list = append(list, plain(fmt.Sprintf("far%02d", i), fmt.Sprintf(
			"Doctor %d left the south of Africa, and her country lost the human capital that it had paid for.", i)))
	}
	w.put(t, "acme", list...)
	for _, budget := range []int{2000, 500, 300, 120} {
		for _, message := range []string{"", "What is the capital of Peru, and since when has it been that one?"} {
			req := ask("What is the capital of Peru?")
			req.Payload.TokenBudget, req.Payload.UserMessage, req.Payload.Task = budget, message, ""
			res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), req)
			must(t, err)
			if text := res.Payload.Text; !strings.Contains(text, "Nothing here mentions: Peru") || res.Payload.Pack.TokenActual > budget || len(res.Payload.Results) == 0 && budget > 120 {
				t.Errorf("%d tokens of %d:\n%s", res.Payload.Pack.TokenActual, budget, text)
			}
		}
	}
}

// A word that is none asks for nothing, whatever common words stand beside it; one with a slip of the pen does.
func TestMadeUpWords(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := crowd(200)
	for i, text := range []string{
		"Spare keys are kept in the grey cabinet beside the press.", "The customer from Ghent liked the oak sample best.", "A new blade for the planer costs 84 euros.",
		"Tell the crew that the yard is swept on Fridays.", "The compressor leaked oil and was repaired in August.", "Payroll is run by Olga on the 27th.",
	} {
		list = append(list, plain(fmt.Sprint("n", i), text))
	}
	w.put(t, "acme", list...)
	asking := func(question string) schemas.ResultPayload {
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), ask(question))
		must(t, err)
		return res.Payload
	}
	for _, question := range []string{"where is the vexomorph kept?", "did the customer like the grunkeltop?", "how much does a snerdlewomp cost?", "tell me about the zibbleforth", "when is the quorvish due?"} {
		if p := asking(question); len(p.Results) != 0 {
			t.Errorf("%s: %d tokens\n%s", question, p.Pack.TokenActual, p.Text)
		}
	}
	for question, want := range map[string]string{"where are the spare keyes kept?": "n0", "what does a plnaer blade cost?": "n2", "when is the payrol run?": "n5"} {
		p := asking(question)
		if !slices.ContainsFunc(p.Results, func(r schemas.ResultItem) bool { return r.ID == want }) {
			t.Errorf("%s: %s", question, p.Text)
		}
	}
}

// Of a month that a question names the likeliest notes stay, though others have its words.
func TestWhatWasInAMonthStays(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := crowd(200)
	at := func(id, text string, month time.Month, d int) {
		m := plain(id, text)
		m.CreatedAt = time.Date(2025, month, d, 9, 0, 0, 0, time.UTC)
		list = append(list, m)
	}
	at("boiler", "The boiler stopped on the coldest morning; a bolt blocked the auger.", time.January, 19)
	at("blade", "The saw blade broke at a nail in the ash.", time.May, 21)
	at("gate", "The gate motor broke, a spare gear wheel was printed.", time.June, 13)
	at("job", "Ms Yilmaz gets the job in sales and begins on 4 March.", time.July, 19)
	at("leave", "Tomasz asked for parental leave from November until January.", time.July, 23)
	w.put(t, "acme", list...)
	res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), ask("what broke in January 2025?"))
	must(t, err)
	if got := ids(&res); !slices.Contains(got, "boiler") {
		t.Errorf("shown %v", got)
	}
}
