package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"satchel/cmd/satchel/internal/eval"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// maxBeside is the loss of nDCG@10 above which servers count as worse, and minCosine what
// a vector on them has at least with the embedded one.
const (
	maxBeside = .01
	minCosine = .999
)

// besideWait is how many milliseconds a search may take: what is compared is what servers
// find, not what they find in time.
const besideWait = 60_000

// beside is one set on the embedded engines and on the servers, from the same log.
type beside struct {
	Set      string     `json:"set"`
	Memories int        `json:"memories"`
	Queries  int        `json:"queries"`
	Embedded besideSide `json:"embedded"`
	Servers  besideSide `json:"servers"`
	Loss     float64    `json:"loss_ndcg10"`
	Same     bool       `json:"same_digests"` // of items, keyword, vector and graph of every tenant
	Differ   []string   `json:"differ"`       // what does not have the same digest
	Vectors  int        `json:"vectors"`      // compared
	Cosine   float64    `json:"least_cosine"` // of two vectors of one item
	Moved    float64    `json:"moved_in_s"`   // copying the log and making the indexes from it
}

// besideSide is what one side has answered.
type besideSide struct {
	Recall10 float64 `json:"recall10"`
	NDCG10   float64 `json:"ndcg10"`
	P50      float64 `json:"p50_ms"`
	P95      float64 `json:"p95_ms"`
}

// problems says what of r is not as it should be.
func (r *beside) problems() []string {
	var list []string
	if r.Loss > maxBeside {
		list = append(list, fmt.Sprintf("%s loses %.3f nDCG@10 on the servers", r.Set, r.Loss))
	}
	if len(r.Differ) > 0 {
		list = append(list, fmt.Sprintf("%s: other digests of %v", r.Set, r.Differ))
	}
	if r.Vectors > 0 && r.Cosine < minCosine {
		list = append(list, fmt.Sprintf("%s: a vector has cosine %.4f with the embedded one", r.Set, r.Cosine))
	}
	return list
}

// runBeside runs the sets on both sides and prints one table. What is not equal is exit
// code 3.
func (c *evalCmd) runBeside(ctx context.Context, a *app, sets []string) error {
	var rows []beside
	var wrong []string
	for _, name := range sets {
		if eval.HasSpans(c.From, name) {
			continue
		}
		r, err := c.besideSet(ctx, a, name)
		if err != nil {
			return fmt.Errorf("set %q: %w", name, err)
		}
		rows, wrong = append(rows, r), append(wrong, r.problems()...)
	}
	var err error
	if a.JSON {
		err = a.printJSON(rows)
	} else {
		err = printBeside(a.out, rows)
	}
	if err == nil && len(wrong) > 0 {
		return &foundError{strings.Join(wrong, "; ")}
	}
	return err
}

// besideSet imports a set into a data folder, and asks it there and on the servers that a
// copy of the folder was migrated to.
func (c *evalCmd) besideSet(ctx context.Context, a *app, name string) (r beside, err error) {
	set, err := c.set(name)
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "satchel-eval-")
	if err != nil {
		return r, fmt.Errorf("make a data folder: %w", err)
	}
	defer os.RemoveAll(dir)
	here, err := a.apart(filepath.Join(dir, "embedded"), false)
	if err != nil {
		return r, err
	}
	there, err := a.apart(filepath.Join(dir, "servers"), true)
	if err != nil {
		return r, err
	}
	there.RetrievalMS = besideWait
	defer func() { err = errors.Join(err, there.dropSchemas(context.WithoutCancel(ctx))) }()
	sys, err := here.imported(ctx, &set)
	if err != nil {
		return r, err
	}
	if err := os.CopyFS(there.Dir, os.DirFS(here.Dir)); err != nil {
		return r, fmt.Errorf("copy the data folder: %w", err)
	}
	begun := time.Now()
	if err := there.moved(ctx); err != nil {
		return r, err
	}
	r = beside{Set: name, Memories: len(set.Memories), Queries: len(set.Queries)}
	err = here.running(ctx, func(embedded *node) error {
		return there.running(ctx, func(servers *node) error {
			r.Moved = time.Since(begun).Seconds()
			if err := r.compareStores(ctx, sys, embedded, servers); err != nil {
				return err
			}
			if r.Embedded, err = c.besideRun(ctx, a, &set, sys.on(embedded), "embedded"); err != nil {
				return err
			}
			r.Servers, err = c.besideRun(ctx, a, &set, sys.on(servers), "servers")
			r.Loss = r.Embedded.NDCG10 - r.Servers.NDCG10
			return err
		})
	})
	return r, err
}

// imported fills the app's folder with the set's memories and stops.
func (a *app) imported(ctx context.Context, set *eval.Set) (sys *evalSystem, err error) {
	err = a.running(ctx, func(n *node) error {
		sys = newEvalSystem(n, set)
		bar := a.bar(set.Name + ": importing")
		defer bar.end()
		return sys.load(ctx, set.Memories, bar.set)
	})
	return sys, err
}

// running calls f with a node that has every log indexed, and stops it.
func (a *app) running(ctx context.Context, f func(*node) error) (err error) {
	n, err := a.start(ctx, nodeOptions{noListen: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop(context.WithoutCancel(ctx))) }()
	tenants, err := n.log.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		s, err := scope.System(tenant)
		if err != nil {
			return err
		}
		head, err := n.log.Head(ctx, s)
		if err != nil {
			return err
		}
		if err := n.worker.Projector.Await(ctx, s, head.Size); err != nil {
			return err
		}
	}
	return f(n)
}

// moved brings the folder's log to the database, if there is one, as satchel migrate does.
func (a *app) moved(ctx context.Context) error {
	if a.DatabaseURL == "" {
		return nil
	}
	settings := *a.Settings
	settings.DatabaseURL = ""
	from := &app{Settings: &settings, out: io.Discard, err: a.err, in: a.in}
	return (&migrateCmd{To: a.DatabaseURL}).Run(ctx, from)
}

// on is the same set asked of another node.
func (s *evalSystem) on(n *node) *evalSystem {
	other := *s
	other.n, other.engine = n, n.engine
	return &other
}

func (c *evalCmd) besideRun(ctx context.Context, a *app, set *eval.Set, sys *evalSystem, where string) (besideSide, error) {
	bar := a.bar(set.Name + ": asking, " + where)
	defer bar.end()
	rows, err := eval.Run(ctx, *set, sys, eval.Options{Budgets: []int{slices.Max(c.Budget)},
		Progress: func(done, total int) { bar.set(int64(done), int64(total)) }})
	if err != nil {
		return besideSide{}, fmt.Errorf("ask, %s: %w", where, err)
	}
	lines := eval.Report(rows)
	all := lines[len(lines)-1]
	return besideSide{Recall10: all.Mean.Recall10, NDCG10: all.Mean.NDCG10, P50: all.P50, P95: all.P95}, nil
}

// compareStores compares the digests of every index of every tenant, and vectors.
func (r *beside) compareStores(ctx context.Context, sys *evalSystem, embedded, servers *node) error {
	r.Same, r.Cosine, r.Differ = true, 1, []string{}
	for tenant, safe := range sys.tenants {
		s, err := scope.System(safe)
		if err != nil {
			return err
		}
		one, err := embedded.digests(ctx, s)
		if err != nil {
			return err
		}
		two, err := servers.digests(ctx, s)
		if err != nil {
			return err
		}
		for i := range one {
			if one[i] != two[i] {
				r.Same = false
				r.Differ = append(r.Differ, tenant+"/"+one[i].index)
			}
		}
		n, least, err := leastCosine(ctx, s, embedded.embedder.Model().Dimensions, sys.short(tenant), embedded.vector, servers.vector)
		if err != nil {
			return err
		}
		r.Vectors, r.Cosine = r.Vectors+n, min(r.Cosine, least)
	}
	slices.Sort(r.Differ)
	return nil
}

// shortText is the length, in bytes, under which an item has one vector, and fewVectors how
// many a tenant are compared.
const (
	shortText  = 800
	fewVectors = 50
)

// short returns items of a tenant that have one vector.
func (s *evalSystem) short(tenant string) []string {
	var ids []string
	for _, id := range s.ofTenant[tenant] {
		if text := s.texts[id]; len(text) < shortText && len(ids) < fewVectors {
			ids = append(ids, id)
		}
	}
	return ids
}

// leastCosine compares the vectors that two indexes have of items with one vector each, and
// returns how many it has compared and the least cosine of two. It reads each number of a
// vector as its score against an axis.
func leastCosine(ctx context.Context, s scope.Scope, dimensions int, ids []string, one, two vector.Index) (n int, least float64, err error) {
	least = 1
	if len(ids) == 0 {
		return 0, least, nil
	}
	dots, ones, twos := make([]float64, len(ids)), make([]float64, len(ids)), make([]float64, len(ids))
	for axis := range dimensions {
		q := vector.Query{Vector: make([]float32, dimensions), Filter: schemas.MatchAll()}
		q.Vector[axis] = 1
		a, err := one.Score(ctx, s, q, ids)
		if err != nil {
			return 0, 0, err
		}
		b, err := two.Score(ctx, s, q, ids)
		if err != nil {
			return 0, 0, err
		}
		for i := range ids {
			dots[i], ones[i], twos[i] = dots[i]+a[i]*b[i], ones[i]+a[i]*a[i], twos[i]+b[i]*b[i]
		}
	}
	for i := range ids {
		if ones[i] == 0 && twos[i] == 0 {
			continue // nothing in the text has a vector
		}
		n++
		cosine := 0.0
		if ones[i] > 0 && twos[i] > 0 {
			cosine = dots[i] / math.Sqrt(ones[i]*twos[i])
		}
		least = min(least, cosine)
	}
	return n, least, nil
}

func printBeside(w io.Writer, rows []beside) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "set\tmemories\tqueries\tR@10 embedded\tservers\tnDCG@10 embedded\tservers\tloss\tp50/p95 ms embedded\tservers\tdigests\tvectors\tleast cosine\tmoved s\t\n")
	for _, r := range rows {
		digests := "same"
		if !r.Same {
			digests = "DIFFER"
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.1f/%.1f\t%.1f/%.1f\t%s\t%d\t%.5f\t%.1f\t\n", r.Set, r.Memories, r.Queries,
			r.Embedded.Recall10, r.Servers.Recall10, r.Embedded.NDCG10, r.Servers.NDCG10, r.Loss,
			r.Embedded.P50, r.Embedded.P95, r.Servers.P50, r.Servers.P95, digests, r.Vectors, r.Cosine, r.Moved)
	}
	return tw.Flush()
}
