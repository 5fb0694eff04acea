package pipeline

import (
	"sync"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/pack"
	"satchel/pipeline/passage"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// Engine answers context requests. It is safe for concurrent use.
type Engine struct {
	cfg      Config
	selector *selection.Selector
	builder  *pack.Builder
	passages *passage.Reader
	texts    *compaction.Texts
	defenses *defend.Defenses
	shown    *selection.History
	measures func(tenant string) *measures
	counters tokenCounters
	sessions compactedSessions
}

// Warm reads new items, so that the first request that finds them need not. It changes no
// result.
func (e *Engine) Warm(s scope.Scope, records []schemas.Record) {
	if s.Check() != nil {
		return
	}
	items := make([]*candidate.Visible, len(records))
	for i := range records {
		v := candidate.NewVisible(&records[i], false)
		items[i] = &v
	}
	e.selector.Warm(s.Tenant(), items)
	e.defenses.Warm(items)
}

// InvalidateCaches drops the engine's copies of items in memory. Call it after an erasure.
func (e *Engine) InvalidateCaches() {
	e.selector.InvalidateCaches()
	e.defenses.InvalidateCaches()
	e.passages.InvalidateCaches()
	e.texts.Clear()
}

// tokenCounters remember the token counts of texts that are shown again and again, by
// tokenizer. The zero value works; it is safe for concurrent use.
type tokenCounters struct {
	mu sync.Mutex
	by map[string]token.Counter
}

// countedTexts is how many texts' counts are kept for each tokenizer.
const countedTexts = 32 << 10

// counter returns the counter of a model.
func (e *Engine) counter(model string) token.Counter {
	base := e.cfg.Tokens(model)
	e.counters.mu.Lock()
	defer e.counters.mu.Unlock()
	known := e.counters.by[base.Name()]
	if known == nil {
		if e.counters.by == nil {
			e.counters.by = map[string]token.Counter{}
		}
		known = token.Cached(base, countedTexts)
		e.counters.by[base.Name()] = known
	}
	return known
}
