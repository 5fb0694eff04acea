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

// mostRatings are the bytes that a file of ratings may have.
const mostRatings = 64 << 20

// RelevantShare is the share of the shown items that people should find relevant.
const RelevantShare = .85

// sampled is a pack that may be rated. What has the least rank is taken.
type sampled struct {
	rank   [sha256.Size]byte
	result []byte
}

// Sample writes n packs since a position for people to rate, as CSV, and returns how many there are. It takes
// packs that still hold their question and show an item. Which ones follows from the head of the log.
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
			var result struct {
				Payload struct{ Pack struct{ Query string } }
			}
			if err := json.Unmarshal(row.Attached.Data, &result); err != nil {
				return fmt.Errorf("read the result of pack %d: %w", row.Position, err)
			}
			if result.Payload.Pack.Query == "" {
				continue
			}
			next := sampled{sha256.Sum256(append(head.Root[:], row.ID...)), row.Attached.Data}
			at, _ := slices.BinarySearchFunc(taken, next, func(a, b sampled) int { return bytes.Compare(a.rank[:], b.rank[:]) })
			taken = slices.Insert(taken, at, next)
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
	out := []byte(byteOrderMark)
	out = appendLine(out, columns[:]...)
	for _, s := range taken {
		var result schemas.ContextResult
		if err := json.Unmarshal(s.result, &result); err != nil {
			return nil, fmt.Errorf("read a pack: %w", err)
		}
		p := &result.Payload
		for i := range p.Results {
			r := &p.Results[i]
			out = appendLine(out, p.PackID, p.Pack.Query, r.ID, r.Quoted(), "")
		}
	}
	return out, nil
}

// byteOrderMark is how a spreadsheet knows UTF-8.
const byteOrderMark = "\ufeff"

// appendLine appends a line of which every cell is quoted, so that no other separator divides one.
func appendLine(out []byte, cells ...string) []byte {
	for i, text := range cells {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(out, strings.ReplaceAll(cell(text), `"`, `""`)...)
		out = append(out, '"')
	}
	return append(out, '\n')
}

// cell keeps a spreadsheet from taking a text for a formula.
func cell(text string) string {
	if strings.IndexAny(strings.TrimLeft(text, byteOrderMark+"\x00 "), "=+-@＝＋－＠\t\r\n") == 0 {
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
	raw, err := io.ReadAll(io.LimitReader(in, mostRatings+1))
	switch {
	case err != nil:
		return out, fmt.Errorf("read ratings: %w", err)
	case len(raw) > mostRatings:
		return out, errors.New("read ratings: the file has more than 64 MiB")
	}
	lines := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(raw, []byte(byteOrderMark))))
	head, err := lines.Read()
	if err != nil {
		return out, fmt.Errorf("read ratings: the first line: %w", err)
	}
	pack := slices.Index(head, columns[0])
	item := slices.Index(head, columns[2])
	relevant := slices.Index(head, columns[4])
	if pack < 0 || item < 0 || relevant < 0 {
		return out, fmt.Errorf("read ratings: the first line needs the columns %q, %q and %q, separated by commas", columns[0], columns[2], columns[4])
	}
	seen := map[[2]string]bool{}
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
		line, _ := lines.FieldPos(relevant)
		shown := [2]string{record[pack], record[item]}
		if seen[shown] {
			return out, fmt.Errorf("read ratings: line %d: pack and item are there twice", line)
		}
		seen[shown] = true
		switch answer := strings.ToLower(strings.TrimSpace(record[relevant])); answer {
		case "":
			continue
		case "yes", "y", "1", "true":
			out.Relevant++
		case "no", "n", "0", "false":
		default:
			return out, fmt.Errorf("read ratings: line %d: %.40q is neither yes nor no", line, answer)
		}
		out.Rated++
		rated[record[pack]] = true
	}
	out.Packs = len(rated)
	if out.Packs == 0 {
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
	middle := share + z*z/(2*total)
	width := z * math.Sqrt(share*(1-share)/total+z*z/(4*total*total))
	return share, (middle - width) / (1 + z*z/total), (middle + width) / (1 + z*z/total)
}
