package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// The ways in which a pack is brought to a part of its size.
const (
	byCompaction = "compaction"
	byTruncation = "truncation"
	byHeadTail   = "head + tail"
)

// shrunk is what one way keeps of the evidence at one size.
type shrunk struct {
	Percent  int     `json:"percent"` // of the tokens of the pack
	Way      string  `json:"way"`
	Queries  int     `json:"queries"`
	Tokens   float64 `json:"tokens"`   // mean
	Kept     float64 `json:"kept"`     // mean share of the text of the evidence in the pack
	PerToken float64 `json:"perToken"` // characters of evidence for each token
	Answered float64 `json:"answered"` // mean share of the answer's terms
}

// shrink compacts the pack of each query to 25, 50 and 75 percent of its tokens and
// compares what is kept of the evidence with the beginning of the pack's text, and with
// its beginning and end, of as many tokens. Evidence is counted by the sentence.
func (s *system) shrink(ctx context.Context, set *measure.Set, budget int, progress func(done, total int)) ([]shrunk, error) {
	sums := map[int]map[string]*shrunk{}
	evidence := map[int]map[string]float64{}
	percents := []int{25, 50, 75}
	ways := []string{byCompaction, byTruncation, byHeadTail}
	for _, p := range percents {
		sums[p] = map[string]*shrunk{}
		evidence[p] = map[string]float64{}
		for _, w := range ways {
			sums[p][w] = &shrunk{Percent: p, Way: w}
		}
	}
	for i := range set.Queries {
		q := &set.Queries[i]
		progress(i+1, len(set.Queries))
		sc, req, err := s.request(q, budget)
		if err != nil {
			return nil, err
		}
		req.Payload.Compaction = schemas.CompactionOff
		whole, err := s.engine.Context(ctx, sc, req)
		if err != nil {
			return nil, err
		}
		facts := s.evidence(q, &whole.Payload)
		total := sumLengths(facts, whole.Payload.Text)
		if total == 0 {
			continue // the pack holds no evidence to keep
		}
		counter := s.n.Counter("")
		for _, p := range percents {
			size := max(1, whole.Payload.Pack.TokenActual*p/100)
			out, err := s.engine.Compact(ctx, sc, schemas.CompactRequest{PackID: whole.Payload.PackID, Query: q.Text, Budget: size}, &whole)
			if err != nil {
				return nil, fmt.Errorf("compact the pack of query %q: %w", q.ID, err)
			}
			for _, w := range ways {
				text := out.Text
				switch w {
				case byTruncation:
					text = token.Truncate(counter, whole.Payload.Text, size)
				case byHeadTail:
					text = token.Truncate(counter, whole.Payload.Text, size/2) + tail(counter, whole.Payload.Text, size-size/2)
				}
				kept := sumLengths(facts, text)
				sum := sums[p][w]
				sum.Queries++
				sum.Tokens += float64(counter.Count(text))
				sum.Kept += float64(kept) / float64(total)
				sum.Answered += measure.Answered(text, q)
				evidence[p][w] += float64(kept)
			}
		}
	}
	var list []shrunk
	for _, p := range percents {
		for _, w := range ways {
			r := sums[p][w]
			n := float64(max(1, r.Queries))
			r.PerToken = evidence[p][w] / max(1, r.Tokens)
			r.Tokens = r.Tokens / n
			r.Kept = r.Kept / n
			r.Answered = r.Answered / n
			list = append(list, *r)
		}
	}
	return list, nil
}

// evidence are the sentences of the relevant items that the pack shows.
func (s *system) evidence(q *measure.Query, p *schemas.ResultPayload) []string {
	relevant := map[string]bool{}
	for _, id := range q.Relevant {
		relevant[id] = true
	}
	var out []string
	for _, r := range p.Results {
		if !relevant[s.ids[r.ID]] {
			continue
		}
		for l := range strings.Lines(s.texts[r.ID]) {
			for sentence := range strings.SplitAfterSeq(l, ". ") {
				sentence = strings.TrimSpace(sentence)
				if len(sentence) > 3 {
					out = append(out, sentence)
				}
			}
		}
	}
	return out
}

// sumLengths adds up the sentences that a text holds.
func sumLengths(sentences []string, text string) int {
	n := 0
	for _, s := range sentences {
		if strings.Contains(text, s) {
			n += len(s)
		}
	}
	return n
}

// tail is the longest end of a text of at most n tokens, to within a few characters.
func tail(by token.Counter, text string, n int) string {
	lo := 0
	hi := len(text) // the tail begins in (lo, hi]
	for hi-lo > 4 {
		mid := (lo + hi) / 2
		if by.Count(text[mid:]) <= n {
			hi = mid
		} else {
			lo = mid
		}
	}
	return strings.ToValidUTF8(text[hi:], "")
}

func printShrunk(w io.Writer, set string, list []shrunk) error {
	if len(list) == 0 || list[0].Queries == 0 {
		_, err := fmt.Fprintf(w, "%s: no pack holds labelled evidence\n", set)
		return err
	}
	_, err := fmt.Fprintf(w, "%s: evidence kept of %d packs\n", set, list[0].Queries)
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "size\tby\ttokens\tevidence kept\tcharacters a token\tanswer's terms\t\n")
	for _, r := range list {
		fmt.Fprintf(tw, "%d%%\t%s\t%.0f\t%.3f\t%.3f\t%.3f\t\n", r.Percent, r.Way, r.Tokens, r.Kept, r.PerToken, r.Answered)
	}
	return errors.Join(err, tw.Flush())
}
