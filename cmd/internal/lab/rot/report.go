package rot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
)

// format names the file rot.json.
const format = "rot-report/1"

// stat is a mean and the ends of its 95 % interval.
type stat struct{ mean, low, high float64 }

// MarshalJSON writes [mean, low, high].
func (s stat) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%s,%s,%s]", digits(s.mean), digits(s.low), digits(s.high)), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *stat) UnmarshalJSON(raw []byte) error {
	var list [3]float64
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	s.mean = list[0]
	s.low = list[1]
	s.high = list[2]
	return nil
}

// digits writes a number with six digits.
func digits(x float64) string { return fmt.Sprintf("%.6g", x) }

// Point sums up the questions of one line at one size, distortion and budget. Figures are means over the questions that
// the history answers; Abstained is one over those that it does not.
type Point struct {
	Line        string `json:"line"`
	Size        int    `json:"size"`
	Distortion  string `json:"distortion"`
	Number      int    `json:"number"` // of distractors for each question
	Budget      int    `json:"budget"`
	Questions   int    `json:"questions"`
	Evidence    stat   `json:"evidence"`
	Answered    stat   `json:"answered"`
	Density     stat   `json:"density"`
	Place       stat   `json:"place"` // over the contexts in which the evidence is known by its beginning
	Tokens      stat   `json:"tokens"`
	Distractors stat   `json:"distractors"`
	Superseded  stat   `json:"superseded"`
	Outdated    stat   `json:"outdated"`
	Duplicates  stat   `json:"duplicates"`
	Injections  stat   `json:"injections"`
	Fenced      stat   `json:"fenced"`
	Absent      int    `json:"absent"` // questions that nothing answers
	Abstained   stat   `json:"abstained"`
	Silent      stat   `json:"silent"`  // abstained, of the questions that the history answers
	Unnamed     int    `json:"unnamed"` // items that were removed, and no drop report names them
}

// Part sums up the questions with one property, over every distortion.
type Part struct {
	Line      string `json:"line"`
	Size      int    `json:"size"`
	Budget    int    `json:"budget"`
	Value     string `json:"value"`
	Questions int    `json:"questions"`
	Evidence  stat   `json:"evidence"`
	Answered  stat   `json:"answered"`
	Density   stat   `json:"density"`
}

// Measured is what a run was asked to measure.
type Measured struct {
	Format      string   `json:"format"`
	Set         string   `json:"set,omitempty"` // "": the built-in facts
	Sizes       []int    `json:"sizes"`
	Budgets     []int    `json:"budgets"`
	Distortions []string `json:"distortions"`
	Seeds       int      `json:"seeds"`
	Max         int      `json:"max"`
}

// Report is rot.json.
type Report struct {
	Measured
	Points   []Point `json:"points"`
	Overall  []Part  `json:"overall"`
	Position []Part  `json:"position"` // by fifths of the history in which the fact stands, the oldest first
	Words    []Part  `json:"words"`    // by the content words that question and fact share
}

// measured says what the settings ask for.
func (s *settings) measured() Measured {
	m := Measured{Format: format, Sizes: s.sizes, Budgets: s.budgets, Seeds: s.seeds, Max: s.max}
	if s.set != nil {
		m.Set = s.set.Name
	}
	for _, d := range s.distortions {
		m.Distortions = append(m.Distortions, d.name)
	}
	return m
}

// fifths name the places of a fact in its history.
func fifths() []string {
	return []string{"0.0–0.2", "0.2–0.4", "0.4–0.6", "0.6–0.8", "0.8–1.0"}
}

func fifth(place float64) string { return fifths()[min(4, int(place*5))] }

// sumUp makes the report of all rows.
func sumUp(s *settings, rows []Row) Report {
	r := Report{Measured: s.measured()}
	for _, size := range s.sizes {
		for _, line := range lineNames() {
			for _, budget := range budgetsOf(line, s.budgets) {
				at := where(rows, func(row *Row) bool { return row.Size == size && row.Line == line && row.Budget == budget })
				for _, d := range s.distortions {
					r.Points = append(r.Points, pointOf(where(at, func(row *Row) bool { return row.Distortion == d.name })))
				}
				at = where(at, func(row *Row) bool { return !row.Absent })
				r.Overall = append(r.Overall, partOf("", at)...)
				if line == lineAll {
					continue
				}
				for _, value := range fifths() {
					r.Position = append(r.Position, partOf(value, where(at, func(row *Row) bool { return fifth(row.Position) == value }))...)
				}
				for _, words := range []int{3, 2, 1, 0} {
					r.Words = append(r.Words, partOf(fmt.Sprint(words), where(at, func(row *Row) bool { return row.Words == words }))...)
				}
			}
		}
	}
	return r
}

// budgetsOf are the budgets of a line; all has none.
func budgetsOf(line string, budgets []int) []int {
	if line == lineAll {
		return []int{0}
	}
	return budgets
}

func where(rows []Row, holds func(*Row) bool) []Row {
	var list []Row
	for i := range rows {
		if holds(&rows[i]) {
			list = append(list, rows[i])
		}
	}
	return list
}

// pointOf sums up the rows of one point, of which there is at least one.
func pointOf(rows []Row) Point {
	first := &rows[0]
	p := Point{Line: first.Line, Size: first.Size, Distortion: first.Distortion, Number: first.Number, Budget: first.Budget}
	answerable := where(rows, func(r *Row) bool { return !r.Absent })
	absent := where(rows, func(r *Row) bool { return r.Absent })
	p.Questions = len(answerable)
	p.Absent = len(absent)
	for _, figure := range []struct {
		to   *stat
		rows []Row
		of   func(*Row) float64
	}{
		{&p.Evidence, answerable, evidence}, {&p.Answered, answerable, answered},
		{&p.Density, answerable, density},
		{&p.Place, where(answerable, func(r *Row) bool { return r.placed }), func(r *Row) float64 { return r.Place }},
		{&p.Tokens, answerable, func(r *Row) float64 { return float64(r.Tokens) }},
		{&p.Distractors, answerable, func(r *Row) float64 { return r.Shares.Distractors }},
		{&p.Superseded, answerable, func(r *Row) float64 { return r.Shares.Superseded }},
		{&p.Outdated, answerable, func(r *Row) float64 { return r.Shares.Outdated }},
		{&p.Duplicates, answerable, func(r *Row) float64 { return r.Shares.Duplicates }},
		{&p.Injections, answerable, func(r *Row) float64 { return r.Shares.Injections }},
		{&p.Fenced, answerable, func(r *Row) float64 { return r.Shares.Fenced }},
		{&p.Abstained, absent, abstained}, {&p.Silent, answerable, abstained},
	} {
		*figure.to = mean(figure.rows, figure.of)
	}
	for i := range rows {
		p.Unnamed += rows[i].Unnamed
	}
	return p
}

func evidence(r *Row) float64  { return r.Evidence }
func answered(r *Row) float64  { return r.Answered }
func abstained(r *Row) float64 { return indicator(r.Abstained) }
func density(r *Row) float64   { return r.Density }

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// partOf sums up rows under a value; nothing when there is none.
func partOf(value string, rows []Row) []Part {
	if len(rows) == 0 {
		return nil
	}
	first := &rows[0]
	return []Part{{first.Line, first.Size, first.Budget, value, len(rows), mean(rows, evidence), mean(rows, answered), mean(rows, density)}}
}

// mean is a figure of rows and its interval.
func mean(rows []Row, of func(*Row) float64) stat {
	values := make([]float64, len(rows))
	for i := range rows {
		values[i] = of(&rows[i])
	}
	return interval(values)
}

// resamples are drawn for an interval.
const resamples = 1000

// interval returns the mean of values and the ends of the middle 95 % of the means of resamples; zeros for no values. The
// same values give the same interval.
func interval(values []float64) stat {
	if len(values) == 0 {
		return stat{}
	}
	total := 0.0
	for _, v := range values {
		total += v
	}
	n := float64(len(values))
	s := stat{mean: total / n}
	if slices.Min(values) == slices.Max(values) {
		s.low = s.mean
		s.high = s.mean
		return s
	}
	rng := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range values {
			sum += values[rng.IntN(len(values))]
		}
		means[i] = sum / n
	}
	slices.Sort(means)
	s.low = means[resamples*25/1000]
	s.high = means[resamples*975/1000-1]
	return s
}

// encode writes rot.json: a line for each point.
func (r *Report) encode() ([]byte, error) {
	raw, err := json.Marshal(r.Measured)
	if err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(raw, []byte("}")))
	err = errors.Join(encodeList(b, "points", r.Points), encodeList(b, "overall", r.Overall), encodeList(b, "position", r.Position), encodeList(b, "words", r.Words))
	b.WriteString("}\n")
	return b.Bytes(), err
}

// encodeList appends a member of the report.
func encodeList[T any](b *bytes.Buffer, name string, list []T) error {
	fmt.Fprintf(b, ",\n%q: [", name)
	for i := range list {
		raw, err := json.Marshal(list[i])
		if err != nil {
			return fmt.Errorf("encode a point: %w", err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(raw)
	}
	b.WriteString("\n]")
	return nil
}

// encodeLines writes points.jsonl.
func encodeLines(rows []Row) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range rows {
		row := rows[i]
		for _, f := range []*float64{&row.Evidence, &row.Answered, &row.Position, &row.Density, &row.Place, &row.Shares.Distractors, &row.Shares.Superseded, &row.Shares.Outdated,
			&row.Shares.Duplicates, &row.Shares.Injections, &row.Shares.Fenced} {
			*f = math.Round(*f*1e6) / 1e6
		}
		if err := enc.Encode(row); err != nil {
			return nil, fmt.Errorf("encode a point: %w", err)
		}
	}
	return b.Bytes(), nil
}

// overall is a line at one size and budget, over every distortion.
func (r *Report) overall(size int, line string, budget int) Part {
	for _, p := range r.Overall {
		if p.Size == size && p.Line == line && (p.Budget == budget || line == lineAll) {
			return p
		}
	}
	return Part{}
}

// printReport prints two tables: the lines beside each other, and Satchel under each distortion at the middle budget.
func printReport(w io.Writer, r *Report) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "items\tbudget\t")
	for _, line := range lineNames() {
		fmt.Fprintf(tw, "%s evidence\tanswer\tdensity\t", line)
	}
	fmt.Fprintln(tw)
	for _, size := range r.Sizes {
		for _, budget := range r.Budgets {
			fmt.Fprintf(tw, "%d\t%d\t", size, budget)
			for _, line := range lineNames() {
				p := r.overall(size, line, budget)
				fmt.Fprintf(tw, "%.3f\t%.3f\t%.4f\t", p.Evidence.mean, p.Answered.mean, p.Density.mean)
			}
			fmt.Fprintln(tw)
		}
	}
	budget := r.middle()
	fmt.Fprintf(tw, "\nSatchel at %d tokens\n", budget)
	fmt.Fprint(tw, "distortion\titems\tevidence\tanswer\tdensity\tplace\ttokens\tdistractors\tsuperseded\toutdated\tduplicates\tinjections\tfenced\tabstained\tsilent\tunnamed\t\n")
	for _, d := range r.Distortions {
		for i := range r.Points {
			p := &r.Points[i]
			if p.Distortion != d || p.Line != lineSatchel || p.Budget != budget {
				continue
			}
			fmt.Fprintf(tw, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.0f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f of %d\t%.3f\t%d\t\n", d, p.Size, p.Evidence.mean, p.Answered.mean,
				p.Density.mean, p.Place.mean, p.Tokens.mean, p.Distractors.mean, p.Superseded.mean, p.Outdated.mean, p.Duplicates.mean, p.Injections.mean, p.Fenced.mean,
				p.Abstained.mean, p.Absent, p.Silent.mean, p.Unnamed)
		}
	}
	return tw.Flush()
}

// middle is the budget at which curves over the size are drawn.
func (r *Report) middle() int { return middle(r.Budgets) }

func (s *settings) middle() int { return middle(s.budgets) }

func middle(budgets []int) int { return budgets[(len(budgets)-1)/2] }
