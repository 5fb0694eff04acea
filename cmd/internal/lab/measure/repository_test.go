package measure

import (
	"os"
	"path/filepath"
	"testing"
)

func TestQuestionIsAnsweredByEveryPatternOfOneWay(t *testing.T) {
	t.Parallel()
	q := Question{ID: "q", Answers: [][]string{{`max\w+`, "four"}, {"limit of 4"}}}
	for text, want := range map[string]bool{
		"MaxWorkers\nis Four": true, "a LIMIT of 4": true, "MaxWorkers": false, "four": false, "": false,
	} {
		if got, err := q.Answered(text); err != nil || got != want {
			t.Errorf("Answered(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	if _, err := (&Question{Answers: [][]string{{"("}}}).Answered("x"); err == nil {
		t.Error("a pattern that does not compile: no error")
	}
}

func TestRepositoryStandsBesideItsQuestions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := filepath.Join(dir, "repos")
	if err := os.MkdirAll(filepath.Join(set, "kiln"), 0o700); err != nil {
		t.Fatal(err)
	}
	if HasQuestions(dir, "repos") {
		t.Error("a set without questions has some")
	}
	line := `{"id":"k1","text":"how hot?","source":"docs","answers":[["1,200"]]}` + "\n"
	if err := os.WriteFile(filepath.Join(set, "kiln.questions.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, questions, err := Repository(dir, "repos", "")
	if err != nil || folder != filepath.Join(set, "kiln") || len(questions) != 1 || questions[0].Source != "docs" {
		t.Errorf("Repository = %q, %v, %v", folder, questions, err)
	}
	if _, _, err := Repository(dir, "repos", filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there: no error")
	}
}

func TestSumUpCountsUnanswerableQuestionsApart(t *testing.T) {
	t.Parallel()
	l := SumUp("ask", 500, []Reply{
		{Source: "docs", Answered: true, Tokens: 400, MS: 1}, {Source: "code", Tokens: 500, MS: 2},
		{Source: Unanswerable, Tokens: 100, MS: 3},
	})
	if l.Answered != 1 || l.Questions != 2 || l.By["docs"] != 1 || l.Of["code"] != 1 || l.Tokens != 450 || l.Idle != 100 || l.P95 != 3 {
		t.Errorf("SumUp = %+v", l)
	}
}
