package evidence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// columns head the file that people rate: a line for each item that a pack showed.
var columns = [...]string{"pack", "question", "item", "shown", "relevant"}

// RelevantShare is the share of the shown items that people should find relevant.
const RelevantShare = .85

// sampled is a pack that may be rated. What has the least rank is taken.
type sampled struct {
	rank   [sha256.Size]byte
	result []byte
}

// Sample writes n packs since a position for people to rate, as CSV, and returns how many there are. It takes
// packs that still hold their question and show an item. Which ones follows from the head of the log alone.
func Sample(ctx context.Context, src Source, since int64, n int) (file []byte, packs int, err error) {
	head, err := src.Log.Head(ctx, src.Scope)
	if err != nil {
		return nil, 0, err
	}
	var taken []sampled
	err = src.Log.ExportRange(ctx, src.Scope, max(since-1, 0), head.Size, func(rows []eventlog.Row) error {
		for i := range rows {
			row := &rows[i]
			if row.Type != schemas.TypeContextPacked || row.Source != schemas.SourceEngine || row.Attached == nil {
				continue
			}
			var result schemas.ContextResult
			if err := json.Unmarshal(row.Attached.Data, &result); err != nil {
				return fmt.Errorf("read the result of pack %d: %w", row.Position, err)
			}
			if result.Payload.Pack.Query == "" {
				continue
			}
			taken = append(taken, sampled{sha256.Sum256(append(head.Root[:], row.ID...)), row.Attached.Data})
			slices.SortFunc(taken, func(a, b sampled) int { return bytes.Compare(a.rank[:], b.rank[:]) })
			taken = taken[:min(n, len(taken))]
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	file, err = sheet(taken)
	return file, len(taken), err
}

// sheet writes the lines of the packs.
func sheet(taken []sampled) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	err := w.Write(columns[:])
	for _, s := range taken {
		var result schemas.ContextResult
		if err := json.Unmarshal(s.result, &result); err != nil {
			return nil, fmt.Errorf("read a pack: %w", err)
		}
		p := &result.Payload
		spans := map[string][]schemas.Span{}
		for _, section := range p.Pack.Sections {
			for i := range section.Items {
				spans[section.Items[i].ID] = section.Items[i].Spans
			}
		}
		for i := range p.Results {
			r := &p.Results[i]
			err = errors.Join(err, w.Write([]string{p.PackID, cell(p.Pack.Query), cell(r.ID), cell(parts(r.Content.Text(), spans[r.ID])), ""}))
		}
	}
	w.Flush()
	if err = errors.Join(err, w.Error()); err != nil {
		return nil, fmt.Errorf("write the sample: %w", err)
	}
	return out.Bytes(), nil
}

// parts are the spans of a text, or all of it.
func parts(text string, spans []schemas.Span) string {
	var shown []string
	for _, s := range spans {
		if 0 <= s.Start && s.Start < s.End && s.End <= len(text) {
			shown = append(shown, text[s.Start:s.End])
		}
	}
	if len(shown) == 0 {
		return text
	}
	return strings.Join(shown, "\n…\n")
}

// cell keeps a spreadsheet from taking a text for a formula.
func cell(text string) string {
	if strings.IndexAny(text, "=+-@\t\r\n") == 0 {
		return "'" + text
	}
	return text
}

// Rating says what people think of a sample.
type Rating struct {
	Packs    int     `json:"packs"` // with a rated item
	Items    int     `json:"items"`
	Rated    int     `json:"rated"`
	Relevant int     `json:"relevant"`
	Share    float64 `json:"share"` // of the rated items
	Low      float64 `json:"low"`   // the 95 % interval of the share, by Wilson
	High     float64 `json:"high"`
	Wanted   float64 `json:"wanted"`
}

// Good reports whether enough of what was rated is relevant.
func (r *Rating) Good() bool { return r.Share >= r.Wanted }

// Ratings reads a sample back that people have rated: yes or no in the column "relevant", empty for what
// nobody rated.
func Ratings(in io.Reader) (Rating, error) {
	out := Rating{Wanted: RelevantShare}
	lines := csv.NewReader(in)
	head, err := lines.Read()
	if err != nil {
		return out, fmt.Errorf("read ratings: the first line: %w", err)
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff") // spreadsheets write it
	pack, relevant := slices.Index(head, columns[0]), slices.Index(head, columns[len(columns)-1])
	if pack < 0 || relevant < 0 {
		return out, fmt.Errorf("read ratings: the first line needs the columns %q and %q, separated by commas", columns[0], columns[len(columns)-1])
	}
	rated := map[string]bool{}
	for {
		record, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, fmt.Errorf("read ratings: %w", err)
		}
		out.Items++
		switch answer := strings.ToLower(strings.TrimSpace(record[relevant])); answer {
		case "":
			continue
		case "yes", "y", "1", "true":
			out.Relevant++
		case "no", "n", "0", "false":
		default:
			line, _ := lines.FieldPos(relevant)
			return out, fmt.Errorf("read ratings: line %d: %.40q is neither yes nor no", line, answer)
		}
		out.Rated++
		rated[record[pack]] = true
	}
	if out.Packs = len(rated); out.Packs == 0 {
		return out, errors.New("read ratings: nothing is rated: write yes or no into the column \"relevant\"")
	}
	out.Share, out.Low, out.High = wilson(out.Relevant, out.Rated)
	return out, nil
}

// wilson returns a share with its 95 % interval.
func wilson(hits, n int) (share, low, high float64) {
	const z = 1.959964
	total := float64(n)
	share = float64(hits) / total
	middle, width := share+z*z/(2*total), z*math.Sqrt(share*(1-share)/total+z*z/(4*total*total))
	return share, (middle - width) / (1 + z*z/total), (middle + width) / (1 + z*z/total)
}
