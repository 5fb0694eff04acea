package remote

import "testing"

// FuzzDecode holds that no answer or refusal of an endpoint breaks the reader.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}`, `{"choices":[{}]}`, `{"error":{"param":"stop"}}`, `{"choices":null,"usage":{"prompt_tokens":-1}}`, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		answer, err := decodeAnswer(raw)
		if (err == nil) == (answer.Text == "") {
			t.Errorf("answer %q with error %v", answer.Text, err)
		}
		if answer.PromptTokens < 0 || answer.AnswerTokens < 0 {
			t.Errorf("negative counts: %+v", answer)
		}
		if _, ok := (dialect{}).dropRefusedField(refusedField(raw)); ok && len(raw) < 4 {
			t.Error("a field out of nothing")
		}
	})
}
