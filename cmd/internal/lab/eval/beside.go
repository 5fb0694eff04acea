package eval

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

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/lab/measure"
	"satchel/pipeline/model"
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

// ServerComparison is one set on the embedded engines and on the servers, from the same log.
type ServerComparison struct {
	Set      string     `json:"set"`
	Memories int        `json:"memories"`
	Queries  int        `json:"queries"`
	Embedded serverSide `json:"embedded"`
	Servers  serverSide `json:"servers"`
	Loss     float64    `json:"loss_ndcg10"`
	Same     bool       `json:"same_digests"` // of items, keyword, vector and graph of every tenant
	Differ   []string   `json:"differ"`       // what does not have the same digest
	Vectors  int        `json:"vectors"`      // compared
	Cosine   float64    `json:"least_cosine"` // of two vectors of one item
	Moved    float64    `json:"moved_in_s"`   // copying the log and making the indexes from it
}

// serverSide is what one side has answered.
type serverSide struct {
	Recall10 float64 `json:"recall10"`
	NDCG10   float64 `json:"ndcg10"`
	P50      float64 `json:"p50_ms"`
	P95      float64 `json:"p95_ms"`
}

// problems says what of r is not as it should be.
func (r *ServerComparison) problems() []string {
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
func (c *Eval) runBeside(ctx context.Context, a *app.App, sets []string) error {
	var rows []ServerComparison
	var wrong []string
	for _, name := range sets {
		if measure.HasSpans(c.From, name) {
			continue
		}
		r, err := c.besideSet(ctx, a, name)
		if err != nil {
			return fmt.Errorf("set %q: %w", name, err)
		}
		rows = append(rows, r)
		wrong = append(wrong, r.problems()...)
	}
	var err error
	if a.JSON {
		err = command.PrintJSON(a, rows)
	} else {
		err = printBeside(a.Out, rows)
	}
	if err == nil && len(wrong) > 0 {
		return &command.FoundError{What: strings.Join(wrong, "; ")}
	}
	return err
}

// besideSet imports a set into a data folder, and asks it there and on the servers that a
// copy of the folder was migrated to.
func (c *Eval) besideSet(ctx context.Context, a *app.App, name string) (r ServerComparison, err error) {
	set, err := c.set(name)
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "satchel-eval-")
	if err != nil {
		return r, fmt.Errorf("make a data folder: %w", err)
	}
	defer os.RemoveAll(dir)
	here, err := a.Apart(filepath.Join(dir, "embedded"), false)
	if err != nil {
		return r, err
	}
	there, err := a.Apart(filepath.Join(dir, "servers"), true)
	if err != nil {
		return r, err
	}
	there.RetrievalMS = besideWait
	defer func() { err = errors.Join(err, there.DropSchemas(context.WithoutCancel(ctx))) }()
	sys, err := imported(ctx, here, &set)
	if err != nil {
		return r, err
	}
	if err := os.CopyFS(there.Dir, os.DirFS(here.Dir)); err != nil {
		return r, fmt.Errorf("copy the data folder: %w", err)
	}
	begun := time.Now()
	if err := moved(ctx, there); err != nil {
		return r, err
	}
	r = ServerComparison{Set: name, Memories: len(set.Memories), Queries: len(set.Queries)}
	err = running(ctx, here, func(embedded *app.Node) error {
		return running(ctx, there, func(servers *app.Node) error {
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
func imported(ctx context.Context, a *app.App, set *measure.Set) (sys *system, err error) {
	err = running(ctx, a, func(n *app.Node) error {
		sys = newSystem(n, set)
		bar := a.Progress(set.Name + ": importing")
		defer bar.End()
		return sys.load(ctx, set.Memories, bar.Set)
	})
	return sys, err
}

// running calls f with a node that has every log indexed, and stops it.
func running(ctx context.Context, a *app.App, f func(*app.Node) error) (err error) {
	n, err := a.Start(ctx, app.NodeOptions{NoListen: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop(context.WithoutCancel(ctx))) }()
	tenants, err := n.Log.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		if _, err := n.AwaitIndexed(ctx, tenant, 1); err != nil {
			return err
		}
		if err := n.AwaitEncoded(ctx, tenant); err != nil {
			return err
		}
	}
	return f(n)
}

// moved brings the folder's log to the database, if there is one, as satchel migrate does.
func moved(ctx context.Context, a *app.App) error {
	if a.DatabaseURL == "" {
		return nil
	}
	settings := *a.Settings
	settings.DatabaseURL = ""
	from := &app.App{Settings: &settings, Out: io.Discard, Err: a.Err, In: a.In}
	return (&command.Migrate{To: a.DatabaseURL}).Run(ctx, from)
}

// on is the same set asked of another node.
func (s *system) on(n *app.Node) *system {
	other := *s
	other.n = n
	other.engine = n.Engine
	return &other
}

func (c *Eval) besideRun(ctx context.Context, a *app.App, set *measure.Set, sys *system, where string) (serverSide, error) {
	bar := a.Progress(set.Name + ": asking, " + where)
	defer bar.End()
	rows, err := measure.Run(ctx, *set, sys, measure.Options{Budgets: []int{slices.Max(c.Budget)},
		Progress: func(done, total int) { bar.Set(int64(done), int64(total)) }})
	if err != nil {
		return serverSide{}, fmt.Errorf("ask, %s: %w", where, err)
	}
	lines := measure.Report(rows)
	all := lines[len(lines)-1]
	return serverSide{Recall10: all.Mean.Recall10, NDCG10: all.Mean.NDCG10, P50: all.P50, P95: all.P95}, nil
}

// compareStores compares the digests of every index of every tenant, and vectors.
func (r *ServerComparison) compareStores(ctx context.Context, sys *system, embedded, servers *app.Node) error {
	r.Same = true
	r.Cosine = 1
	r.Differ = []string{}
	for tenant, safe := range sys.tenants {
		s, err := scope.System(safe)
		if err != nil {
			return err
		}
		one, err := embedded.Digests(ctx, s)
		if err != nil {
			return err
		}
		two, err := servers.Digests(ctx, s)
		if err != nil {
			return err
		}
		for i := range one {
			if one[i] != two[i] {
				r.Same = false
				r.Differ = append(r.Differ, tenant+"/"+one[i].Index)
			}
		}
		n, least, err := leastCosine(ctx, s, embedded.Embedder.Model(), sys.short(tenant), embedded.Vector, servers.Vector)
		if err != nil {
			return err
		}
		r.Vectors = r.Vectors + n
		r.Cosine = min(r.Cosine, least)
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
func (s *system) short(tenant string) []string {
	var ids []string
	for _, id := range s.ofTenant[tenant] {
		if text := s.texts[id]; len(text) < shortText && len(ids) < fewVectors {
			ids = append(ids, id)
		}
	}
	return ids
}

// leastCosine compares the vectors of a model that two indexes have of items with one vector each, and
// returns how many it has compared and the least cosine of two. It reads each number of a
// vector as its score against an axis.
func leastCosine(ctx context.Context, s scope.Scope, of model.EmbeddingModel, ids []string, one, two vector.Index) (n int, least float64, err error) {
	least = 1
	if len(ids) == 0 {
		return 0, least, nil
	}
	dots := make([]float64, len(ids))
	ones := make([]float64, len(ids))
	twos := make([]float64, len(ids))
	for axis := range of.Dimensions {
		q := vector.Query{Vector: make([]float32, of.Dimensions), Model: of.String(), Filter: schemas.MatchAll()}
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
			dots[i] = dots[i] + a[i]*b[i]
			ones[i] = ones[i] + a[i]*a[i]
			twos[i] = twos[i] + b[i]*b[i]
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

func printBeside(w io.Writer, rows []ServerComparison) error {
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
