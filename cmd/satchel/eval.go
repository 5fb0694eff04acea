package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"satchel/cmd/satchel/internal/eval"
	"satchel/emitters"
	"satchel/pipeline"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

type evalCmd struct {
	From    string   `name:"data" help:"Folder of evaluation sets: SET/memories.jsonl (or tools.jsonl) and SET/queries.jsonl, or SET/texts.jsonl with marked personal data." required:"" type:"existingdir"`
	Set     []string `help:"Sets to run." xor:"which"`
	All     bool     `help:"Run every set of the folder." xor:"which"`
	Budget  []int    `help:"Token budgets of packs." default:"500,1000,2000"`
	Out     string   `help:"Write the raw run here, a JSON line a query." type:"path"`
	Compare bool     `help:"Rank also by BM25 alone and by vectors alone, over the same indexes, and print one table of all sets. --all does."`
	Ablate  bool     `help:"Rank also without each ingredient in turn."`
	Servers bool     `help:"Use the servers that the settings name for log, items, graph and vectors, in a place of its own that is dropped afterwards; without it the embedded engines."`
	Beside  bool     `help:"Run each set on the embedded engines and, from a copy of the same log, on the servers that the settings name; print what the servers lose, whether every index has the same digest, and how alike the vectors are."`
	Turns   int      `help:"Also ask along this many turns of the set's first conversation, and measure what packs share from turn to turn." default:"0"`
	Shrink  bool     `help:"Compact the packs of the largest budget to 25, 50 and 75 percent and say what evidence is kept, beside truncation and head + tail."`
	Account bool     `help:"Only hold every pack of every query against its drop report and its citations, and print one table; exit code 3 when one does not answer for all."`
	Kind    string   `name:"assemble" help:"Import the sets as items of this kind, code or commit, and fill packs by the assembler." enum:",code,commit" default:""`
	Repeat  string   `help:"Ask the questions of each tenant as turns of one session, with this repeat: full or stable." enum:",full,stable" default:""`
	Max     int      `help:"Only this many queries of each set; 0 is all." default:"0"`
}

// Help shows how it is called.
func (evalCmd) Help() string {
	return `The memories are published over JetStream, logged, indexed and asked for, as an agent would.
docs/selection.md says what is in a set's files. Without labels a question counts for nothing but the raw run. The settings --dir and --tenant
of other commands are not used: a temporary folder is.

Examples:
  satchel eval --data ./eval --set locomo --out run.jsonl
  satchel eval --data ./eval --all
  satchel eval --data ./eval --set locomo --ablate
  satchel eval --data ./eval --set locomo --set scifact --beside --max 200
  satchel eval --data ./eval --all --account
  satchel eval --data ./eval --set cosqa --assemble code
  satchel eval --data ./eval --set pii`
}

// Run evaluates the sets one after another.
func (c *evalCmd) Run(ctx context.Context, a *app) error {
	sets := c.Set
	if c.All {
		var err error
		if sets, err = eval.Sets(c.From); err != nil {
			return &usageError{err}
		}
	}
	if len(sets) == 0 {
		return usagef("name a set with --set, or take --all")
	}
	if c.Beside {
		return c.runBeside(ctx, a, sets)
	}
	if c.Account {
		return c.accounts(ctx, a, sets)
	}
	var out io.Writer
	if c.Out != "" {
		f, err := os.Create(c.Out)
		if err != nil {
			return usagef("write the raw run: %v", err)
		}
		defer f.Close()
		out = f
	}
	var reports []evalReport
	for _, name := range sets {
		if eval.HasSpans(c.From, name) {
			if err := runSpans(a, c.From, name); err != nil {
				return err
			}
			continue
		}
		r, err := c.runSet(ctx, a, name, out)
		if err != nil {
			return err
		}
		reports = append(reports, r)
		if !a.JSON && !c.All {
			printEval(a.out, r, c.Budget)
		}
		if !a.JSON && c.Shrink {
			if err := printShrunk(a.out, r.Set, r.Shrunk); err != nil {
				return err
			}
		}
	}
	if !a.JSON && (c.All || c.Compare || c.Ablate) {
		printCompared(a.out, reports)
	}
	if a.JSON && len(reports) > 0 {
		return a.printJSON(reports)
	}
	return nil
}

// evalReport is one set's result.
type evalReport struct {
	Set      string      `json:"set"`
	Memories int         `json:"memories"`
	Lines    []eval.Line `json:"lines"`
	Compared []compared  `json:"compared,omitempty"`
	Turns    []shared    `json:"turns,omitempty"`
	Shrunk   []shrunk    `json:"shrunk,omitempty"`
}

// set reads a set, with as many queries as are asked for.
func (c *evalCmd) set(name string) (eval.Set, error) {
	set, err := eval.Load(c.From, name)
	if err != nil {
		return set, &usageError{err}
	}
	if c.Max > 0 {
		set.Queries = set.Queries[:min(c.Max, len(set.Queries))]
	}
	return set, nil
}

// open starts a node of its own with the set in it. The caller MUST call done.
func (c *evalCmd) open(ctx context.Context, a *app, name string) (set eval.Set, sys *evalSystem, done func() error, err error) {
	if set, err = c.set(name); err != nil {
		return set, nil, nil, err
	}
	dir, err := os.MkdirTemp("", "satchel-eval-")
	if err != nil {
		return set, nil, nil, fmt.Errorf("make a data folder: %w", err)
	}
	own, err := a.apart(dir, c.Servers)
	if err != nil {
		return set, nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	n, err := own.start(ctx, nodeOptions{noListen: true})
	if err != nil {
		return set, nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	done = func() error {
		last := context.WithoutCancel(ctx)
		return errors.Join(n.stop(last), own.dropSchemas(last), os.RemoveAll(dir))
	}
	sys = newEvalSystem(n, &set)
	sys.kind, sys.repeat = schemas.Kind(c.Kind), c.Repeat
	bar := a.bar(name + ": importing")
	err = sys.load(ctx, set.Memories, bar.set)
	bar.end()
	if err != nil {
		return set, nil, nil, errors.Join(fmt.Errorf("import set %q: %w", name, err), done())
	}
	return set, sys, done, nil
}

func (c *evalCmd) runSet(ctx context.Context, a *app, name string, out io.Writer) (r evalReport, err error) {
	set, sys, done, err := c.open(ctx, a, name)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, done()) }()
	bar := a.bar(name + ": asking")
	rows, err := eval.Run(ctx, set, sys, eval.Options{Budgets: c.Budget, Out: out,
		Progress: func(done, total int) { bar.set(int64(done), int64(total)) }})
	bar.end()
	if err != nil {
		return r, err
	}
	r = evalReport{Set: name, Memories: len(set.Memories), Lines: eval.Report(rows)}
	for _, repeat := range []string{schemas.RepeatFull, "", schemas.RepeatStable} {
		if c.Turns > 1 {
			t, err := sys.turns(ctx, &set, c.Turns, slices.Max(c.Budget), repeat)
			if err != nil {
				return r, err
			}
			r.Turns = append(r.Turns, t)
		}
	}
	var variants []variant
	if c.Compare || c.All || c.Ablate {
		variants = comparisons()
	}
	if c.Ablate {
		variants = append(variants, ablations()...)
	}
	bar = a.bar(name + ": comparing")
	r.Compared, err = sys.compare(ctx, set, variants, func(done, total int) { bar.set(int64(done), int64(total)) })
	bar.end()
	if err != nil || !c.Shrink {
		return r, err
	}
	bar = a.bar(name + ": shrinking")
	r.Shrunk, err = sys.shrink(ctx, &set, slices.Max(c.Budget), func(done, total int) { bar.set(int64(done), int64(total)) })
	bar.end()
	return r, err
}

// evalSystem is a node as eval sees it. Ids and tenants that Satchel does not take are
// replaced on the way in and put back on the way out.
type evalSystem struct {
	n       *node
	engine  *pipeline.Engine
	query   string            // query type
	ids     map[string]string // safe id → id
	texts   map[string]string // safe id → text
	tenants map[string]string // tenant → safe tenant
	repeat  string            // of the requests, which are then turns of a session; "" for none
	kind    schemas.Kind      // of the items, which the assembler shows; "" for packs
	names   map[string]string // by which an assembly shows an item → id

	ofTenant map[string][]string // tenant → safe ids
}

func newEvalSystem(n *node, set *eval.Set) *evalSystem {
	s := &evalSystem{n: n, engine: n.engine, query: schemas.QueryHybrid, ids: map[string]string{}, texts: map[string]string{}, tenants: map[string]string{}, names: map[string]string{}, ofTenant: map[string][]string{}}
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

func (s *evalSystem) safeID(m *eval.Memory) string {
	id := safe(m.ID, true)
	for s.ids[id] != "" && s.ids[id] != m.ID {
		id += "_"
	}
	s.ids[id], s.texts[id] = m.ID, m.Text
	return id
}

func (s *evalSystem) load(ctx context.Context, memories []eval.Memory, progress func(done, total int64)) error {
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
		item := s.item(tenant, m, int64(len(byTenant[tenant])+1))
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
		e, err := emitters.New(s.n.nc, emitters.Config{Tenant: tenant, Agent: "eval"})
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
		sc, err := scope.System(tenant)
		if err != nil {
			return err
		}
		want := int64(len(byTenant[tenant]))
		for at := int64(0); at < want; {
			if at, err = s.n.log.Await(ctx, sc, at); err != nil {
				return err
			}
		}
		if err := s.n.worker.Projector.Await(ctx, sc, want); err != nil {
			return err
		}
	}
	return nil
}

func (s *evalSystem) item(tenant string, m *eval.Memory, seq int64) schemas.MemoryItem {
	item := schemas.MemoryItem{ID: s.safeID(m), Type: schemas.Episodic, Kind: schemas.KindMemory, Scope: schemas.MemoryScope{Tenant: tenant},
		CreatedAt: m.TS.Time, SecurityLabel: []string{"level:internal"}, Session: m.Session, Seq: seq, Speaker: m.Speaker,
		Content: schemas.TextContent(m.Text)}
	if item.CreatedAt.IsZero() {
		item.CreatedAt = time.Unix(0, 0).UTC()
	}
	if m.Speaker == "user" || m.Speaker == "assistant" {
		item.Role = m.Speaker
	}
	if m.Tool {
		item.Kind, item.Type = schemas.KindTool, schemas.Procedural
	}
	return item
}

func (s *evalSystem) request(q *eval.Query, budget int) (scope.Scope, schemas.ContextRequest, error) {
	sc, err := scope.New(s.tenants[q.Tenant], scope.Principal{Kind: "service", ID: "eval", Level: int(schemas.Internal)}, "evaluation")
	req := schemas.ContextRequest{Meta: schemas.Meta{Type: schemas.MessageContextRequest, From: &schemas.Agent{ID: "eval"}}}
	req.Payload = schemas.RequestPayload{Query: schemas.Query{Type: s.query, Text: q.Text}, Limit: 1000, TokenBudget: budget, Now: q.TS.Time}
	return sc, req, err
}

// Rank implements eval.System.
func (s *evalSystem) Rank(ctx context.Context, q *eval.Query) ([]eval.Ranked, error) {
	return s.Found(ctx, q, 2000)
}

// Found implements eval.System.
func (s *evalSystem) Found(ctx context.Context, q *eval.Query, budget int) ([]eval.Ranked, error) {
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
	ranked := make([]eval.Ranked, 0, min(200, len(candidates)))
	for i := range candidates[:min(200, len(candidates))] {
		ranked = append(ranked, eval.Ranked{ID: s.ids[candidates[i].Record.ID], Score: candidates[i].Score})
	}
	return ranked, nil
}

// Pack implements eval.System.
func (s *evalSystem) Pack(ctx context.Context, q *eval.Query, budget int) (eval.Packed, error) {
	if s.kind != "" {
		return s.assemble(ctx, q, budget)
	}
	sc, req, err := s.request(q, budget)
	if err != nil {
		return eval.Packed{}, err
	}
	if s.repeat != "" {
		req.Payload.Session, req.Payload.Repeat, req.Payload.Now = "eval-"+strconv.Itoa(budget), s.repeat, time.Time{}
	}
	start := time.Now()
	res, err := s.engine.Context(ctx, sc, req)
	if err != nil {
		return eval.Packed{}, err
	}
	took := time.Since(start)
	texts, err := s.seen(ctx, sc, &res)
	if err != nil {
		return eval.Packed{}, err
	}
	p := eval.Packed{Tokens: res.Payload.Pack.TokenActual, Shares: s.shares(&res.Payload, texts), Account: account(&res.Payload, texts), Text: res.Payload.Text, Took: took}
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

func printEval(w io.Writer, r evalReport, budgets []int) {
	fmt.Fprintf(w, "%s: %d memories\n", r.Set, r.Memories)
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "category\tqueries\tR@5\tR@10\tR@20\tnDCG@10\tMRR\t")
	budgets = slices.Sorted(slices.Values(budgets))
	for _, b := range budgets {
		fmt.Fprintf(tw, "ev@%d\t", b)
	}
	for _, b := range budgets {
		fmt.Fprintf(tw, "text@%d\t", b)
	}
	for _, b := range budgets {
		fmt.Fprintf(tw, "answer@%d\t", b)
	}
	fmt.Fprint(tw, "drops named\tcites\ttokens\tover\tp50 ms\tp95 ms\t\n")
	for _, l := range r.Lines {
		m := l.Mean
		fmt.Fprintf(tw, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t", l.Category, l.Queries, m.Recall5, m.Recall10, m.Recall20, m.NDCG10, m.MRR)
		for _, b := range budgets {
			fmt.Fprintf(tw, "%.3f\t", m.Evidence[b])
		}
		for _, b := range budgets {
			fmt.Fprintf(tw, "%.3f\t", m.Shown[b])
		}
		for _, b := range budgets {
			fmt.Fprintf(tw, "%.3f\t", m.Answered[b])
		}
		fmt.Fprintf(tw, "%s\t%s\t", percent(l.Account.Coverage()), percent(l.Account.Citations()))
		last := 0.0
		if len(budgets) > 0 {
			last = m.Tokens[budgets[len(budgets)-1]]
		}
		fmt.Fprintf(tw, "%.0f\t%d\t%.1f\t%.1f\t\n", last, l.Over, l.P50, l.P95)
	}
	if err := tw.Flush(); err != nil {
		fmt.Fprintln(w, err)
	}
	printTurns(w, r.Turns)
}
