package source

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"satchel/pipeline/infra/vecmath"
	"satchel/schemas"
)

// ValueOptions steer Values; zero values mean the defaults.
type ValueOptions struct {
	Threshold float64 // cosine from which two experiences are neighbours; default 0.5
	MinSize   int     // members of a cluster, at least; default 2
}

// Experience is an item of kind experience.
type Experience struct {
	Item       schemas.MemoryItem
	Attributes schemas.ExperienceAttributes
}

// Value is a cluster of experiences on an axis.
type Value struct {
	Axis       string
	ClusterID  string
	Text       string // what the medoid says on the axis
	Size       int
	Similarity float64      // cosine of the medoid and the centroid, 0–1
	Medoid     *Experience  // nearest to the centroid
	Members    []Experience // by id
}

// KnownValue is a value of an earlier run.
type KnownValue struct {
	ClusterID string
	Axis      string
	Members   []string // ids of experiences
}

// embedder is an embed.Embedder.
type embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Values clusters experiences axis by axis: full, strategy, surprise and root_cause. An experience that says nothing on
// an axis is in no cluster of it.
func Values(ctx context.Context, e embedder, experiences []Experience, known []KnownValue, opts ValueOptions) ([]Value, error) {
	opts.Threshold = cmp.Or(opts.Threshold, defaultThreshold)
	opts.MinSize = cmp.Or(opts.MinSize, 2)
	sorted := slices.SortedFunc(slices.Values(experiences), func(a, b Experience) int { return cmp.Compare(a.Item.ID, b.Item.ID) })
	groups := map[string][]Experience{} // by labels
	var order []string
	for _, x := range sorted {
		labels := slices.Sorted(slices.Values(x.Item.SecurityLabel))
		key := strings.Join(slices.Compact(labels), "\x00")
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], x)
	}
	var values []Value
	for _, axis := range []string{"full", "strategy", "surprise", "root_cause"} {
		for _, key := range order {
			found, err := valuesOnAxis(ctx, e, axis, groups[key], opts)
			if err != nil {
				return nil, err
			}
			values = append(values, found...)
		}
	}
	nameValues(values, known)
	return values, nil
}

// valuesOnAxis clusters experiences by what they say on an axis.
func valuesOnAxis(ctx context.Context, e embedder, axis string, experiences []Experience, opts ValueOptions) ([]Value, error) {
	said := slices.DeleteFunc(slices.Clone(experiences), func(x Experience) bool { return isBlank(axisText(axis, &x)) })
	if len(said) < opts.MinSize {
		return nil, nil
	}
	texts := make([]string, len(said))
	for i := range said {
		texts[i] = axisText(axis, &said[i])
	}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d experiences: %w", len(texts), err)
	}
	var values []Value
	for _, c := range findClusters(vectors, opts.Threshold, opts.MinSize) {
		medoid := &said[c.medoid]
		v := Value{Axis: axis, Size: len(c.members), Similarity: c.similarity, Medoid: medoid, Text: valueText(axis, medoid)}
		for _, m := range c.members {
			v.Members = append(v.Members, said[m])
		}
		v.ClusterID = said[c.leader].Item.ID // until it has a name
		values = append(values, v)
	}
	return values, nil
}

// axisText is what is compared. The strategy's name alone would say nothing of how it went, and the full text would be
// drowned in what the experiences were about.
func axisText(axis string, x *Experience) string {
	a := &x.Attributes
	switch axis {
	case "strategy":
		if a.Strategy == "" {
			return ""
		}
		return inWords(a.Strategy) + ". " + lessonOf(a)
	case "surprise":
		return a.Surprise
	case "root_cause":
		return a.RootCause
	}
	return x.Item.Content.Text()
}

// valueText is what a value says: what its medoid taught, or names.
func valueText(axis string, x *Experience) string {
	a := &x.Attributes
	text := lessonOf(a)
	switch axis {
	case "strategy":
		text = "With " + inWords(a.Strategy) + ": " + text
	case "surprise":
		text = a.Surprise
	case "root_cause":
		text = a.RootCause
	}
	text = strings.Join(strings.Fields(text), " ")
	const limit = 600
	if len(text) > limit {
		text = strings.TrimRightFunc(strings.ToValidUTF8(text[:limit], ""), func(r rune) bool { return !unicode.IsSpace(r) }) + "…"
	}
	return text
}

// lessonOf is the lesson, or the outcome where there is none.
func lessonOf(a *schemas.ExperienceAttributes) string {
	if a.Lesson != nil && *a.Lesson != (schemas.Lesson{}) {
		return cmp.Or(a.Lesson.Takeaway, a.Lesson.WhatWorked)
	}
	text := strings.TrimSpace(cmp.Or(a.OutcomeResult, a.Action, a.Goal))
	switch {
	case a.OutcomeStatus == "":
		return text
	case text == "":
		return a.OutcomeStatus
	}
	return text + " (" + a.OutcomeStatus + ")"
}

func inWords(name string) string { return strings.NewReplacer("-", " ", "_", " ").Replace(name) }

// nameValues gives each value the id of the known cluster with which it shares most members, if that is more than half
// of them, and else one made from its leader.
func nameValues(values []Value, known []KnownValue) {
	type pair struct{ value, known, shared int }
	var pairs []pair
	taken := map[string]bool{}
	for j, k := range known {
		taken[k.ClusterID] = true
		for i := range values {
			if n := sharedMembers(&values[i], k); 2*n > len(k.Members) {
				pairs = append(pairs, pair{i, j, n})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(known[a.known].ClusterID, known[b.known].ClusterID), cmp.Compare(a.value, b.value))
	})
	named := map[int]bool{}
	used := map[int]bool{}
	for _, p := range pairs {
		if !named[p.value] && !used[p.known] {
			named[p.value] = true
			used[p.known] = true
			values[p.value].ClusterID = known[p.known].ClusterID
		}
	}
	for i := range values {
		leader := values[i].ClusterID
		for n := 0; !named[i]; n++ {
			id := values[i].Axis + "-" + Hash(fmt.Appendf(nil, "%s\x00%s\x00%d", values[i].Axis, leader, n), 6)
			if !taken[id] {
				taken[id] = true
				named[i] = true
				values[i].ClusterID = id
			}
		}
	}
}

// sharedMembers is how many members of a value a known one of its axis has, too.
func sharedMembers(v *Value, k KnownValue) int {
	if v.Axis != k.Axis {
		return 0
	}
	n := 0
	for i := range v.Members {
		if slices.Contains(k.Members, v.Members[i].Item.ID) {
			n++
		}
	}
	return n
}

// Heir returns the value that has the most members of a known cluster, nil for none.
func Heir(values []Value, k KnownValue) *Value {
	var heir *Value
	most := 0
	for i := range values {
		if n := sharedMembers(&values[i], k); n > most {
			heir = &values[i]
			most = n
		}
	}
	return heir
}

// valueAttributes are those of schemas.ValueAttributes and what goes beyond them.
type valueAttributes struct {
	schemas.ValueAttributes
	Revision int64 `json:"revision,omitempty"` // log position of what this replaces
}

// valuePrefix begins the ids of items of clusters.
const valuePrefix = "value:"

// ValueID is the id of the item of a cluster.
func ValueID(clusterID string) string { return valuePrefix + clusterID }

// TakenValue is what keeps a cluster from the id of an item that Value.Item did not make.
func TakenValue(itemID string) KnownValue {
	return KnownValue{ClusterID: strings.TrimPrefix(itemID, valuePrefix)}
}

// MadeValue returns the value that Value.Item made an item of, and false for an item from elsewhere.
func MadeValue(m *schemas.MemoryItem) (KnownValue, bool) {
	a, err := m.Value()
	known := KnownValue{ClusterID: a.ClusterID, Axis: a.Axis}
	for _, l := range m.Links {
		if l.Rel == schemas.RelDerivedFrom {
			known.Members = append(known.Members, l.To)
		}
	}
	named := a.ClusterID != "" && m.ID == ValueID(a.ClusterID) && m.Provenance.SourceURI == clusterURI(a.ClusterID)
	return known, err == nil && m.Kind == schemas.KindValue && named
}

// clusterURI is where a value is from.
func clusterURI(clusterID string) string { return "cluster:" + clusterID }

// Item returns the value as a memory item. revision is the log position of the item that it replaces, 0 for none:
// without it a value that changes back would be taken for the first.
func (v *Value) Item(tenant string, revision int64) schemas.MemoryItem {
	a := valueAttributes{Revision: revision, ValueAttributes: schemas.ValueAttributes{Axis: v.Axis, ClusterID: v.ClusterID, ClusterSize: v.Size,
		SimilarityToCentroid: math.Round(v.Similarity*similarityDigits) / similarityDigits, GHAPID: v.Medoid.Attributes.GHAPID,
		Domain: v.Members[0].Attributes.Domain, Strategy: v.Members[0].Attributes.Strategy}}
	var newest time.Time
	var links []schemas.Link
	for i := range v.Members {
		m := &v.Members[i]
		if m.Attributes.Domain != a.Domain {
			a.Domain = ""
		}
		if m.Attributes.Strategy != a.Strategy {
			a.Strategy = ""
		}
		if m.Item.CreatedAt.After(newest) {
			newest = m.Item.CreatedAt
		}
		links = append(links, schemas.Link{Rel: schemas.RelDerivedFrom, To: m.Item.ID})
	}
	return schemas.MemoryItem{ID: ValueID(v.ClusterID), Type: schemas.Semantic, Kind: schemas.KindValue, Scope: schemas.MemoryScope{Tenant: tenant}, CreatedAt: newest,
		SecurityLabel: v.Medoid.Item.SecurityLabel, Category: v.Axis, Content: schemas.TextContent(v.Text), Attributes: Encode(a),
		Links: links[:min(len(links), schemas.MaxLinks)], Provenance: schemas.Provenance{SourceURI: clusterURI(v.ClusterID)}}
}

// SameValue reports whether two items of values say the same. It does not compare their revisions.
func SameValue(a, b schemas.MemoryItem) bool {
	return bytes.Equal(withoutRevision(a), withoutRevision(b))
}

// withoutRevision is what an item of a value says.
func withoutRevision(m schemas.MemoryItem) []byte {
	var a valueAttributes
	if json.Unmarshal(m.Attributes, &a) != nil {
		return Encode(&m)
	}
	a.Revision = 0
	m.Attributes = Encode(a)
	m.Signer = ""
	m.Provenance.Checksum = ""
	m.Provenance.Signer = ""
	return Encode(&m)
}

// cluster is a group of vectors. Its numbers are places in the list that was clustered.
type cluster struct {
	leader     int     // the member with the most neighbours when the cluster was made
	members    []int   // ascending, the leader among them
	medoid     int     // the member nearest to the centroid
	similarity float64 // cosine of the medoid and the centroid
}

// findClusters clusters unit-length vectors (zero ones are in none): as long as there is a vector with minSize−1
// neighbours, the one with the most makes a cluster with them, and all of them are taken out. Neighbours have a cosine
// of at least threshold. This is the algorithm of Daura et al. (Angewandte Chemie 38, 1999, "GROMOS"); ties go to the
// earlier vector, so that the result depends on nothing but the list. It takes time in the square of the list and
// memory in its length.
func findClusters(vectors [][]float32, threshold float64, minSize int) []cluster {
	near := func(i, j int) bool { return vecmath.Cosine(vectors[i], vectors[j]) >= threshold }
	var open []int
	for i, v := range vectors {
		if vecmath.Cosine(v, v) > 0 {
			open = append(open, i)
		}
	}
	neighbours := make([]int, len(vectors))
	for at, i := range open {
		for _, j := range open[at+1:] {
			if near(i, j) {
				neighbours[i]++
				neighbours[j]++
			}
		}
	}
	var clusters []cluster
	for len(open) > 0 {
		leader := slices.MaxFunc(open, func(a, b int) int { return cmp.Compare(neighbours[a], neighbours[b]) })
		if neighbours[leader]+1 < max(minSize, 1) {
			break
		}
		var members, rest []int
		for _, i := range open {
			if i == leader || near(i, leader) {
				members = append(members, i)
			} else {
				rest = append(rest, i)
			}
		}
		for _, gone := range members {
			for _, i := range rest {
				if near(i, gone) {
					neighbours[i]--
				}
			}
		}
		medoid, similarity := findMedoid(vectors, members)
		clusters = append(clusters, cluster{leader: leader, members: members, medoid: medoid, similarity: similarity})
		open = rest
	}
	return clusters
}

// findMedoid returns the member nearest to the centroid, the earliest of equals, and their cosine.
func findMedoid(vectors [][]float32, members []int) (int, float64) {
	centroid := make([]float64, len(vectors[members[0]]))
	for _, m := range members {
		for i, x := range vectors[m] {
			centroid[i] += float64(x)
		}
	}
	var norm float64
	for _, x := range centroid {
		norm += x * x
	}
	norm = cmp.Or(math.Sqrt(norm), 1)
	best := members[0]
	similarity := math.Inf(-1)
	for _, m := range members {
		var s float64
		for i, x := range vectors[m] {
			s += float64(x) * centroid[i]
		}
		if s/norm > similarity+sameSimilarity {
			best = m
			similarity = s / norm
		}
	}
	return best, min(1, max(0, similarity))
}
