// Keyword is the embedded keyword index: BM25 in memory, one index per tenant.
//
// It owns the snapshot files under Config.Dir, one per tenant, and nothing else. A
// tenant is loaded from its snapshot when it is first asked for and written back when it
// is evicted, at Close, every Config.SnapshotEvery changes and by Scrub. A snapshot is
// replaced as a whole and carries its checkpoint and a SHA-256; one that is missing,
// damaged or of another version leaves the tenant empty at checkpoint 0, and the
// projector replays the log. Of a tenant without a snapshot and without changes nothing is
// kept. Text is never kept, only terms; a snapshot holds no term,
// id, label or session that only removed documents had.
//
// Scores, statistics and moments are exact. In a tenant with more documents than
// Config.CommonFrom, query terms that more than Config.CommonShare of them have are left
// out unless the query has no other.
//
// Readers wait for a writer only while it adds up to 64 documents or swaps in a
// compacted copy, never while it analyses text, compacts or writes a snapshot.

package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/internal/columns"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// ErrKeywordClosed is returned by every call after Close.
var ErrKeywordClosed = errors.New("keyword index is closed")

// ErrKeywordLost is returned while a tenant's snapshot turned out to be damaged after its checkpoint
// was read: the tenant begins again, and who applies changes reads its checkpoint again first.
var ErrKeywordLost = errors.New("keyword snapshot is damaged, and the index begins anew")

// ErrOrder is returned by Apply when positions fall or pass upTo.
var ErrOrder = errors.New("changes are not in order of position")

// KeywordConfig configures an Index. The zero value works: everything stays in memory.
type KeywordConfig struct {
	Dir           string  // folder of the snapshots; "": none, and no tenant is evicted
	MemoryBytes   int64   // evict the tenants used longest ago beyond this; 0: no limit. Tenants in use and the one used last stay
	SnapshotEvery int     // changes between snapshots of a tenant, or a quarter of its documents if that is more; 0: 100,000, negative: only at eviction and Close
	K1            float64 // BM25's term saturation; 0: 1.2
	B             float64 // BM25's length normalisation; 0: 0.75, negative: none
	CommonShare   float64 // share of documents that makes a term common; 0: 0.1
	CommonFrom    int     // documents from which common terms are left out; 0: 50,000, negative: always

	// OnError is told what went wrong beside a call that goes on without it: a damaged
	// snapshot was ignored, one could not be written. It may be nil. Errors name the
	// tenant, never content. It may be called from several goroutines at once and MUST NOT
	// call the index.
	OnError func(tenant string, err error)
}

func (c *KeywordConfig) fillKeywordDefaults() {
	c.SnapshotEvery = cmp.Or(c.SnapshotEvery, 100_000)
	c.K1 = cmp.Or(c.K1, 1.2)
	c.B = cmp.Or(c.B, .75)
	c.B = max(c.B, 0)
	c.CommonShare = cmp.Or(c.CommonShare, .1)
	c.CommonFrom = cmp.Or(c.CommonFrom, 50_000)
	if c.OnError == nil {
		c.OnError = func(string, error) {}
	}
}

// Validate reports what in c cannot be.
func (c *KeywordConfig) Validate() error {
	switch {
	case c.MemoryBytes < 0:
		return fmt.Errorf("memory_bytes %d: must not be negative", c.MemoryBytes)
	case c.K1 < 0:
		return fmt.Errorf("k1 %v: must not be negative", c.K1)
	case c.B > 1:
		return fmt.Errorf("b %v: must be at most 1", c.B)
	case c.CommonShare < 0 || c.CommonShare > 1:
		return fmt.Errorf("common_share %v: must be between 0 and 1", c.CommonShare)
	}
	return nil
}

// Keyword is a keyword.Index. It is safe for concurrent use.
type Keyword struct {
	*sharedIndex[*keywordState, keyword.Change]
	cfg     KeywordConfig
	scratch sync.Pool
}

var (
	_ keyword.Index = (*Keyword)(nil)
	_ keyword.Batch = (*Keyword)(nil)
)

// OpenKeyword returns an index over the snapshots in cfg.Dir, which it creates.
func OpenKeyword(cfg KeywordConfig) (*Keyword, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("open keyword index: %w", err)
	}
	cfg.fillKeywordDefaults()
	shared, err := openShared(sharedConfig[*keywordState, keyword.Change]{
		Name: "keyword", Named: true, Dir: cfg.Dir, Ext: ".kw", Kind: fmt.Sprint("keyword ", keyword.Version), MemoryBytes: cfg.MemoryBytes, SnapshotEvery: cfg.SnapshotEvery,
		New: newKeywordState, Position: func(c *keyword.Change) int64 { return c.Position },
		Encode: encodeState, Decode: readKeyword, OnError: cfg.OnError, Closed: ErrKeywordClosed, Lost: ErrKeywordLost,
	})
	if err != nil {
		return nil, fmt.Errorf("open keyword index: %w", err)
	}
	x := &Keyword{sharedIndex: shared, cfg: cfg}
	x.scratch.New = func() any { return &scratch{seen: map[uint32]int{}} }
	return x, nil
}

// Apply adds and removes documents. See keyword.Index.
func (x *Keyword) Apply(ctx context.Context, s scope.Scope, changes []keyword.Change, upTo int64) error {
	if err := inOrder(changes, upTo); err != nil {
		return fmt.Errorf("apply keyword changes: %w", err)
	}
	return x.sharedIndex.Apply(ctx, s, changes, upTo)
}

// Search returns the best hits. See keyword.Index.
func (x *Keyword) Search(ctx context.Context, s scope.Scope, q keyword.Query) (keyword.Result, error) {
	results, err := x.SearchEach(ctx, s, q, []schemas.Filter{q.Filter})
	if err != nil {
		return keyword.Result{}, err
	}
	return results[0], nil
}

// SearchEach is Search under each of the filters: the postings are read once for every
// eight of them. See keyword.Batch.
func (x *Keyword) SearchEach(ctx context.Context, s scope.Scope, q keyword.Query, filters []schemas.Filter) ([]keyword.Result, error) {
	if q.Limit < 0 || q.Limit > keyword.MaxLimit {
		return nil, fmt.Errorf("search keywords: limit %d: must be between 0 and %d", q.Limit, keyword.MaxLimit)
	}
	results := make([]keyword.Result, 0, len(filters))
	err := x.viewTenant(ctx, s, func(st *keywordState, sc *scratch) error {
		for some := range slices.Chunk(filters, columns.MaxFilters) {
			p := st.preparePlan(&x.cfg, &q, some, sc)
			found, err := st.searchBlocks(ctx, &p, len(some), q.Limit, sc)
			if err != nil {
				return err
			}
			results = append(results, found...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search keywords: %w", err)
	}
	return results, nil
}

// Score returns the query's score of each id. See keyword.Index.
func (x *Keyword) Score(ctx context.Context, s scope.Scope, q keyword.Query, ids []string) (scores []float64, err error) {
	err = x.viewTenant(ctx, s, func(st *keywordState, sc *scratch) error {
		p := st.preparePlan(&x.cfg, &q, []schemas.Filter{q.Filter}, sc)
		scores = st.scoreDocuments(&p, ids, sc)
		return nil
	})
	return scores, wrapError("score keywords", err)
}

// ScoreTexts returns the score of documents of these texts. See keyword.Index.
func (x *Keyword) ScoreTexts(ctx context.Context, s scope.Scope, q keyword.Query, texts []string) (scores []float64, err error) {
	err = x.viewTenant(ctx, s, func(st *keywordState, sc *scratch) error {
		p := st.preparePlan(&x.cfg, &q, []schemas.Filter{q.Filter}, sc)
		scores = make([]float64, len(texts))
		if p.docs == 0 {
			return nil // there is no population
		}
		unseen := st.findUnseenTerms(&p, &q, sc)
		for i, text := range texts {
			scores[i] = st.scoreText(&p, unseen, text, sc)
		}
		return nil
	})
	return scores, wrapError("score texts", err)
}

// viewTenant calls fn with the tenant's state, which stays as it is meanwhile.
func (x *Keyword) viewTenant(ctx context.Context, s scope.Scope, fn func(*keywordState, *scratch) error) error {
	t, err := x.acquireTenant(ctx, s)
	if err != nil {
		return err
	}
	defer x.release(t)
	sc := x.scratch.Get().(*scratch)
	defer x.scratch.Put(sc)
	defer t.RUnlock()
	return fn(t.RLock(), sc)
}
