package roles

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// How much the sentinel remembers of a tenant.
const (
	lookBack    = 4096 // entries read when a tenant is first looked at
	keptTenants = 256  // the one that was looked at longest ago goes, and is read again when it is
	keptPacks   = 16   // of a session or principal
	keptStreams = 4096 // sessions and principals; the one that was quiet longest goes
	writeWindow = time.Minute
	denyWindow  = 10 * time.Minute
)

// anomalyMonitor folds the logs into what the sentinel looks at. It is safe for concurrent use.
type anomalyMonitor struct {
	log Log

	tenants *lru.Cache[string, *tenantStats]
}

// tenantStats is one tenant, folded up to a position.
type tenantStats struct {
	mu       sync.Mutex
	position int64
	streams  map[string]*stream    // "session:…" and "principal:…"
	packs    map[string]*packTrace // by pack id, until its drop report is read
	writes   []write               // of the last minute, oldest first
}

// stream is what a session or a principal was shown and refused lately.
type stream struct {
	packs   []packTrace
	denials []refusal
	at      int64 // position of the newest
}

// refusal is a request that policy refused. silent: it answered, with nothing.
type refusal struct {
	at     time.Time
	silent bool
}

// packTrace is a pack in figures.
type packTrace struct {
	id             string
	session        string
	principal      string
	at             time.Time
	budget, tokens int
	items          int
	relevance      float64 // mean score of the three best items
	candidates     int
	denied         int
	injections     int
	rotten         int // duplicates, packs written back, stale and superseded items among the candidates
}

// write is how many memories an agent wrote in one second.
type write struct {
	agent string
	at    time.Time
	n     int
}

func newWatch(log Log) (*anomalyMonitor, error) {
	tenants, err := lru.New[string, *tenantStats](keptTenants)
	return &anomalyMonitor{log: log, tenants: tenants}, err
}

// foldNewEntries folds what the tenant's log has gained.
func (w *anomalyMonitor) foldNewEntries(ctx context.Context, s scope.Scope) (*tenantStats, error) {
	t, ok := w.tenants.Get(s.Tenant())
	if !ok {
		t = &tenantStats{streams: map[string]*stream{}, packs: map[string]*packTrace{}}
		head, err := w.log.Head(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("read log's head: %w", err)
		}
		if head.Size == 0 {
			return t, nil
		}
		t.position = head.Size - min(head.Size, lookBack)
		if had, found, _ := w.tenants.PeekOrAdd(s.Tenant(), t); found {
			t = had
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		entries, err := w.log.Read(ctx, s, t.position, 512)
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		if len(entries) == 0 {
			return t, nil
		}
		for i := range entries {
			t.observeEntry(&entries[i])
			t.position = entries[i].Position
		}
	}
}

// observeEntry folds one entry. Data that cannot be read says nothing.
func (t *tenantStats) observeEntry(e *eventlog.Entry) {
	if e.Erased {
		return
	}
	switch e.Type {
	case schemas.TypeMemoryRecorded:
		t.noteWrite(e)
	case schemas.TypeContextPacked:
		var p schemas.ContextPack
		if json.Unmarshal(e.Data, &p) == nil {
			trace := traceOf(&p, e.RecordedAt)
			t.packs[p.ID] = &trace
		}
	case schemas.TypeContextDropped:
		var d schemas.DropReport
		if json.Unmarshal(e.Data, &d) == nil && t.packs[d.PackID] != nil {
			p := t.packs[d.PackID]
			delete(t.packs, d.PackID)
			p.countDrops(&d)
			t.keepTrace(p, e.Position)
		}
	case schemas.TypeRequestRefused:
		var r schemas.Refusal
		if json.Unmarshal(e.Data, &r) == nil && r.Code == schemas.CodePolicyDenied {
			t.noteRefusal("principal:"+r.Principal, refusal{at: e.RecordedAt}, e.Position)
		}
	}
}

func (t *tenantStats) noteWrite(e *eventlog.Entry) {
	second := e.RecordedAt.Truncate(time.Second)
	if n := len(t.writes); n > 0 && t.writes[n-1].agent == e.Agent && t.writes[n-1].at.Equal(second) {
		t.writes[n-1].n++
	} else {
		t.writes = append(t.writes, write{e.Agent, second, 1})
	}
	old := 0
	for old < len(t.writes) && t.writes[old].at.Before(second.Add(-writeWindow)) {
		old++
	}
	t.writes = t.writes[old:]
}

func traceOf(p *schemas.ContextPack, at time.Time) packTrace {
	out := packTrace{id: p.ID, session: p.SessionID, principal: p.Principal, at: at, budget: p.TokenBudget, tokens: p.TokenActual}
	var scores []float64
	for _, section := range p.Sections {
		for i := range section.Items {
			scores = append(scores, section.Items[i].Score)
		}
	}
	out.items = len(scores)
	out.candidates = len(scores)
	slices.Sort(scores)
	best := scores[max(0, len(scores)-3):]
	for _, s := range best {
		out.relevance += s / float64(len(best))
	}
	return out
}

func (p *packTrace) countDrops(d *schemas.DropReport) {
	for i := range d.Drops {
		if d.Drops[i].Reason == schemas.DropPolicy {
			p.denied++ // a share that counted it would tell of it
			continue
		}
		p.candidates++
		switch d.Drops[i].Reason {
		case schemas.DropInjection:
			p.injections++
		case schemas.DropDuplicate, schemas.DropNewer, schemas.DropRecalled, schemas.DropStale, schemas.DropSuperseded:
			p.rotten++
		}
	}
}

func (t *tenantStats) keepTrace(p *packTrace, position int64) {
	names := []string{"principal:" + p.principal}
	if p.session != "" {
		names = append(names, "session:"+p.session)
	}
	for _, name := range names {
		st := t.obtainStream(name, position)
		st.packs = append(st.packs, *p)
		if n := len(st.packs); n > keptPacks {
			st.packs = slices.Delete(st.packs, 0, n-keptPacks)
		}
	}
	if p.items == 0 && p.denied > 0 {
		t.noteRefusal("principal:"+p.principal, refusal{at: p.at, silent: true}, position)
	}
}

func (t *tenantStats) noteRefusal(name string, one refusal, position int64) {
	st := t.obtainStream(name, position)
	st.denials = append(st.denials, one)
	st.denials = slices.DeleteFunc(st.denials, func(d refusal) bool { return d.at.Before(one.at.Add(-denyWindow)) })
}

func (t *tenantStats) obtainStream(name string, position int64) *stream {
	st := t.streams[name]
	if st == nil {
		if len(t.streams) >= keptStreams {
			oldest := ""
			least := int64(0)
			for n, s := range t.streams {
				if oldest == "" || s.at < least {
					oldest = n
					least = s.at
				}
			}
			delete(t.streams, oldest)
		}
		st = &stream{}
		t.streams[name] = st
	}
	st.at = position
	return st
}
