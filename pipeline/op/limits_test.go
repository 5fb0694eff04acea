package op_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"satchel/schemas"
)

// talkSet puts a conversation of test/talk into a world and returns its questions.
func talkSet(t testing.TB, w *world, name string) (questions []string) {
	t.Helper()
	lines := func(file string, read func(line []byte)) {
		f, err := os.Open(filepath.Join("../../test/talk", name, file))
		must(t, err)
		defer f.Close()
		in := bufio.NewScanner(f)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			read(in.Bytes())
		}
		must(t, in.Err())
	}
	var list []schemas.MemoryItem
	lines("memories.jsonl", func(line []byte) {
		var m struct {
			Session, Speaker, Text string
			TS                     time.Time
		}
		must(t, json.Unmarshal(line, &m))
		one := memory(fmt.Sprint("m", len(list)), "level:public", m.Speaker, m.Text)
		one.Session, one.Seq, one.CreatedAt = m.Session, int64(len(list)), m.TS
		list = append(list, one)
	})
	w.put(t, "acme", list...)
	lines("queries.jsonl", func(line []byte) {
		var q struct{ Text string }
		must(t, json.Unmarshal(line, &q))
		questions = append(questions, q.Text)
	})
	return questions
}

// What a search finds with a limit is the beginning of what it finds with a higher one, with the same scores. Results are in the
// order of their scores.
func TestLimitsArePrefixes(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	type hit struct {
		id    string
		score float64
	}
	for _, question := range talkSet(t, w, "team-1")[:60] {
		search := func(limit int) (out []hit) {
			reply, err := w.engine.Search(t.Context(), as(t, "acme", schemas.Public), schemas.SearchRequest{Query: question, Limit: limit})
			must(t, err)
			for _, r := range reply.Results {
				out = append(out, hit{r.Memory.ID, r.Score})
			}
			return out
		}
		most := search(100)
		if !slices.IsSortedFunc(most, func(a, b hit) int {
			if a.score > b.score {
				return -1
			}
			return map[bool]int{true: 1}[a.score < b.score]
		}) {
			t.Errorf("%q: not in the order of the scores: %v", question, most)
		}
		for _, limit := range []int{5, 20, 50} {
			if got := search(limit); !slices.Equal(got, most[:min(limit, len(most))]) {
				t.Errorf("%q: the first %d are not those of 100:\n%v\n%v", question, limit, got, most)
			}
		}
	}
}
