package eventlog

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// recentEntries keeps the entries committed last, so that those who follow the log need not read
// back and check what was hashed a moment ago. It is a cache of what is committed: it
// holds nothing of a tenant whose content was erased since, and a damaged or changed
// database shows in it no more than in a reader that came before the damage.
type recentEntries struct {
	mu      sync.RWMutex
	limit   int // bytes; 0 keeps nothing
	size    int
	tenants map[string]*window
	order   []tailed // oldest first; entries of a dropped window are passed over
}

// window is the dense end of one tenant's log.
type window struct {
	first   int64 // position of entries[0]
	entries []Entry
}

type tailed struct {
	window *window
	tenant string
	bytes  int
	at     time.Time
}

// Entries that are older than followAge are kept up to an eighth of the limit alone: those who follow
// the log have read them.
const followAge = time.Second

// entryOverhead is about what an entry takes beside its data.
const entryOverhead = 1 << 10

// readRecentEntries returns at most limit entries after a position; false when it does not hold the
// first of them.
func (t *recentEntries) readRecentEntries(tenant string, after int64, limit int) ([]Entry, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	w := t.tenants[tenant]
	if w == nil || after+1 < w.first || after+1 >= w.first+int64(len(w.entries)) {
		return nil, false
	}
	from := w.entries[after+1-w.first:]
	out := make([]Entry, min(limit, len(from)))
	copy(out, from)
	for i := range out {
		out[i].Extensions = maps.Clone(out[i].Extensions)
	}
	return out, true
}

// findLeaf returns the leaf hash of a position; false when it does not hold its entry.
func (t *recentEntries) findLeaf(tenant string, position int64) (tlog.Hash, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	w := t.tenants[tenant]
	if w == nil || position < w.first || position >= w.first+int64(len(w.entries)) {
		return tlog.Hash{}, false
	}
	return w.entries[position-w.first].Leaf, true
}

// keepEntries keeps what was committed for a tenant.
func (t *recentEntries) keepEntries(tenant string, rows []Row, leaves []tlog.Hash, drafts []*prepared) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limit <= 0 || len(rows) == 0 {
		return
	}
	w := t.tenants[tenant]
	if w == nil || w.first+int64(len(w.entries)) != rows[0].Position {
		t.forgetTenant(tenant)
		w = &window{first: rows[0].Position}
		t.tenants[tenant] = w
	}
	for i := range rows {
		r := &rows[i]
		e := Entry{
			Tenant: tenant, Position: r.Position, Agent: r.Agent, Type: r.Type, Source: r.Source, ID: r.ID,
			Subject: r.Subject, Time: normaliseTime(r.Time), RecordedAt: normaliseTime(r.RecordedAt), Commitment: r.Commitment,
			Attachment: r.Attachment, Leaf: leaves[i], Attached: r.Attached != nil, Data: r.Content.Data[:len(r.Content.Data):len(r.Content.Data)],
		}
		if e.Data == nil {
			e.Data = []byte{}
		}
		if len(drafts[i].draft.Extensions) > 0 {
			e.Extensions = maps.Clone(drafts[i].draft.Extensions)
		}
		w.entries = append(w.entries, e)
		one := tailed{w, tenant, len(e.Data) + entryOverhead, r.RecordedAt}
		t.order = append(t.order, one)
		t.size += one.bytes
	}
	t.trimOldEntries(rows[len(rows)-1].RecordedAt)
}

// normaliseTime returns a time as the database gives it back.
func normaliseTime(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return time.Unix(0, at.UnixNano()).UTC()
}

// trimOldEntries drops the oldest entries above the limit.
func (t *recentEntries) trimOldEntries(now time.Time) {
	n := 0
	for n < len(t.order) {
		one := t.order[n]
		if t.size <= t.limit/8 || t.size <= t.limit && now.Sub(one.at) <= followAge {
			break
		}
		n++
		t.size -= one.bytes
		if t.tenants[one.tenant] != one.window {
			continue
		}
		one.window.entries[0] = Entry{}
		one.window.entries = one.window.entries[1:]
		one.window.first++
		if len(one.window.entries) == 0 {
			delete(t.tenants, one.tenant)
		}
	}
	clear(t.order[:n])
	t.order = t.order[n:]
}

// dropTenant forgets a tenant.
func (t *recentEntries) dropTenant(tenant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetTenant(tenant)
}

func (t *recentEntries) forgetTenant(tenant string) {
	w := t.tenants[tenant]
	if w == nil {
		return
	}
	delete(t.tenants, tenant)
	clear(w.entries)
	w.entries = nil
}

// clearEntries forgets everything.
func (t *recentEntries) clearEntries() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tenants = map[string]*window{}
	t.order = nil
	t.size = 0
}

// stopKeepingEntries forgets everything and keeps nothing more.
func (t *recentEntries) stopKeepingEntries() {
	t.clearEntries()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit = 0
}
