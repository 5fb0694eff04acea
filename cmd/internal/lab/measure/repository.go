package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Unanswerable is the source of a question that the repository cannot answer.
const Unanswerable = "none"

// questionsSuffix ends the name of a file of questions about the repository before it.
const questionsSuffix = ".questions.jsonl"

// Question is a question about a repository.
type Question struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Source string `json:"source"` // where the answer is, such as docs, code or history; Unanswerable for nowhere
	// Answers are ways to answer. A text answers in one way if every regular expression of it
	// matches, ignoring case and across lines.
	Answers [][]string `json:"answers"`
}

// Answered reports whether a text holds an answer.
func (q *Question) Answered(text string) (bool, error) {
	for _, way := range q.Answers {
		all := len(way) > 0
		for _, pattern := range way {
			re, err := regexp.Compile("(?is)" + pattern)
			if err != nil {
				return false, fmt.Errorf("question %q: %w", q.ID, err)
			}
			all = all && re.MatchString(text)
		}
		if all {
			return true, nil
		}
	}
	return false, nil
}

// HasQuestions reports whether the set called name below dir asks about repositories.
func HasQuestions(dir, name string) bool {
	found, err := filepath.Glob(filepath.Join(dir, name, "*"+questionsSuffix))
	return err == nil && len(found) > 0
}

// Repository returns the questions of a set about the repository in a folder. Without a folder
// it is the one that stands beside the set's only file of questions.
func Repository(dir, name, folder string) (string, []Question, error) {
	if folder == "" {
		found, err := filepath.Glob(filepath.Join(dir, name, "*"+questionsSuffix))
		if err != nil || len(found) != 1 {
			return "", nil, fmt.Errorf("set %q has %d files of questions: name a repository", name, len(found))
		}
		folder = strings.TrimSuffix(found[0], questionsSuffix)
	}
	folder, err := filepath.Abs(folder) // "." has a name, too
	if err != nil {
		return "", nil, fmt.Errorf("set %q: %w", name, err)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", nil, fmt.Errorf("set %q: %s is not the folder of a repository", name, folder)
	}
	questions, err := readLines[Question](filepath.Join(dir, name, filepath.Base(folder)+questionsSuffix))
	if err == nil && len(questions) == 0 {
		err = fmt.Errorf("set %q asks nothing about %s", name, filepath.Base(folder))
	}
	return folder, questions, err
}

// Reply is what Satchel made of one question.
type Reply struct {
	Question string  `json:"id"`
	Way      string  `json:"way"` // ask or assemble
	Budget   int     `json:"budget"`
	Text     string  `json:"text"`
	Tokens   int     `json:"tokens"`
	MS       float64 `json:"ms"`
	Answered bool    `json:"answered"`
	Source   string  `json:"source"`
}

// RepositoryLine sums up the replies of one way and budget.
type RepositoryLine struct {
	Way       string         `json:"way"`
	Budget    int            `json:"budget"`
	Answered  int            `json:"answered"`
	Questions int            `json:"questions"` // that the repository can answer
	By        map[string]int `json:"by"`        // answered, by source
	Of        map[string]int `json:"of"`        // questions, by source
	Tokens    float64        `json:"tokens"`    // mean, of questions that can be answered
	Idle      float64        `json:"idle"`      // mean tokens of those that cannot
	P50       float64        `json:"p50_ms"`
	P95       float64        `json:"p95_ms"`
}

// Took sets how long the reply took.
func (r *Reply) Took(d time.Duration) { r.MS = float64(d.Microseconds()) / 1000 }

// SumUp returns the line of some replies.
func SumUp(way string, budget int, replies []Reply) RepositoryLine {
	l := RepositoryLine{Way: way, Budget: budget, By: map[string]int{}, Of: map[string]int{}}
	var ms []float64
	idle := 0
	for i := range replies {
		r := &replies[i]
		ms = append(ms, r.MS)
		if r.Source == Unanswerable {
			idle++
			l.Idle += float64(r.Tokens)
			continue
		}
		l.Questions++
		l.Of[r.Source]++
		l.Tokens += float64(r.Tokens)
		if r.Answered {
			l.Answered++
			l.By[r.Source]++
		}
	}
	l.Tokens /= float64(max(1, l.Questions))
	l.Idle /= float64(max(1, idle))
	l.P50, l.P95 = Percentiles(ms)
	return l
}
