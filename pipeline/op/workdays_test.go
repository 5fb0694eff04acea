package op_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

// workdays are the notes of the 261 workdays up to Friday, 27 November 2026. The id of each is its day.
func workdays(sentence string, verbs, things []string) (out []schemas.MemoryItem) {
	for at := time.Date(2025, 11, 28, 9, 30, 0, 0, time.UTC); at.Before(time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)); at = at.AddDate(0, 0, 1) {
		if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
			continue
		}
		n := len(out)
		m := memory(at.Format(time.DateOnly), "level:public", "", fmt.Sprintf(sentence, verbs[n*5%len(verbs)], things[n*7%len(things)]))
		m.Session, m.CreatedAt = "", at
		out = append(out, m)
	}
	return out
}

// firstOfDays asks for days and returns the questions whose first hit is of others: each is a question, a tab, and
// the days from and to.
func firstOfDays(t *testing.T, notes []schemas.MemoryItem, questions string) (wrong []string) {
	t.Helper()
	w := openWorld(t, nil)
	if len(notes) != 261 {
		t.Fatalf("%d workdays", len(notes))
	}
	w.put(t, "acme", notes...)
	for line := range strings.Lines(questions) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) != 3 {
			continue
		}
		req := ask(fields[0])
		req.Payload.Now, req.Payload.Limit, req.Payload.IncludeScores = time.Date(2026, 11, 28, 15, 0, 0, 0, time.UTC), 10, true
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
		must(t, err)
		got := ranking(&res)
		if len(got) == 0 || got[0] < fields[1] || got[0] > fields[2] {
			wrong = append(wrong, fmt.Sprintf("%s: %v, want first %s to %s", fields[0], got[:min(len(got), 4)], fields[1], fields[2]))
		}
	}
	return wrong
}

func TestWorkdaysAreFoundByDate(t *testing.T) {
	t.Parallel()
	for _, lang := range []struct {
		name, sentence, verbs, things, questions string
	}{
		{
			"en", "Lena %s the %s.", "shipped fixed reviewed tested moved", "invoice export|cron scheduler|login page|search box|billing report|release notes|backup job|mail template",
			`What did Lena do yesterday?|2026-11-27|2026-11-27
			What happened two days ago?|2026-11-26|2026-11-26
			What did Lena do on Monday?|2026-11-23|2026-11-23
			What did Lena do last Tuesday?|2026-11-24|2026-11-24
			What did Lena do last week?|2026-11-16|2026-11-20
			What did Lena work on this week?|2026-11-23|2026-11-27
			What did Lena do most recently?|2026-11-27|2026-11-27
			What was the last thing Lena did?|2026-11-27|2026-11-27
			What is the latest thing Lena shipped?|2026-11-13|2026-11-27
			What did Lena do on March 18?|2026-03-18|2026-03-18
			What did Lena do on 18 March 2026?|2026-03-18|2026-03-18
			What did Lena do on 2026-03-18?|2026-03-18|2026-03-18
			What did Lena do in October 2026?|2026-10-01|2026-10-30
			What did Lena fix in May?|2026-05-01|2026-05-29
			What did Lena do last month?|2026-10-01|2026-10-30
			What did Lena do before December 2025?|2025-11-28|2025-11-28
			What did Lena ship before 5 December 2025?|2025-11-28|2025-12-04
			What did Lena do in the week of 9 March?|2026-03-09|2026-03-13
			What did Lena do between 5 and 9 October?|2026-10-05|2026-10-09
			What has Lena done since Wednesday?|2026-11-25|2026-11-27
			What did Lena do after 20 November?|2026-11-21|2026-11-27
			What did Lena do in the first half of January?|2026-01-01|2026-01-15
			What did Lena do at the end of February?|2026-02-19|2026-02-27
			What did Lena do in mid-June?|2026-06-11|2026-06-20
			Which things did Lena review in early April?|2026-04-01|2026-04-10
			What did Lena do in Q2?|2026-04-01|2026-06-30
			What did Lena do in 2025?|2025-11-28|2025-12-31
			What did Lena do in the last 3 days?|2026-11-25|2026-11-27
			What did Lena do until 2 December 2025?|2025-11-28|2025-12-02`,
		},
		{
			"de", "Lena hat %s.", "geliefert|repariert|geprüft|getestet|verschoben", "den Rechnungsexport|den Zeitplaner|die Anmeldeseite|das Suchfeld|den Monatsbericht|die Sicherung|die Mailvorlage|das Handbuch",
			`Was hat Lena gestern gemacht?|2026-11-27|2026-11-27
			Was war vor zwei Tagen?|2026-11-26|2026-11-26
			Was hat Lena am Montag gemacht?|2026-11-23|2026-11-23
			Was hat Lena letzte Woche gemacht?|2026-11-16|2026-11-20
			Was hat Lena diese Woche gemacht?|2026-11-23|2026-11-27
			Was hat Lena zuletzt gemacht?|2026-11-27|2026-11-27
			Was hat Lena am 18. März gemacht?|2026-03-18|2026-03-18
			Was hat Lena am 18.3.2026 gemacht?|2026-03-18|2026-03-18
			Was hat Lena im Oktober 2026 gemacht?|2026-10-01|2026-10-30
			Was hat Lena im Mai repariert?|2026-05-01|2026-05-29
			Was hat Lena letzten Monat gemacht?|2026-10-01|2026-10-30
			Was hat Lena vor Dezember 2025 gemacht?|2025-11-28|2025-11-28
			Was hat Lena in der Woche vom 9. März gemacht?|2026-03-09|2026-03-13
			Was hat Lena zwischen dem 5. und 9. Oktober gemacht?|2026-10-05|2026-10-09
			Was hat Lena seit Mittwoch gemacht?|2026-11-25|2026-11-27
			Was hat Lena in der ersten Januarhälfte gemacht?|2026-01-01|2026-01-15
			Was hat Lena Ende Februar gemacht?|2026-02-19|2026-02-27
			Was hat Lena Mitte Juni gemacht?|2026-06-11|2026-06-20
			Was hat Lena Anfang April gemacht?|2026-04-01|2026-04-10`,
		},
	} {
		t.Run(lang.name, func(t *testing.T) {
			t.Parallel()
			verbs, things := strings.FieldsFunc(lang.verbs, func(r rune) bool { return r == '|' || r == ' ' }), strings.Split(lang.things, "|")
			notes := workdays(strings.Replace(lang.sentence, "hat %s.", "hat %[2]s %[1]s.", 1), verbs, things)
			for _, wrong := range firstOfDays(t, notes, lang.questions) {
				t.Error(wrong)
			}
		})
	}
}

// A question that has a time and no other subject is answered by all there is of it, and by nothing where there is nothing.
func TestAllOfATimeIsShown(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	w.put(t, "acme", workdays("Lena %s the %s.", strings.Fields("painted fixed cleaned sold moved drew"), strings.Fields(
		"gate pump kiln ferry ledger lamp hedge violin oven bridge canoe boiler fence trolley organ tram roof cellar mill barn dam saw loom"))...)
	for line := range strings.Lines(`What happened in August?|2026-08-01|2026-08-31|21
		Summarise October 2026|2026-10-01|2026-10-31|22
		What did we work on in the first half of January?|2026-01-01|2026-01-15|11
		Give me an overview of the week of 9 March|2026-03-09|2026-03-15|5
		What was recorded on 18 March 2026?|2026-03-18|2026-03-18|1
		What is new since 20 November?|2026-11-20|2026-11-28|6
		Was ist im August passiert?|2026-08-01|2026-08-31|21
		¿Qué pasó en agosto?|2026-08-01|2026-08-31|21
		What happened on 21 March 2026?|2026-03-21|2026-03-21|0
		Summarise May 2024|2024-05-01|2024-05-31|0`) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		req := ask(fields[0])
		req.Payload.Now, req.Payload.TokenBudget, req.Payload.Limit, req.Payload.IncludeScores = time.Date(2026, 11, 28, 15, 0, 0, 0, time.UTC), 2000, 100, true
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
		must(t, err)
		for _, id := range ranking(&res) {
			if id < fields[1] || id > fields[2] {
				t.Errorf("%s: %s is shown", fields[0], id)
			}
		}
		if n := len(res.Payload.Results); fmt.Sprint(n) != fields[3] {
			t.Errorf("%s: %d items, want %s", fields[0], n, fields[3])
		}
		if n := len(res.Payload.Results); n == 0 && !strings.Contains(res.Payload.Text, "Nothing here answers it.") {
			t.Errorf("%s: %s", fields[0], res.Payload.Text)
		}
	}
}

// The day of an import is not the day of what a document says: what was told in the week comes first. Where nothing was, a
// document of the week does.
func TestTheDayOfAnImportIsNotThatOfWhatIsSaid(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 15, 0, 0, 0, time.UTC)
	var pages []schemas.MemoryItem
	for n, text := range []string{"The weir is inspected twice a year, and what was agreed is written to the book of the weir.", "What the committee agreed on the sluice and the weir stands in the annex.", "Who is responsible for the weir agreed to the rules of the harbour."} {
		page := item(schemas.KindKnowledge, fmt.Sprint("page", n), "Handbook › Weir\n"+text, nil)
		page.Provenance.SourceURI, page.CreatedAt = fmt.Sprintf("file:handbook/weir.md:%d", n), now.Add(-2*time.Hour)
		pages = append(pages, page)
	}
	notes := []schemas.MemoryItem{memory("tuesday", "level:public", "", "It was agreed with the miller that the weir is lowered by a hand."), memory("june", "level:public", "", "It was agreed with the miller that the weir is raised by a foot.")}
	notes[0].CreatedAt, notes[1].CreatedAt = now.AddDate(0, 0, -4), now.AddDate(0, -5, 0)
	for tenant, first := range map[string]string{"both": "tuesday", "pages": "page"} {
		w := openWorld(t, nil)
		w.put(t, tenant, pages...)
		if tenant == "both" {
			w.put(t, tenant, notes...)
		}
		req := ask("What was agreed about the weir since Monday?")
		req.Payload.Now, req.Payload.Limit, req.Payload.IncludeScores = now, 10, true
		res, err := w.engine.Context(t.Context(), as(t, tenant, schemas.Public), req)
		must(t, err)
		if got := ranking(&res); len(got) == 0 || !strings.HasPrefix(got[0], first) {
			t.Errorf("%s: %v, want %s first", tenant, got, first)
		}
	}
}
