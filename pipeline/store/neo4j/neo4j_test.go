package neo4j_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	driver "github.com/neo4j/neo4j-go-driver/v5/neo4j"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/neo4j"
	"satchel/pipeline/store/sqlite"
	"satchel/schemas"
	"satchel/test/conformance/graphtest"
	"satchel/test/testenv"
	"satchel/test/testenv/neo4jtest"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "8"); err != nil { // each is some hundred round trips
		panic(err)
	}
	m.Run()
}

func TestConformance(t *testing.T) {
	t.Parallel()
	place := neo4jtest.Open(t)
	graphtest.Run(t, graphtest.Harness{
		Open: func(ctx context.Context, name string) (graph.Driver, func() error, error) {
			c := config(place)
			c.Namespace += name + "/"
			db, err := neo4j.Open(ctx, c)
			if err != nil {
				return nil, nil, err
			}
			return db, func() error { return db.Close(context.WithoutCancel(ctx)) }, nil
		},
	})
}

func config(p neo4jtest.Place) neo4j.Config {
	return neo4j.Config{URL: p.URL, User: p.User, Password: p.Password, Namespace: p.Namespace, Timeout: 2 * time.Minute}
}

func open(t testing.TB, c neo4j.Config) *neo4j.DB {
	t.Helper()
	db, err := neo4j.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return db
}

func system(t *testing.T) scope.Scope {
	t.Helper()
	s, err := scope.System("acme")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// history is a log of n changes, the same for the same n.
func history(n int) []graph.Change {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	id := func() string { return fmt.Sprint("item-", r.IntN(n/2+1)) }
	log := make([]graph.Change, n)
	for i := range log {
		at := int64(i + 1)
		switch r.IntN(8) {
		case 0:
			log[i] = graph.Change{Position: at, Remove: []string{id(), id()}}
		case 1:
			log[i] = graph.Change{Position: at, Link: &schemas.MemoryLinked{From: id(), Links: []schemas.Link{{Rel: schemas.RelFollows, To: id()}}}}
		default:
			log[i] = graph.Change{Position: at, Put: &graph.Node{ID: id(), Position: at, Facets: facets(r),
				Links: []schemas.Link{{Rel: schemas.RelCausedBy, To: id()}, {Rel: schemas.RelMentions, To: id()}}, Entities: []string{fmt.Sprint("name ", r.IntN(9))}}}
		}
	}
	return log
}

func facets(r *rand.Rand) schemas.Facets {
	some := func(of ...string) []string { return of[:r.IntN(len(of)+1)] }
	return schemas.Facets{Kind: schemas.KindMemory, Type: schemas.MemoryType(fmt.Sprint(r.IntN(2))), Category: []string{"", "c"}[r.IntN(2)],
		Session: []string{"", "s1", "s2"}[r.IntN(3)], Level: schemas.Level(r.IntN(4)), Labels: some("l1", "l2"), Groups: some("g1", "g2"), Purposes: some("p1"),
		PII: r.IntN(2) == 0, Credentials: r.IntN(3) == 0, Trust: r.Float64(), Sensitivity: float64(r.IntN(3)) / 2, Signer: []string{"", "k"}[r.IntN(2)]}
}

// TestTwoWorkersAndTheEmbeddedStore: two processes fold one log side by side, and what
// comes of it is what SQLite has, to the byte.
func TestTwoWorkersAndTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	c, s, log := config(neo4jtest.Open(t)), system(t), history(300)
	var both sync.WaitGroup
	stores := []*graph.Graph{graph.New(open(t, c)), graph.New(open(t, c))}
	for _, g := range stores {
		both.Go(func() {
			for at := 0; at < len(log); at += 50 {
				if err := g.Apply(t.Context(), s, log[at:at+50], 0); err != nil {
					t.Errorf("up to %d: %v", at+50, err)
				}
			}
		})
	}
	both.Wait()
	file, err := sqlite.OpenGraph(t.Context(), sqlite.IndexConfig{Path: filepath.Join(t.TempDir(), "graph.db")})
	must(t, err)
	defer file.Close()
	embedded := graph.New(file)
	must(t, embedded.Apply(t.Context(), s, log, 0))
	want, err := embedded.Digest(t.Context(), s)
	must(t, err)
	for i, g := range stores {
		if got, err := g.Digest(t.Context(), s); err != nil || got != want {
			t.Errorf("store %d has another digest than SQLite; error %v", i, err)
		}
	}
	for i := range 40 {
		w := graph.Walk{From: []string{fmt.Sprint("item-", i)}, Entities: []string{fmt.Sprint("name ", i%9)}, Hops: 1 + i%3, FanOut: 1 + i%7, Limit: 20, Filter: schemas.MatchAll()}
		got, err := stores[0].Walk(t.Context(), s, w)
		must(t, err)
		want, err := embedded.Walk(t.Context(), s, w)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("walk %+v (-sqlite +neo4j):\n%s", w, diff)
		}
	}
}

// TestFiltersAreTheirMatch compares every operator and every field; the server plans each
// statement once, for some 100 ms, so not every pair.
func TestFiltersAreTheirMatch(t *testing.T) {
	t.Parallel()
	g, s, r := graph.New(open(t, config(neo4jtest.Open(t)))), system(t), rand.New(rand.NewPCG(7, 7))
	all := map[string]schemas.Facets{}
	log := []graph.Change{{Position: 1, Put: &graph.Node{ID: "root", Position: 1}}}
	for i := range 40 {
		id := fmt.Sprintf("n%02d", i)
		all[id] = facets(r)
		log = append(log, graph.Change{Position: int64(i + 2), Put: &graph.Node{ID: id, Position: int64(i + 2), Facets: all[id], Entities: []string{"x"}}})
	}
	must(t, g.Apply(t.Context(), s, log, 0))
	var filters []schemas.Filter
	words := func(op schemas.Op, fields ...schemas.Field) {
		for _, f := range fields {
			for _, values := range [][]string{nil, {""}, {"s1", "g2", "l1", "p1", "1"}} {
				filters = append(filters, schemas.Where(schemas.Cond{Field: f, Op: op, Values: values}))
			}
		}
	}
	words(schemas.In, schemas.FieldType, schemas.FieldLabels, schemas.FieldLevel, "x}) DETACH DELETE n //")
	words(schemas.NotIn, schemas.FieldSession, schemas.FieldGroups, "unheard of")
	words(schemas.EmptyOrIn, schemas.FieldSession, schemas.FieldPurposes)
	number := func(f schemas.Field, op schemas.Op, n float64) schemas.Cond {
		return schemas.Cond{Field: f, Op: op, Number: n}
	}
	filters = append(filters, schemas.Where(number(schemas.FieldTrust, schemas.AtMost, .5)), schemas.Where(number(schemas.FieldKind, schemas.AtMost, 9)),
		schemas.Where(number(schemas.FieldLevel, schemas.AtLeast, 1), number(schemas.FieldPII, schemas.AtMost, 0)),
		schemas.Where(number(schemas.FieldSensitivity, schemas.AtMost, .5), number(schemas.FieldCredentials, schemas.AtLeast, 0),
			schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: []string{"memory"}},
			schemas.Cond{Field: schemas.FieldSigner, Op: schemas.EmptyOrIn, Values: []string{"x"}},
			schemas.Cond{Field: schemas.FieldCategory, Op: schemas.NotIn, Values: []string{"d"}}),
		schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: "other", Values: []string{"memory"}}))
	for _, f := range filters {
		want := 0
		for _, x := range all {
			if f.Match(&x) {
				want++
			}
		}
		visits, err := g.Walk(t.Context(), s, graph.Walk{Entities: []string{"x"}, FanOut: 100, Filter: f})
		must(t, err)
		for _, v := range visits {
			if x := all[v.ID]; !f.Match(&x) {
				t.Errorf("%+v lets %s through", f, v.ID)
			}
		}
		if len(visits) != want {
			t.Errorf("%+v: %d items, want %d", f, len(visits), want)
		}
	}
}

// TestNothingIsLeftOfWhatWasRemoved: an entity that no item names any more would be
// content that outlives its erasure.
func TestNothingIsLeftOfWhatWasRemoved(t *testing.T) {
	t.Parallel()
	place := neo4jtest.Open(t)
	g, s := graph.New(open(t, config(place))), system(t)
	put := func(at int64, id string, names ...string) graph.Change {
		return graph.Change{Position: at, Put: &graph.Node{ID: id, Position: at, Entities: names, Links: []schemas.Link{{Rel: schemas.RelFollows, To: "far-" + id}}}}
	}
	must(t, g.Apply(t.Context(), s, []graph.Change{put(1, "a", "canary", "shared"), put(2, "b", "shared", "old")}, 0))
	must(t, g.Apply(t.Context(), s, []graph.Change{{Position: 3, Remove: []string{"a"}}, put(4, "b", "shared")}, 0))
	if diff := cmp.Diff([]string{"b", "far-b", "shared"}, names(t, place)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	must(t, g.Reset(t.Context(), s))
	if left := names(t, place); len(left) > 0 {
		t.Errorf("after a reset: %v", left)
	}
}

// names lists every item and entity of a place.
func names(t *testing.T, p neo4jtest.Place) (list []string) {
	t.Helper()
	d, err := driver.NewDriverWithContext(p.URL, driver.BasicAuth(p.User, p.Password, ""))
	must(t, err)
	defer d.Close(t.Context())
	r, err := driver.ExecuteQuery(t.Context(), d, "MATCH (n) WHERE n.tenant STARTS WITH $ns RETURN coalesce(n.id, n.name) AS x ORDER BY x",
		map[string]any{"ns": p.Namespace}, driver.EagerResultTransformer)
	must(t, err)
	for _, row := range r.Records {
		list = append(list, row.Values[0].(string))
	}
	return list
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	place := neo4jtest.Open(t)
	nobody, err := testenv.FreePort()
	must(t, err)
	empty := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(empty, []byte("nothing"), 0o600))
	for says, change := range map[string]func(*neo4j.Config){
		`refuses the password of user "neo4j"`: func(c *neo4j.Config) { c.Password = "not-this-one" },
		"cannot be reached": func(c *neo4j.Config) {
			c.URL, c.ConnectWait = fmt.Sprint("bolt://127.0.0.1:", nobody), time.Millisecond
		},
		`has no database "other"`:  func(c *neo4j.Config) { c.Database = "other" },
		"holds no PEM certificate": func(c *neo4j.Config) { c.CAFile = empty },
		"the URL holds a user":     func(c *neo4j.Config) { c.URL = "bolt://neo4j:secret@127.0.0.1" },
		"must be like bolt://":     func(c *neo4j.Config) { c.URL = "127.0.0.1" },
		"read certificates":        func(c *neo4j.Config) { c.CAFile = empty + "x" },
	} {
		c := config(place)
		change(&c)
		db, err := neo4j.Open(t.Context(), c)
		if db != nil || !errors.Is(err, neo4j.ErrUnusable) || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "not-this-one")) {
			t.Errorf("a secret is in %q", err)
		}
	}
}

// TestTheFirstWalkIsPlannedInTime: what the built-in policy lets an internal principal see is planned, on a server that has
// planned no walk of that tenant, well within the time that a request gives its graph.
func TestTheFirstWalkIsPlannedInTime(t *testing.T) { // not parallel: it measures time
	place := neo4jtest.Open(t)
	g, s := graph.New(open(t, config(place))), system(t)
	log := []graph.Change{
		{Position: 1, Put: &graph.Node{ID: "a", Position: 1, Facets: schemas.Facets{Level: 1, Trust: .5}, Entities: []string{"x"}}},
		{Position: 2, Put: &graph.Node{ID: "b", Position: 2, Facets: schemas.Facets{Level: 1, Trust: .5}, Entities: []string{"x"}, Links: []schemas.Link{{Rel: schemas.RelCausedBy, To: "a"}}}},
	}
	must(t, g.Apply(t.Context(), s, log, 0))
	within := func(f schemas.Field, op schemas.Op, n float64, values ...string) schemas.Cond {
		return schemas.Cond{Field: f, Op: op, Number: n, Values: values}
	}
	policy := schemas.Where(within(schemas.FieldLevel, schemas.AtMost, 1), within(schemas.FieldGroups, schemas.EmptyOrIn, 0), within(schemas.FieldPurposes, schemas.EmptyOrIn, 0),
		within(schemas.FieldTrust, schemas.AtLeast, .3), within(schemas.FieldCredentials, schemas.AtMost, 0), within(schemas.FieldSensitivity, schemas.AtMost, .7))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // on busy processors; the server alone takes a tenth
	defer cancel()
	began := time.Now()
	visits, err := g.Walk(ctx, s, graph.Walk{From: []string{"b"}, Entities: []string{"x"}, Hops: 2, FanOut: 50, Limit: 100, Filter: policy, Population: policy})
	t.Logf("%d visits after %v: %v", len(visits), time.Since(began), err)
	must(t, err)
	if len(visits) == 0 {
		t.Error("nothing was reached")
	}
}
