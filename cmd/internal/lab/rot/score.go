package rot

import (
	"strconv"
	"strings"

	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/token"
)

// shares are the parts of a context's tokens that are of no use or do harm.
type shares struct {
	Distractors float64 `json:"distractors"`
	Superseded  float64 `json:"superseded"`
	Outdated    float64 `json:"outdated"`
	Duplicates  float64 `json:"duplicates"` // beyond the first text that states the answer
	Injections  float64 `json:"injections"` // shown as any other text
	Fenced      float64 `json:"fenced"`     // injections that are shown as a quotation, with a warning
}

// Row is one question at one point: a line of points.jsonl.
type Row struct {
	Line       string  `json:"line"`
	Seed       uint64  `json:"seed"`
	Distortion string  `json:"distortion"`
	Number     int     `json:"number"` // of distractors for each question
	Size       int     `json:"size"`   // items of the history
	Budget     int     `json:"budget"` // tokens; 0 is no limit
	Question   string  `json:"question"`
	Words      int     `json:"words"`    // content words that question and fact share: 3, 1, 0
	Position   float64 `json:"position"` // of the fact in the history: 0 is the oldest
	Absent     bool    `json:"absent"`   // nothing states the answer
	Evidence   float64 `json:"evidence"` // 1: a text that states the answer is in the context; of a set, the part of the relevant texts
	Answered   float64 `json:"answered"` // 1: the answer is in the context, word for word; of a set, the part of its words
	Abstained  bool    `json:"abstained"`
	Tokens     int     `json:"tokens"`
	Density    float64 `json:"density"`         // tokens of the evidence / tokens
	Place      float64 `json:"place,omitempty"` // of the evidence's first token in the context, 0–1
	Unnamed    int     `json:"unnamed"`         // items that were removed, and no drop report names them
	Shares     shares  `json:"shares"`

	placed bool // Place was found
}

// shown is a part of a context that comes from an item.
type shown struct {
	entry  int
	tokens float64
	fenced bool
}

// judge fills in what follows from what a context shows, in its order.
func (h *history) judge(row *Row, q *question, text string, parts []shown, counter token.Counter) {
	row.about(q)
	row.Answered = q.answered(text)
	total := float64(max(1, row.Tokens))
	for _, p := range parts {
		e := &h.entries[p.entry]
		share := p.tokens / total
		switch {
		case q.states(e) && row.Evidence == 1: // one text states it all
			row.Shares.Duplicates += share
		case q.states(e):
			if row.Evidence == 0 {
				if before, found := q.before(text, e); found {
					row.placed, row.Place = true, float64(counter.Count(before))/total
				}
			}
			row.Evidence += q.part()
			row.Density += share
		case e.role == distractor:
			row.Shares.Distractors += share
		case e.role == superseded:
			row.Shares.Superseded += share
		case e.role == outdated:
			row.Shares.Outdated += share
		case e.role == injection && p.fenced:
			row.Shares.Fenced += share
		case e.role == injection:
			row.Shares.Injections += share
		}
	}
}

// about says which question a row is of.
func (r *Row) about(q *question) {
	r.Question = q.id
	r.Words = q.words
	r.Position = q.place
	r.Absent = q.absent
}

// judgePack judges a pack of Satchel.
func (h *history) judgePack(row *Row, q *question, p *measure.Packed, counter token.Counter, counts []int) {
	row.Tokens = p.Tokens
	if p.Account.Named < p.Account.Removed {
		row.Unnamed++
	}
	row.Abstained = len(p.IDs) == 0 || strings.Contains(p.Text, candidate.NothingMentions)
	var parts []shown
	for i, id := range p.IDs {
		n := h.byID[id]
		part := shown{entry: n, tokens: p.Shares[id] * float64(counts[n])}
		part.fenced = h.entries[n].role == injection && strings.Contains(segment(p.Text, i+1), pack.Caution)
		parts = append(parts, part)
	}
	h.judge(row, q, p.Text, parts, counter)
}

// segment is the text of a pack from its n-th reference to the next.
func segment(text string, n int) string {
	mark := func(n int) string { return "[" + strconv.Itoa(n) + "] " }
	_, after, _ := strings.Cut(text, mark(n))
	before, _, _ := strings.Cut(after, "\n"+mark(n+1))
	return before
}
