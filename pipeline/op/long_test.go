package op_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"satchel/schemas"
)

// A long memory is read to its end in every script, in a fence of its own or not: a thousand tokens show what answers, wherever it stands.
func TestLongMemoriesAreReadToTheEnd(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	type script struct{ row, fact, question string }
	scripts := []script{
		{"Winch %d of the quay was oiled in the morning, and its rope was found to be sound.", "The rope of the spare winch was lent to Orla Quist.", "Who has the rope of the spare winch?"},
		{"Die Schleuse %d wurde am Morgen geprüft und ohne Befund wieder geschlossen.", "Der Plan der Schleuse liegt bei Frau Quastenberg.", "Bei wem liegt der Plan der Schleuse?"},
		{"Колодец %d осмотрен утром, вода чистая, замечаний нет.", "Крышка колодца хранится у Кравцовой.", "У кого хранится крышка колодца?"},
		{"第%d号灯塔早上检查过,灯光正常,没有问题。", "灯塔的备用灯泡由欧阳静保管。", "灯塔的备用灯泡由谁保管?"},
		{"تم فحص الجسر رقم %d في الصباح بدون ملاحظات.", "مفتاح الجسر عند السيدة زيتونة.", "عند من مفتاح الجسر؟"},
	}
	for n, s := range scripts {
		for place, at := range []int{0, 75, 150, 37} {
			var rows []string
			for i := range 150 {
				rows = append(rows, fmt.Sprintf(s.row, i+200*place))
			}
			rows = slices.Insert(rows, at, fmt.Sprintf("%s (%d-%d).", strings.TrimRight(s.fact, ".。"), n, place))
			text := strings.Join(rows, []string{"\n", " ", "\n\n", "\n"}[place])
			if place == 3 {
				text = "```\n" + text + "\n```"
			}
			m := version(fmt.Sprintf("long%d-%d", n, place), "", text, n)
			w.put(t, fmt.Sprint("place", place), m)
		}
	}
	for n, s := range scripts {
		for place := range 4 {
			req := ask(s.question)
			req.Payload.TokenBudget = 1000
			res, err := w.engine.Context(t.Context(), as(t, fmt.Sprint("place", place), schemas.Public), req)
			must(t, err)
			if mark := fmt.Sprintf("(%d-%d)", n, place); !strings.Contains(res.Payload.Text, mark) || res.Payload.Pack.TokenActual > 1000 {
				t.Errorf("%q at place %d, %d tokens, dropped %+v:\n%.600s", s.question, place, res.Payload.Pack.TokenActual, res.Payload.Drop.Drops, res.Payload.Text)
			}
		}
	}
}

// A word that a long record has is answered with the passage that has it, by a build of few tokens, too, and a turn of a
// conversation that is too long by an extract.
func TestAWordOfALongRecordShowsItsPassage(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	var log strings.Builder
	for i := range 400 {
		fmt.Fprintf(&log, "step %d of the night run took %d ms\n", i, 3*i)
	}
	record := version("record", "", log.String()+"FAIL the hutia check: expected 3, got 4", 0)
	turn := version("turn", "talk", strings.ReplaceAll(log.String(), "\n", ". ")+"The wombat check was skipped by Ana.", 1)
	turn.Speaker, record.Speaker = "Ana", "Nightly"
	w.put(t, "acme", record, turn)
	s := as(t, "acme", schemas.Public)
	for question, want := range map[string]string{"hutia": "FAIL the hutia check", "Why did the hutia check fail?": "expected 3, got 4", "wombat": "The wombat check was skipped"} {
		req := ask(question)
		req.Payload.Compaction = schemas.CompactionAuto
		res, err := w.engine.Context(t.Context(), s, req)
		must(t, err)
		built, err := w.engine.Build(t.Context(), s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: question}, TokenBudget: 300})
		must(t, err)
		for door, text := range map[string]string{"context": res.Payload.Text, "build": built.Context} {
			if !strings.Contains(text, want) {
				t.Errorf("%s, %q: %q is not there:\n%.600s", door, question, want, text)
			}
		}
		if strings.HasPrefix(want, "FAIL") && !strings.Contains(res.Payload.Text, "Nightly: ") {
			t.Errorf("%q: the speaker is not there:\n%.600s", question, res.Payload.Text)
		}
	}
}

// A long memory takes a quarter of its source in an assembly, beside others; alone it takes what it needs.
func TestALongMemoryLeavesRoomInAnAssembly(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	var manual strings.Builder
	manual.WriteString("The quokka scheduler manual.")
	for i := range 120 {
		fmt.Fprintf(&manual, " Chapter %d tells how lane %d of the scheduler drains its jobs before night.", i, i)
	}
	w.put(t, "alone", version("long", "", manual.String(), 0))
	w.put(t, "acme", version("long", "", manual.String(), 0), version("node", "", "The quokka scheduler runs on node seven.", 1), version("old", "", "The quokka scheduler of lane 3 was drained by Ada.", 2))
	for tenant, most := range map[string]int{"acme": 300, "alone": 1200} {
		out, err := w.engine.Assemble(t.Context(), as(t, tenant, schemas.Public), schemas.AssembleRequest{Query: "quokka scheduler manual chapter lane drains", ContextTypes: []string{"memories"}, MaxTokens: 1200, Fill: true})
		must(t, err)
		at := slices.IndexFunc(out.Items, func(it schemas.AssembledItem) bool { return strings.Contains(it.Content, "Chapter") })
		if at < 0 {
			t.Fatalf("%s: the manual is not there:\n%s", tenant, out.Markdown)
		}
		tokens := len(out.Items[at].Content) / 4
		if tokens > most*9/8 || tokens < most/2 || tenant == "acme" && len(out.Items) < 3 {
			t.Errorf("%s: the manual takes %d tokens beside %d others, at most %d are its", tenant, tokens, len(out.Items)-1, most)
		}
	}
}
