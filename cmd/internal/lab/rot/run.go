package rot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/lab/eval"
	"satchel/cmd/internal/lab/measure"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// tenant is that of the node that is measured.
const tenant = eval.Tenant

// measurer asks every question at every point.
type measurer struct {
	app      *app.App
	settings settings
	rows     []Row
	timing   timing
	bar      *terminal.ProgressBar
	done     atomic.Int64 // of work
	examiner *examiner    // nil: no model is asked
	replies  []reply
}

// perQuestion is how many items are imported in about the time of a question.
const perQuestion = 40

// work is how much there is to do, in items imported.
func (m *measurer) work() int64 {
	s := &m.settings
	items := s.seeds * s.sizes[len(s.sizes)-1]
	return int64(len(s.distortions)) * int64(items+s.max*len(s.sizes)*perQuestion)
}

// did shows that work was done.
func (m *measurer) did(work int) { m.bar.Set(m.done.Add(int64(work)), m.work()) }

// timing is how long it all took.
type timing struct {
	Seconds float64     `json:"seconds"`
	Points  []timePoint `json:"points"`
}

// timePoint is one history at one size.
type timePoint struct {
	Seed       uint64  `json:"seed"`
	Distortion string  `json:"distortion"`
	Size       int     `json:"size"`
	Ingested   int     `json:"ingested"` // items since the size before
	IngestRate float64 `json:"ingested_per_s"`
	P50        float64 `json:"pack_p50_ms"`
	P95        float64 `json:"pack_p95_ms"`
}

func (t *timing) encode() ([]byte, error) {
	raw, err := json.MarshalIndent(t, "", "  ")
	return append(raw, '\n'), err
}

// nodes are how many histories are measured at the same time.
const nodes = 2

// measure fills in rows and timing.
func (m *measurer) measure(ctx context.Context) error {
	begun := time.Now()
	m.bar = m.app.Progress("measuring")
	defer m.bar.End()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(min(nodes, runtime.GOMAXPROCS(0)))
	var all []*measured
	for seed := 1; seed <= m.settings.seeds; seed++ {
		for _, d := range m.settings.distortions {
			one := &measured{measurer: m}
			all = append(all, one)
			group.Go(func() error {
				if err := one.measure(ctx, uint64(seed), d); err != nil {
					return fmt.Errorf("seed %d, %s: %w", seed, d.name, err)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, one := range all {
		m.rows = append(m.rows, one.rows...)
		m.timing.Points = append(m.timing.Points, one.points...)
		m.replies = append(m.replies, one.replies...)
	}
	m.timing.Seconds = time.Since(begun).Seconds()
	return nil
}

// measured is one history.
type measured struct {
	*measurer
	sys     *eval.System
	h       *history
	counts  []int // tokens of its entries
	rows    []Row
	points  []timePoint
	replies []reply
}

// measure measures one history at each size, on a node of its own.
func (m *measured) measure(ctx context.Context, seed uint64, d distortion) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.h, err = m.settings.history(seed, d); err != nil {
		return err
	}
	if m.sys, err = eval.Open(ctx, m.app); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, m.sys.Close())
		m.h = nil
		m.sys = nil
		m.counts = nil
	}()
	for _, size := range m.settings.sizes {
		if err := m.measureSize(ctx, size); err != nil {
			return fmt.Errorf("%d items: %w", size, err)
		}
	}
	return nil
}

// measureSize brings the history to a size and asks its questions.
func (m *measured) measureSize(ctx context.Context, size int) error {
	point, err := m.grow(ctx, size)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	counter := m.sys.Counter("")
	for i := len(m.counts); i < len(m.h.entries); i++ {
		m.counts = append(m.counts, counter.Count(m.h.entries[i].text+"\n"))
	}
	lines, err := newPlain(m.sys, m.h, counter, m.counts)
	if err != nil {
		return err
	}
	var history string // for a model
	if m.examiner != nil {
		history = lines.recent(m.examiner.context)
	}
	var took []float64 // ms
	for i := range m.h.questions {
		row := Row{Seed: m.h.seed, Distortion: m.h.distort.name, Number: m.h.distort.distractors, Size: size}
		p, times, err := m.ask(ctx, row, i, counter)
		if err != nil {
			return fmt.Errorf("question %q: %w", m.h.questions[i].id, err)
		}
		if m.examiner != nil {
			if err := m.examine(ctx, &m.h.questions[i], &p, history); err != nil {
				return err
			}
		}
		rows, err := lines.rows(ctx, row, i, m.settings.budgets)
		if err != nil {
			return fmt.Errorf("question %q: %w", m.h.questions[i].id, err)
		}
		m.rows = append(m.rows, rows...)
		took = append(took, times...)
		m.did(perQuestion)
	}
	point.P50, point.P95 = measure.Percentiles(took)
	m.points = append(m.points, point)
	return nil
}

// grow publishes what the history lacks of a size.
func (m *measured) grow(ctx context.Context, size int) (timePoint, error) {
	fresh, err := m.h.grow(tenant, size)
	if err != nil {
		return timePoint{}, err
	}
	point := timePoint{Seed: m.h.seed, Distortion: m.h.distort.name, Size: size, Ingested: len(fresh)}
	items := make([]schemas.MemoryItem, len(fresh))
	for i := range fresh {
		items[i] = fresh[i].item
	}
	begun := time.Now()
	before := 0
	err = m.sys.Remember(ctx, items, func(done, _ int64) {
		m.did(int(done) - before)
		before = int(done)
	})
	point.IngestRate = float64(len(fresh)) / time.Since(begun).Seconds()
	return point, err
}

// ask asks Satchel a question, by its number, at each budget. At one budget, by turns, it ranks once more and looks for
// items that are neither shown nor named. It returns the pack of the middle budget.
func (m *measured) ask(ctx context.Context, row Row, number int, counter token.Counter) (middle measure.Packed, took []float64, err error) {
	q := &m.h.questions[number]
	for n, budget := range m.settings.budgets {
		asked := measure.Query{ID: q.id, Text: q.text, TS: measure.Timestamp{Time: q.asked}}
		p, err := m.sys.Ask(ctx, &asked, budget)
		if err != nil {
			return middle, nil, err
		}
		if budget == m.settings.middle() {
			middle = p
		}
		took = append(took, float64(p.Took.Microseconds())/1000)
		own := row
		own.Line = lineSatchel
		own.Budget = budget
		m.h.judgePack(&own, q, &p, counter, m.counts)
		if n == number%len(m.settings.budgets) {
			lost, err := m.sys.Lost(ctx, &asked, budget, &p)
			if err != nil {
				return middle, nil, err
			}
			own.Unnamed += len(lost)
		}
		m.rows = append(m.rows, own)
	}
	return middle, took, nil
}
