// Package value finds what experiences have in common: it clusters them by what they say
// on each axis and makes an item of kind value of each cluster.
//
// The same experiences give the same values, in any order. A cluster keeps its id for as
// long as most of its members stay together, so that a value is one item that changes,
// not a new one after every run. Experiences of different security labels are never in
// one cluster: a value may be seen by whoever may see all it was derived from.
package value

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"satchel/schemas"
)

// Axes are what experiences are clustered by.
func Axes() []string { return []string{"full", "strategy", "surprise", "root_cause"} }

// Options steer Values; zero values mean the defaults.
type Options struct {
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

// Known is a value of an earlier run.
type Known struct {
	ClusterID string
	Axis      string
	Members   []string // ids of experiences
}

// embedder is an embed.Embedder.
type embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Values clusters experiences axis by axis. An experience that says nothing on an axis is
// in no cluster of it.
func Values(ctx context.Context, e embedder, experiences []Experience, known []Known, opts Options) ([]Value, error) {
	if opts.Threshold == 0 {
		opts.Threshold = .5
	}
	if opts.MinSize == 0 {
		opts.MinSize = 2
	}
	sorted := slices.Clone(experiences)
	slices.SortFunc(sorted, func(a, b Experience) int { return cmp.Compare(a.Item.ID, b.Item.ID) })
	groups := map[string][]Experience{}
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
	for _, axis := range Axes() {
		for _, key := range order {
			found, err := onAxis(ctx, e, axis, groups[key], opts)
			if err != nil {
				return nil, err
			}
			values = append(values, found...)
		}
	}
	name(values, known)
	return values, nil
}

func onAxis(ctx context.Context, e embedder, axis string, experiences []Experience, opts Options) ([]Value, error) {
	var texts []string
	var said []Experience
	for _, x := range experiences {
		if text := axisText(axis, &x); strings.TrimSpace(text) != "" {
			texts, said = append(texts, text), append(said, x)
		}
	}
	if len(said) < opts.MinSize {
		return nil, nil
	}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d experiences: %w", len(texts), err)
	}
	var values []Value
	for _, c := range Find(vectors, opts.Threshold, opts.MinSize) {
		v := Value{Axis: axis, Size: len(c.Members), Similarity: c.Similarity, Medoid: &said[c.Medoid], Text: sentence(axis, &said[c.Medoid])}
		for _, m := range c.Members {
			v.Members = append(v.Members, said[m])
		}
		v.ClusterID = said[c.Leader].Item.ID // until it has a name
		values = append(values, v)
	}
	return values, nil
}

// axisText is what is compared. The strategy's name alone would say nothing of how it
// went, and the full text would be drowned in what the experiences were about.
func axisText(axis string, x *Experience) string {
	a := &x.Attributes
	switch axis {
	case "strategy":
		if a.Strategy == "" {
			return ""
		}
		return splitName(a.Strategy) + ". " + learned(a)
	case "surprise":
		return a.Surprise
	case "root_cause":
		return a.RootCause
	}
	return x.Item.Content.Text()
}

// sentence is what a value says: what its medoid taught, or names.
func sentence(axis string, x *Experience) string {
	a := &x.Attributes
	text := learned(a)
	switch axis {
	case "strategy":
		text = "With " + splitName(a.Strategy) + ": " + text
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

// learned is the lesson, or the outcome where there is none.
func learned(a *schemas.ExperienceAttributes) string {
	if a.Lesson != nil && a.Lesson.Takeaway != "" {
		return a.Lesson.Takeaway
	}
	if a.Lesson != nil && a.Lesson.WhatWorked != "" {
		return a.Lesson.WhatWorked
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

func splitName(name string) string { return strings.NewReplacer("-", " ", "_", " ").Replace(name) }

// name gives each value the id of the known cluster with which it shares most members,
// if that is more than half of them, and else one made from its leader.
func name(values []Value, known []Known) {
	type pair struct{ value, known, shared int }
	var pairs []pair
	for i := range values {
		for j := range known {
			if n := shared(&values[i], known[j]); 2*n > len(known[j].Members) && known[j].Axis == values[i].Axis {
				pairs = append(pairs, pair{i, j, n})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(known[a.known].ClusterID, known[b.known].ClusterID))
	})
	named, taken := map[int]bool{}, map[string]bool{}
	for _, k := range known {
		taken[k.ClusterID] = true
	}
	used := map[int]bool{}
	for _, p := range pairs {
		if !named[p.value] && !used[p.known] {
			named[p.value], used[p.known] = true, true
			values[p.value].ClusterID = known[p.known].ClusterID
		}
	}
	for i := range values {
		leader := values[i].ClusterID
		for n := 0; !named[i]; n++ {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", values[i].Axis, leader, n))
			id := values[i].Axis + "-" + hex.EncodeToString(sum[:6])
			if !taken[id] {
				values[i].ClusterID, taken[id], named[i] = id, true, true
			}
		}
	}
}

func shared(v *Value, k Known) int {
	n := 0
	for i := range v.Members {
		if slices.Contains(k.Members, v.Members[i].Item.ID) {
			n++
		}
	}
	return n
}

// Heir returns the value that has the most members of a known cluster, nil for none.
func Heir(values []Value, k Known) *Value {
	var heir *Value
	most := 0
	for i := range values {
		if n := shared(&values[i], k); n > most && values[i].Axis == k.Axis {
			heir, most = &values[i], n
		}
	}
	return heir
}

// attributes are those of schemas.ValueAttributes and what goes beyond them.
type attributes struct {
	schemas.ValueAttributes
	Revision int64 `json:"revision,omitempty"` // log position of what this replaces
}

// idPrefix begins the ids of items of clusters.
const idPrefix = "value:"

// ItemID is the id of the item of a cluster.
func ItemID(clusterID string) string { return idPrefix + clusterID }

// Taken is what keeps a cluster from the id of an item that Item did not make.
func Taken(itemID string) Known { return Known{ClusterID: strings.TrimPrefix(itemID, idPrefix)} }

// Made returns the attributes of a value that Item made, and false for one of another's.
func Made(m *schemas.MemoryItem) (schemas.ValueAttributes, bool) {
	a, err := m.Value()
	return a, err == nil && a.ClusterID != "" && m.ID == ItemID(a.ClusterID) && m.Provenance.SourceURI == sourceOf(a.ClusterID)
}

// sourceOf is where a value is from.
func sourceOf(clusterID string) string { return "cluster:" + clusterID }

// Item returns the value as a memory item. revision is the log position of the item that
// it replaces, 0 for none: without it a value that changes back would be taken for the
// first.
func (v *Value) Item(tenant string, revision int64) (schemas.MemoryItem, error) {
	a := attributes{Revision: revision, ValueAttributes: schemas.ValueAttributes{Axis: v.Axis, ClusterID: v.ClusterID, ClusterSize: v.Size,
		SimilarityToCentroid: float64(int(v.Similarity*1e4+.5)) / 1e4, GHAPID: v.Medoid.Attributes.GHAPID,
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
		if len(links) < schemas.MaxLinks {
			links = append(links, schemas.Link{Rel: schemas.RelDerivedFrom, To: m.Item.ID})
		}
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return schemas.MemoryItem{}, fmt.Errorf("encode value %q: %w", v.ClusterID, err)
	}
	return schemas.MemoryItem{ID: ItemID(v.ClusterID), Type: schemas.Semantic, Kind: schemas.KindValue, Scope: schemas.MemoryScope{Tenant: tenant}, CreatedAt: newest,
		SecurityLabel: v.Medoid.Item.SecurityLabel, Category: v.Axis, Content: schemas.TextContent(v.Text), Attributes: raw, Links: links,
		Provenance: schemas.Provenance{SourceURI: sourceOf(v.ClusterID)}}, nil
}

// SameValue reports whether two items of values say the same, whatever their revisions.
func SameValue(a, b schemas.MemoryItem) bool {
	plain := func(m schemas.MemoryItem) string {
		var at attributes
		if json.Unmarshal(m.Attributes, &at) != nil {
			return ""
		}
		at.Revision = 0
		raw, err := json.Marshal(at)
		if err != nil {
			return ""
		}
		m.Attributes, m.Provenance.Checksum, m.Provenance.Signer, m.Signer = raw, "", "", ""
		whole, err := json.Marshal(&m)
		if err != nil {
			return ""
		}
		return string(whole)
	}
	x := plain(a)
	return x != "" && x == plain(b)
}
