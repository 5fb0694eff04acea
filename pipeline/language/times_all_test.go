package language_test

import (
	"testing"
	"time"

	"satchel/pipeline/language"
)

// A question that has a time and nothing else asks for all there is of it.
func TestAsksAll(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]bool{
		"What happened in August?": true, "what happened in the first week of August 2025": true, "Summarise October": true, "Please give me an overview of last week.": true,
		"What did we do yesterday?": true, "What's new since Monday?": true, "List everything recorded between 3 May and 9 May": true, "August 2025": true,
		"What was going on at Easter 2025?": true, "Was ist im August passiert?": true, "Was war letzte Woche los?": true, "Fasse den Oktober 2025 zusammen": true,
		"Que s'est-il passé en août ?": true, "Qu'est-ce qu'on a fait hier ?": true, "¿Qué pasó en agosto?": true, "Resume la semana pasada": true, "Что произошло в августе?": true,
		"8月发生了什么？": true, "总结上周": true,
		"What happened to the pump in August?": false, "What did Priya do in August?": false, "What happened?": false, "Summarise the budget of October": false, "Was hat Petra im August gemacht?": false,
		"Who wrote on 3 May?": false, "8月水泵发生了什么？": false, "What was decided in June?": false, "": false,
	} {
		if got := language.AsksAll(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
