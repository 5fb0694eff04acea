package rot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/evaluate"
	"satchel/cmd/internal/evaluate/measure"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// tenant is that of the node that is measured.
const tenant = evaluate.Tenant

// measurer asks every question at every point.
type measurer struct {
	app      *app.App
	settings settings
	rows     []Row
	timing   timing
	counts   map[string]int // tokens of the filler of one seed, by id
	bar      *terminal.ProgressBar
	done     int64 // of work
}

// perQuestion is how many items are imported in about the time of a question.
const perQuestion = 20

// work is how much there is to do, in items imported.
func (m *measurer) work() int64 {
	s := &m.settings
	items := s.seeds * s.sizes[len(s.sizes)-1]
	return int64(len(s.distortions)) * int64(items+s.max*len(s.sizes)*perQuestion)
}

// did shows that work was done.
func (m *measurer) did(work int64) {
	m.done += work
	m.bar.Set(m.done, m.work())
}

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

// measure fills in rows and timing.
func (m *measurer) measure(ctx context.Context) error {
	begun := time.Now()
	m.bar = m.app.Progress("measuring")
	defer m.bar.End()
	for seed := 1; seed <= m.settings.seeds; seed++ {
		m.counts = map[string]int{}
		for _, d := range m.settings.distortions {
			if err := m.measureHistory(ctx, uint64(seed), d); err != nil {
				return fmt.Errorf("seed %d, %s: %w", seed, d.name, err)
			}
		}
	}
	m.timing.Seconds = time.Since(begun).Seconds()
	return nil
}

// measureHistory measures one history at each size, on a node of its own.
func (m *measurer) measureHistory(ctx context.Context, seed uint64, d distortion) (err error) {
	h, err := newHistory(tenant, seed, d, m.settings.questions(int(seed)))
	if err != nil {
		return err
	}
	sys, err := evaluate.Open(ctx, m.app)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sys.Close(ctx)) }()
	for _, size := range m.settings.sizes {
		if err := m.measureSize(ctx, sys, h, size); err != nil {
			return fmt.Errorf("%d items: %w", size, err)
		}
	}
	return nil
}

// measureSize brings a history to a size and asks its questions.
func (m *measurer) measureSize(ctx context.Context, sys *evaluate.System, h *history, size int) error {
	fresh, err := h.grow(tenant, size)
	if err != nil {
		return err
	}
	point := timePoint{Seed: h.seed, Distortion: h.distort.name, Size: size, Ingested: len(fresh)}
	items := make([]schemas.MemoryItem, len(fresh))
	for i := range fresh {
		items[i] = fresh[i].item
	}
	begun, before := time.Now(), m.done
	if err := sys.Remember(ctx, items, func(done, _ int64) { m.did(before + done - m.done) }); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	point.IngestRate = float64(len(fresh)) / time.Since(begun).Seconds()
	sc, err := sys.Scope()
	if err != nil {
		return err
	}
	counter := sys.Counter("")
	tokens := func(i int) int {
		e := &h.entries[i]
		id := e.item.ID
		if e.asked >= 0 || e.role != filler {
			id = h.distort.name + " " + id
		}
		n, known := m.counts[id]
		if !known {
			n = counter.Count(e.text + "\n")
			m.counts[id] = n
		}
		return n
	}
	lines := newPlain(sys, h, sc, counter, tokens)
	var took []time.Duration
	for i := range h.questions {
		q := &h.questions[i]
		row := Row{Seed: h.seed, Distortion: h.distort.name, Number: h.distort.distractors, Size: size}
		for _, budget := range m.settings.budgets {
			p, lost, err := sys.Ask(ctx, &measure.Query{ID: q.id, Text: q.text, TS: measure.Timestamp{Time: now()}}, budget)
			if err != nil {
				return fmt.Errorf("question %q: %w", q.id, err)
			}
			took = append(took, p.Took)
			own := row
			own.Line, own.Budget = lineSatchel, budget
			h.judgePack(&own, q, &p, lost, counter, tokens)
			m.rows = append(m.rows, own)
		}
		rows, err := lines.rows(ctx, row, i, m.settings.budgets)
		if err != nil {
			return fmt.Errorf("question %q: %w", q.id, err)
		}
		m.rows = append(m.rows, rows...)
		m.did(perQuestion)
	}
	slices.Sort(took)
	ms := func(part int) float64 { return float64(took[len(took)*part/100].Microseconds()) / 1000 }
	point.P50, point.P95 = ms(50), ms(95)
	m.timing.Points = append(m.timing.Points, point)
	return nil
}
