package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/terminal"
	"satchel/emitters"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/schemas"
)

// Values is satchel values.
type Values struct {
	Flags
	Threshold float64 `help:"Cosine from which two experiences belong together, 0 to 1." default:"0.5"`
	MinSize   int     `help:"Experiences that make a value, at least." default:"2"`
	DryRun    bool    `help:"Print the values, publish nothing."`
}

// Help shows how it is called.
func (Values) Help() string {
	return `Experiences are clustered by what they say on each axis: full, strategy, surprise and root_cause. Each
cluster becomes an item of kind value: the lesson of the experience nearest to the centroid, the size, and
links to what it was derived from. It reads the log in the data folder (--dir), beside satchel up, and
publishes through NATS.

Running it again changes what has changed: a value whose cluster is gone is superseded by the one that
took most of its experiences, or ends. Values that others recorded stay as they are. Experiences of different labels are never in one cluster.

Examples:
  satchel values
  satchel values --min-size 3 --dry-run`
}

// ValuesResult is what values prints.
type ValuesResult struct {
	Experiences int            `json:"experiences"`
	Values      map[string]int `json:"values"`    // by axis
	Published   int            `json:"published"` // new or changed
	Unchanged   int            `json:"unchanged"`
	Superseded  int            `json:"superseded"`
	Ended       int            `json:"ended"`
	Items       []ValueResult  `json:"items,omitempty"`
	Indexed     bool           `json:"indexed"`

	refused int // by the worker
}

// ValueResult is one value that was found.
type ValueResult struct {
	ClusterID string  `json:"cluster_id"`
	Axis      string  `json:"axis"`
	Size      int     `json:"cluster_size"`
	Nearness  float64 `json:"similarity_to_centroid"`
	Text      string  `json:"text"`
}

// Run clusters and publishes.
func (c *Values) Run(ctx context.Context, a *app.App) error {
	if !(c.Threshold > 0 && c.Threshold <= 1) {
		return config.Usagef("--threshold: must be over 0 and at most 1")
	}
	if c.MinSize < 2 {
		return config.Usagef("--min-size: must be at least 2")
	}
	held, err := readHeld(ctx, a)
	if err != nil {
		return err
	}
	embedder, err := app.OpenWords()
	if err != nil {
		return err
	}
	found, err := source.Values(ctx, embedder, held.experiences, held.known(), source.ValueOptions{Threshold: c.Threshold, MinSize: c.MinSize})
	if err != nil {
		return err
	}
	did := ValuesResult{Experiences: len(held.experiences), Values: map[string]int{}}
	for i := range found {
		v := &found[i]
		did.Values[v.Axis]++
		did.Items = append(did.Items, ValueResult{v.ClusterID, v.Axis, v.Size, v.Similarity, v.Text})
	}
	if !c.DryRun {
		if err := c.publish(ctx, a, held, found, &did); err != nil {
			return err
		}
	}
	return ending{did.Indexed || c.DryRun, 0, did.refused}.report(a, did, c.words(&did))
}

// publish publishes the values that changed, and retires those whose cluster is gone.
func (c *Values) publish(ctx context.Context, a *app.App, held *heldValues, found []source.Value, did *ValuesResult) error {
	p, err := newPublisher(ctx, a, c.Flags)
	if err != nil {
		return err
	}
	defer p.close()
	now := map[string]bool{}
	for i := range found {
		v := &found[i]
		id := source.ValueID(v.ClusterID)
		now[id] = true
		before := held.values[id]
		item := v.Item(a.Tenant, before.position)
		if before.current && source.SameValue(item, before.item) {
			did.Unchanged++
			continue
		}
		if err := p.add(ctx, id, item); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(held.values)) {
		if before := held.values[id]; before.current && !now[id] {
			if err := c.retire(ctx, p, found, before, did); err != nil {
				return err
			}
		}
	}
	did.Indexed, err = p.finish(ctx)
	did.Published = p.Published - did.Ended
	did.refused = p.Refused
	return err
}

// retire supersedes a value whose cluster is gone, or ends it when nothing took its place.
func (c *Values) retire(ctx context.Context, p *publisher, found []source.Value, before heldItem, did *ValuesResult) error {
	known, _ := source.MadeValue(&before.item)
	heir := source.Heir(found, known)
	if heir == nil {
		did.Ended++
		return p.add(ctx, before.item.ID, endedAt(before.item, time.Now()))
	}
	did.Superseded++
	if err := p.flush(ctx); err != nil { // what replaces it goes first
		return err
	}
	_, err := p.emitter.Supersede(ctx, before.item.ID, source.ValueID(heir.ClusterID), "its experiences are part of another cluster",
		&emitters.Options{EventID: fmt.Sprintf("%s.%d", before.item.ID, before.position)})
	return err
}

// words says what the values are and what was published.
func (c *Values) words(did *ValuesResult) string {
	var b strings.Builder
	for _, v := range did.Items {
		fmt.Fprintf(&b, "%-10s %3d  %.2f  %s\n", v.Axis, v.Size, v.Nearness, v.Text)
	}
	fmt.Fprintf(&b, "%s, %s", terminal.Plural(did.Experiences, "experience", "experiences"), terminal.Plural(len(did.Items), "value", "values"))
	if !c.DryRun {
		fmt.Fprintf(&b, ": %d published, %d unchanged, %d superseded, %d ended", did.Published, did.Unchanged, did.Superseded, did.Ended)
	}
	return b.String() + "\n"
}

// heldValues are the experiences and values of a tenant, as the log has them now.
type heldValues struct {
	experiences []source.Experience
	values      map[string]heldItem // that were made of clusters
	others      []string            // ids of the other values
}

// known are the values from which clusters have their ids.
func (h *heldValues) known() []source.KnownValue {
	var known []source.KnownValue
	for _, id := range slices.Sorted(maps.Keys(h.values)) {
		if v := h.values[id]; v.current {
			k, _ := source.MadeValue(&v.item)
			known = append(known, k)
		}
	}
	for _, id := range h.others {
		known = append(known, source.TakenValue(id))
	}
	return known
}

// readHeld folds the log of the tenant.
func readHeld(ctx context.Context, a *app.App) (*heldValues, error) {
	f := fold{items: map[string]heldItem{}, wants: func(m *schemas.MemoryItem) bool {
		return m.Kind == schemas.KindExperience || m.Kind == schemas.KindValue
	}}
	if err := foldLog(ctx, a, f, nil); err != nil {
		return nil, err
	}
	h := &heldValues{values: map[string]heldItem{}}
	for _, id := range slices.Sorted(maps.Keys(f.items)) {
		v := f.items[id]
		_, made := source.MadeValue(&v.item)
		attributes, err := v.item.Experience()
		switch {
		case made:
			h.values[id] = v
		case v.item.Kind == schemas.KindValue:
			h.others = append(h.others, id)
		case v.current && err == nil: // an experience of text alone says nothing on an axis
			h.experiences = append(h.experiences, source.Experience{Item: v.item, Attributes: attributes})
		}
	}
	return h, nil
}

// heldItem is an item as the log has it now.
type heldItem struct {
	item     schemas.MemoryItem
	position int64
	current  bool // neither superseded nor ended
}

// foldLog adds every entry of the tenant's log, if use takes the log.
func foldLog(ctx context.Context, a *app.App, f fold, use func(log *app.Reading, s scope.Scope) bool) (err error) {
	s, err := scope.System(a.Tenant)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	log, err := a.ReadLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if use != nil && !use(log, s) {
		return nil
	}
	for at := int64(0); ; {
		entries, err := log.Read(ctx, s, at, 500)
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if len(entries) == 0 {
			return nil
		}
		for i := range entries {
			if err := f.add(&entries[i]); err != nil {
				return err
			}
		}
		at = entries[len(entries)-1].Position
	}
}

// fold is the state of some items.
type fold struct {
	items map[string]heldItem
	of    func(id string) bool // ids that they may have; nil: any
	wants func(*schemas.MemoryItem) bool
}

func (f fold) add(e *eventlog.Entry) error {
	switch e.Type {
	case schemas.TypeMemoryRecorded:
		if f.of != nil && !f.of(e.Subject) {
			return nil
		}
		delete(f.items, e.Subject)
		if e.Erased {
			return nil
		}
		item, err := write.Item(*e)
		if err != nil {
			return err
		}
		if f.wants(&item) {
			f.items[item.ID] = heldItem{item: item, position: e.Position, current: item.ValidTo.IsZero()}
		}
		for _, l := range item.Links {
			if l.Rel == schemas.RelSupersedes {
				f.retire(l.To)
			}
		}
	case schemas.TypeMemorySuperseded:
		var s schemas.MemorySuperseded
		if err := json.Unmarshal(e.Data, &s); err != nil {
			return fmt.Errorf("read supersession of position %d: %w", e.Position, err)
		}
		f.retire(s.Item)
	case schemas.TypeMemoryErased:
		var gone schemas.MemoryErased
		if err := json.Unmarshal(e.Data, &gone); err != nil {
			return fmt.Errorf("read erasure of position %d: %w", e.Position, err)
		}
		for _, id := range gone.Items {
			delete(f.items, id)
		}
	}
	return nil
}

// retire notes that something has taken the place of an item.
func (f fold) retire(id string) {
	if v, ok := f.items[id]; ok {
		v.current = false
		f.items[id] = v
	}
}
