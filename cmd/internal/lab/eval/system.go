package eval

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/lab/measure"
	"satchel/emitters"
	"satchel/pipeline/op"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// system is a node as eval sees it. Ids and tenants that Satchel does not take are
// replaced on the way in and put back on the way out.
type system struct {
	n       *app.Node
	engine  *op.Operations
	query   string            // query type
	ids     map[string]string // safe id → id
	texts   map[string]string // safe id → text
	tenants map[string]string // tenant → safe tenant
	repeat  string            // of the requests, which are then turns of a session; "" for none
	fill    bool              // packs take their whole budget
	kind    schemas.Kind      // of the items, which the assembler shows; "" for packs
	names   map[string]string // by which an assembly shows an item → id

	ofTenant map[string][]string // tenant → safe ids
}

func newSystem(n *app.Node, set *measure.Set) *system {
	s := &system{n: n, engine: n.Engine, query: schemas.QueryHybrid, ids: map[string]string{}, texts: map[string]string{}, tenants: map[string]string{}, names: map[string]string{}, ofTenant: map[string][]string{}}
	for i := range set.Memories {
		t := set.Memories[i].Tenant
		if _, ok := s.tenants[t]; !ok {
			s.tenants[t] = fmt.Sprintf("t%d-%s", len(s.tenants), safe(t, false))
		}
	}
	return s
}

// safe replaces what an id, or a tenant without dots and colons, may not hold.
func safe(text string, id bool) string {
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || id && (r == '.' || r == ':') {
			return r
		}
		return '_'
	}, text)
	if !id {
		s = s[:min(len(s), 40)]
	}
	return s
}

func (s *system) safeID(m *measure.Memory) string {
	id := safe(m.ID, true)
	for s.ids[id] != "" && s.ids[id] != m.ID {
		id += "_"
	}
	s.ids[id] = m.ID
	s.texts[id] = m.Text
	return id
}

func (s *system) load(ctx context.Context, memories []measure.Memory, progress func(done, total int64)) error {
	byTenant := map[string][]schemas.MemoryItem{}
	var order []string
	for i := range memories {
		m := &memories[i]
		if strings.TrimSpace(m.Text) == "" {
			continue // there is nothing to remember
		}
		tenant := s.tenants[m.Tenant]
		if byTenant[tenant] == nil {
			order = append(order, tenant)
		}
		item := m.Item(tenant, s.safeID(m), int64(len(byTenant[tenant])+1))
		if s.kind != "" {
			if err := s.asKind(&item, m); err != nil {
				return err
			}
		}
		byTenant[tenant] = append(byTenant[tenant], item)
		s.ofTenant[m.Tenant] = append(s.ofTenant[m.Tenant], byTenant[tenant][len(byTenant[tenant])-1].ID)
	}
	done := int64(0)
	for _, tenant := range order {
		e, err := emitters.New(s.n.NC, emitters.Config{Tenant: tenant, Agent: "eval"})
		if err != nil {
			return err
		}
		if _, err := e.RememberAll(ctx, byTenant[tenant]); err != nil {
			return err
		}
		done += int64(len(byTenant[tenant]))
		progress(done, int64(len(memories)))
	}
	for _, tenant := range order {
		if _, err := s.n.AwaitIndexed(ctx, tenant, int64(len(byTenant[tenant]))); err != nil {
			return err
		}
		if err := s.n.AwaitEncoded(ctx, tenant); err != nil {
			return err
		}
	}
	return nil
}

func (s *system) request(q *measure.Query, budget int) (scope.Scope, schemas.ContextRequest, error) {
	sc, err := scope.New(s.tenants[q.Tenant], scope.Principal{Kind: "service", ID: "eval", Level: int(schemas.Internal)}, "evaluation")
	req := schemas.ContextRequest{Meta: schemas.Meta{Type: schemas.MessageContextRequest, From: &schemas.Agent{ID: "eval"}}}
	req.Payload = schemas.RequestPayload{Query: schemas.Query{Type: s.query, Text: q.Text}, Limit: 1000, TokenBudget: budget, Fill: s.fill, Now: q.TS.Time}
	return sc, req, err
}

// Rank implements measure.System.
func (s *system) Rank(ctx context.Context, q *measure.Query) ([]measure.Ranked, error) {
	return s.Found(ctx, q, 2000)
}

// Found implements measure.System.
func (s *system) Found(ctx context.Context, q *measure.Query, budget int) ([]measure.Ranked, error) {
	sc, req, err := s.request(q, budget)
	if err != nil {
		return nil, err
	}
	candidates, err := s.engine.Rank(ctx, sc, req)
	var typed *schemas.Error
	if errors.As(err, &typed) && typed.Code == schemas.CodeEmbedding {
		return nil, nil // a query without a vector finds nothing by vectors alone
	}
	if err != nil {
		return nil, err
	}
	ranked := make([]measure.Ranked, 0, min(200, len(candidates)))
	for i := range candidates[:min(200, len(candidates))] {
		ranked = append(ranked, measure.Ranked{ID: s.ids[candidates[i].ID], Score: candidates[i].Score})
	}
	return ranked, nil
}

// Pack implements measure.System.
func (s *system) Pack(ctx context.Context, q *measure.Query, budget int) (measure.Packed, error) {
	if s.kind != "" {
		return s.assemble(ctx, q, budget)
	}
	sc, req, err := s.request(q, budget)
	if err != nil {
		return measure.Packed{}, err
	}
	if s.repeat != "" {
		req.Payload.Session = "eval-" + strconv.Itoa(budget)
		req.Payload.Repeat = s.repeat
		req.Payload.Now = time.Time{}
	}
	start := time.Now()
	res, err := s.engine.Context(ctx, sc, req)
	if err != nil {
		return measure.Packed{}, err
	}
	took := time.Since(start)
	texts, err := s.seen(ctx, sc, &res)
	if err != nil {
		return measure.Packed{}, err
	}
	p := measure.Packed{Tokens: res.Payload.Pack.TokenActual, Shares: s.shares(&res.Payload, texts), Account: account(&res.Payload, texts), Text: res.Payload.Text, Took: took}
	for _, section := range res.Payload.Pack.Sections {
		for _, item := range section.Items {
			p.IDs = append(p.IDs, s.ids[item.ID])
		}
	}
	for i := range res.Payload.Drop.Drops {
		p.Dropped = append(p.Dropped, s.ids[res.Payload.Drop.Drops[i].ItemID])
	}
	return p, nil
}
