package source

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/model/static"
	"satchel/schemas"
)

func drawVectors(t *rapid.T) [][]float32 {
	vectors := make([][]float32, rapid.IntRange(0, 40).Draw(t, "vectors"))
	for i := range vectors {
		v := rapid.SliceOfN(rapid.Float32Range(-1, 1), 3, 3).Draw(t, "vector")
		var norm float64
		for _, x := range v {
			norm += float64(x) * float64(x)
		}
		for j := range v {
			if norm > 0 {
				v[j] = float32(float64(v[j]) / math.Sqrt(norm))
			}
		}
		vectors[i] = v
	}
	return vectors
}

func TestClustersKeepWhatTheyPromise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		vectors, threshold, least := drawVectors(t), rapid.Float64Range(.1, 1).Draw(t, "threshold"), rapid.IntRange(2, 4).Draw(t, "least")
		clusters := findClusters(vectors, threshold, least)
		seen := map[int]bool{}
		for i, c := range clusters {
			if len(c.members) < least || !slices.IsSorted(c.members) || !slices.Contains(c.members, c.leader) || !slices.Contains(c.members, c.medoid) || c.similarity < 0 || c.similarity > 1 {
				t.Fatalf("cluster %+v", c)
			}
			if i > 0 && len(c.members) > len(clusters[i-1].members) {
				t.Fatal("a later cluster is larger")
			}
			for _, m := range c.members {
				if m != c.leader && vecmath.Cosine(vectors[m], vectors[c.leader]) < threshold || seen[m] {
					t.Fatalf("%d is far from its leader, or in two clusters", m)
				}
				seen[m] = true
			}
		}
		for i := range vectors { // what is left has fewer neighbours among itself
			n := 1
			for j := range vectors {
				if i != j && !seen[i] && !seen[j] && vecmath.Cosine(vectors[i], vectors[j]) >= threshold && vecmath.Cosine(vectors[j], vectors[j]) > 0 {
					n++
				}
			}
			if n >= least {
				t.Fatalf("%d could have made a cluster of %d", i, n)
			}
		}
	})
}

// experiences are three of a kind, two of another, and one alone.
func experiences() []Experience {
	var all []Experience
	for i, cause := range []string{"The disk was full of old logs", "A disk that was full of logs", "Old logs had filled the disk", "The clock of the server was wrong", "The server had a wrong clock", "A typo"} {
		a := schemas.ExperienceAttributes{RootCause: cause, Domain: "debugging", Lesson: &schemas.Lesson{WhatWorked: fmt.Sprint("lesson ", i)}, GHAPID: fmt.Sprint("g", i)}
		all = append(all, Experience{Attributes: a, Item: schemas.MemoryItem{ID: fmt.Sprint("ghap:g", i), CreatedAt: time.Unix(int64(i), 0), SecurityLabel: []string{"level:internal"}, Content: schemas.TextContent(cause)}})
	}
	return all
}

func rootCauses(t *testing.T, all []Experience, known []KnownValue) []Value {
	t.Helper()
	e, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	found, err := Values(t.Context(), e, all, known, ValueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var causes []Value
	for _, v := range found {
		item := v.Item("acme", 7)
		if issues := item.Validate(); len(issues) > 0 {
			t.Error(issues)
		}
		if v.Axis == "root_cause" {
			causes = append(causes, v)
		}
	}
	return causes
}

func knownOf(found []Value) []KnownValue {
	var known []KnownValue
	for _, v := range found {
		k := KnownValue{ClusterID: v.ClusterID, Axis: v.Axis}
		for _, m := range v.Members {
			k.Members = append(k.Members, m.Item.ID)
		}
		known = append(known, k)
	}
	return known
}

func ids(found []Value) []string {
	var list []string
	for _, v := range found {
		list = append(list, v.ClusterID)
	}
	return list
}

func TestValues(t *testing.T) {
	t.Parallel()
	all := experiences()
	found := rootCauses(t, all, nil)
	if len(found) != 2 || found[0].Size != 3 || found[1].Size != 2 || !strings.Contains(found[0].Text, "logs") || !strings.Contains(found[1].Text, "clock") {
		t.Fatalf("values %+v", found)
	}
	shuffled := slices.Clone(all)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if d := cmp.Diff(knownOf(found), knownOf(rootCauses(t, shuffled, nil))); d != "" {
		t.Error("another order gives other values", d)
	}
	grown := all[5]
	grown.Item.ID, grown.Attributes.RootCause = "ghap:a0", "The disk was full, of old logs"
	more := rootCauses(t, append(slices.Clone(all), grown), knownOf(found))
	if d := cmp.Diff(ids(found), ids(more)); d != "" || more[0].Size != 4 {
		t.Errorf("a cluster that grows does not keep its id\n%s", d)
	}
	apart := experiences()
	apart[0].Item.SecurityLabel, apart[3].Item.SecurityLabel = []string{"level:restricted"}, []string{"level:restricted"}
	if left := rootCauses(t, apart, nil); len(left) != 1 || left[0].Size != 2 {
		t.Errorf("experiences of other labels are in one cluster: %+v", left)
	}
	if heir := Heir(found, knownOf(more)[0]); heir == nil || heir.ClusterID != found[0].ClusterID {
		t.Errorf("heir %+v", heir)
	}
	if Heir(found, KnownValue{Axis: "full", Members: []string{"ghap:g0"}}) != nil {
		t.Error("an heir on another axis")
	}
}

// An item of another's stays what it is, whatever its id.
func TestValuesOfOthers(t *testing.T) {
	t.Parallel()
	found := rootCauses(t, experiences(), nil)
	item := found[0].Item("acme", 0)
	if a, made := MadeValue(&item); !made || a.ClusterID != found[0].ClusterID {
		t.Errorf("what Item made: %+v, %v", a, made)
	}
	item.Provenance.SourceURI = "note:1"
	if _, made := MadeValue(&item); made {
		t.Error("an item from elsewhere passes for one that Item made")
	}
	beside := rootCauses(t, experiences(), []KnownValue{TakenValue(item.ID)})
	if beside[0].ClusterID == found[0].ClusterID || beside[1].ClusterID != found[1].ClusterID {
		t.Errorf("ids %v beside %s, without it %v", ids(beside), item.ID, ids(found))
	}
}

func TestSameValue(t *testing.T) {
	t.Parallel()
	found := rootCauses(t, experiences(), nil)
	a := found[0].Item("acme", 0)
	if !SameValue(a, found[0].Item("acme", 9)) || SameValue(a, found[1].Item("acme", 0)) {
		t.Error("revisions are compared, or texts are not")
	}
}

type broken struct{}

func (broken) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	return nil, context.DeadlineExceeded
}

func TestAnEmbedderThatFails(t *testing.T) {
	t.Parallel()
	if _, err := Values(t.Context(), broken{}, experiences(), nil, ValueOptions{}); err == nil {
		t.Error("no error")
	}
}

func BenchmarkFind(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	vectors := make([][]float32, 2000)
	for i := range vectors {
		v := make([]float32, 256)
		for j := range v {
			v[j] = float32(r.NormFloat64() / 16)
		}
		vectors[i] = v
	}
	for b.Loop() {
		findClusters(vectors, .5, 2)
	}
}

// TestALearnedOutcomeIsWhole: what an experience without a lesson taught is its result, and
// how it came out, with both brackets.
func TestALearnedOutcomeIsWhole(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]schemas.ExperienceAttributes{
		"the disk (the old one) was full (falsified)": {OutcomeStatus: "falsified", OutcomeResult: "the disk (the old one) was full"},
		"mend it (confirmed)":                         {OutcomeStatus: "confirmed", Goal: "mend it"},
		"abandoned":                                   {OutcomeStatus: "abandoned"},
		"(none)":                                      {OutcomeResult: " (none) "},
	} {
		if got := valueText("full", &Experience{Attributes: a}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
