package selection

import (
	"testing"

	"satchel/pipeline/language"

	"pgregory.net/rapid"
)

func TestSubject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Can you list the order in which I brought up different aspects of developing my budget tracker throughout our conversations, in order? Mention ONLY and ONLY three items.": "developing my budget tracker , ? .",
		"Could you please give me a complete summary of how my portfolio website has developed?":                                                                                    "my portfolio website has developed?",
		"Can you summarize how I resolved the issues with my web project over time?":                                                                                                "I resolved the issues with my web project ?",
		"Can you summarize this PDF?":           "summarize this PDF?",
		"In order to sort, use parseRetryAfter": "In order to sort, use parseRetryAfter",
		"What did Ana say about the harbour?":   "What did Ana say about the harbour?",
		"Can you tell me?":                      "Can you tell me?",
		"How do I restart the proxy over time?": "How do I restart the proxy ?",
		"":                                      "",
		"快递行业年度盛典的持续时间是什么？":                        "快递行业年度盛典的持续时间是什么？",
		"Which order did the customer place first": "Which order did the customer place first",
	} {
		if got := newQuestionPhrases().findSubject(text); got != want {
			t.Errorf("subject of %q is %q, want %q", text, got, want)
		}
	}
}

// A subject holds only words of its text, in their order, and is never empty for a text
// that has words.
func TestSubjectTakesAway(t *testing.T) {
	t.Parallel()
	askings := newQuestionPhrases()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]string{"can", "you", "please", "give", "me", "summary", "of", "how", "the", "order", "in", "which", "to",
			"project", "budget", "mention", "only", "and", "three", "items", "our", "conversations", "Übung", "快递", "?", ","})).Draw(r, "words")
		joined := ""
		for _, w := range text {
			joined += w + " "
		}
		got, all := language.Words(askings.findSubject(joined)), language.Words(joined)
		at := 0
		for _, w := range got {
			for at < len(all) && all[at] != w {
				at++
			}
			if at == len(all) {
				r.Fatalf("%q is not of %q", got, all)
			}
			at++
		}
		if len(all) > 0 && len(got) == 0 {
			r.Fatalf("nothing is left of %q", joined)
		}
	})
}
