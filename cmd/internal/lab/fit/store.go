package fit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// store is the items of a set, by tenant, in indexes of this process.
type store struct {
	*app.Engines
	selector *selection.Selector
	tenants  map[string]string // of the set → of the store
	ids      map[string]string // of the store → of the set
}

// open fills new indexes with the items of a set. The caller MUST call Close.
func open(ctx context.Context, s *measure.Set, by app.Embedders) (*store, error) {
	engines, err := app.OpenEngines(ctx, by)
	if err != nil {
		return nil, err
	}
	out := &store{Engines: engines, tenants: map[string]string{}, ids: map[string]string{}}
	byTenant := map[string][]schemas.MemoryItem{}
	for i := range s.Memories {
		m := &s.Memories[i]
		tenant, ok := out.tenants[m.Tenant]
		if !ok {
			tenant = fmt.Sprint("t", len(out.tenants))
			out.tenants[m.Tenant] = tenant
		}
		n := len(out.ids)
		id := fmt.Sprint("i", n)
		out.ids[id] = m.ID
		byTenant[tenant] = append(byTenant[tenant], m.Item(tenant, id, int64(n)))
	}
	for tenant, list := range byTenant {
		sc, err := scope.System(tenant)
		if err == nil {
			err = out.index(ctx, sc, list)
		}
		if err != nil {
			return nil, errors.Join(err, out.Close())
		}
	}
	return out, out.weigh(nil)
}

// weigh ranks by other weights from now on; nil are the shipped ones.
func (st *store) weigh(weights *rank.Weights) (err error) {
	st.Weights = weights
	st.selector, err = selection.New(st.Config)
	return err
}

func (st *store) index(ctx context.Context, sc scope.Scope, list []schemas.MemoryItem) error {
	var ic []items.Change
	var kc []keyword.Change
	vc := make([]vector.Change, len(list))
	ec := make([]vector.Change, len(list))
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = schemas.SearchText(&list[i])
	}
	for i := range list {
		m := list[i]
		at := int64(i + 1)
		text := texts[i]
		facets := m.Facets()
		ic = append(ic, items.Change{Position: at, At: m.CreatedAt, Put: &schemas.Record{MemoryItem: m, Position: at, RecordedAt: m.CreatedAt, Terms: language.CountTerms(text), Facets: facets}})
		kc = append(kc, keyword.Change{Position: at, Put: &keyword.Doc{ID: m.ID, Position: at, Text: text, Facets: facets}})
		vc[i] = vector.Change{Position: at, Put: &vector.Doc{ID: m.ID, Position: at, Facets: facets}}
		ec[i] = vector.Change{Position: at, Put: &vector.Doc{ID: m.ID, Position: at, Facets: facets}}
	}
	n := int64(len(list))
	err := errors.Join(st.Items.Apply(ctx, sc, ic, n), st.Keyword.Apply(ctx, sc, kc, n), fill(ctx, sc, st.Vector, st.Embedder, texts, vc))
	if st.Encoder != nil {
		err = errors.Join(err, fill(ctx, sc, st.Encoded, st.Encoder, texts, ec))
	}
	return err
}

// fill gives the items of the changes their vectors and applies them.
func fill(ctx context.Context, sc scope.Scope, into vector.Index, by model.Embedder, texts []string, changes []vector.Change) error {
	vectors, err := by.Embed(ctx, texts)
	if err != nil {
		return err
	}
	for i := range changes {
		changes[i].Put.Chunks = []vector.Chunk{{Vector: vectors[i]}}
	}
	return into.Apply(ctx, sc, changes, int64(len(changes)))
}

// ask returns the best candidates of a question that is asked now.
func (st *store) ask(ctx context.Context, tenant, text string, limit int, now time.Time) ([]candidate.Candidate, error) {
	sc, err := scope.System(tenant)
	if err != nil {
		return nil, err
	}
	pool, err := st.selector.Find(ctx, sc, selection.Query{Text: text, Filter: schemas.MatchAll(), Limit: limit, Now: now})
	if err != nil {
		return nil, err
	}
	defer st.selector.Release(pool)
	var seen candidate.Authorized
	for _, r := range pool.Records() {
		if r == nil {
			seen.Visible = append(seen.Visible, nil)
		} else {
			v := candidate.NewVisible(r.Record, false)
			seen.Visible = append(seen.Visible, &v)
		}
	}
	seen.Verdicts = slices.Repeat([]*schemas.Verdict{{}}, len(seen.Visible))
	seen.Own = make([]bool, len(seen.Visible))
	ranking, err := st.selector.Rank(ctx, sc, pool, seen)
	return ranking.Candidates, err
}
