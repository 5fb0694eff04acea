package app

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	vectormem "satchel/pipeline/store/vector/inproc"
	"satchel/schemas"
)

// mostWaiting is how many items of a tenant may wait for the encoder before its searches use the table.
const mostWaiting = 1024

// waiting is what the encoder's index of a tenant lacks of the table's. A few items that are written, to whomever
// they are visible, do not change whose vectors a search uses.
type waiting struct {
	mu     sync.Mutex
	looked bool             // needed is known
	needed int64            // position up to which the encoder's index has to have everything; ids are what came later
	done   int64            // where that index was last
	ids    map[string]int64 // positions of their last change
}

// A checkpoint reads the position up to which an index has everything.
type checkpoint func() (int64, error)

// add notes what the table's index is about to have.
func (w *waiting) add(changes []vector.Change, table checkpoint) {
	if len(changes) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last := changes[len(changes)-1].Position
	if w.look(table) != nil {
		w.looked, w.needed = true, last
	}
	if w.ids == nil {
		w.ids = map[string]int64{}
	}
	for i := range changes {
		c := &changes[i]
		if c.Put != nil {
			w.ids[c.Put.ID] = c.Position
		}
		for _, id := range c.Remove {
			w.ids[id] = c.Position
		}
	}
	if len(w.ids) > mostWaiting {
		w.needed, w.ids = last, nil
	}
}

// look finds out what is needed, if it is not known.
func (w *waiting) look(table checkpoint) (err error) {
	if !w.looked {
		w.needed, err = table()
		w.looked = err == nil
	}
	return err
}

// drop notes that the encoder's index has everything up to a position.
func (w *waiting) drop(done int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped(done)
}

func (w *waiting) dropped(done int64) {
	if done < w.done { // it began anew
		w.looked = false
	}
	w.done = done
	for id, at := range w.ids {
		if at <= done {
			delete(w.ids, id)
		}
	}
	if len(w.ids) == 0 {
		w.ids = nil
	}
}

// reset notes that an index is emptied.
func (w *waiting) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked, w.done, w.ids = false, 0, nil
}

// serves reports whether a search can use the encoder's index, with the items that wait. The checkpoint of that index
// is read under the lock, so that it is behind done only if the index began anew.
func (w *waiting) serves(encoder, table checkpoint) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	done, err := encoder()
	if err != nil {
		return false
	}
	w.dropped(done)
	return w.look(table) == nil && done >= w.needed
}

// list returns the ids of the items that wait; false when the encoder's index lacks others, too.
func (w *waiting) list() (ids []string, serves bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.ids)), w.looked && w.done >= w.needed
}

// encoderSearches asks the encoder's index, and the table's for the items that wait: the vectors of both stand in
// one space.
type encoderSearches struct {
	encoding        *encoding
	*vector.Vectors // of the table
}

var _ batchIndex = encoderSearches{}

// lost reports whether the encoder's vectors turned out to be damaged. Those of the table are there.
func lost(err error) bool { return errors.Is(err, vectormem.ErrLost) }

// beside returns the query without the items that wait, and their ids; false when too many wait since the question
// was embedded.
func (s encoderSearches) beside(sc scope.Scope, q vector.Query) (rest vector.Query, ids []string, serves bool) {
	if s.encoding.shared {
		return q, nil, true
	}
	if ids, serves = s.encoding.waitingFor(sc).list(); len(ids) > 0 {
		q.Exclude = slices.Concat(q.Exclude, ids)
	}
	return q, ids, serves
}

// Search implements vector.Index.
func (s encoderSearches) Search(ctx context.Context, sc scope.Scope, q vector.Query) (vector.Result, error) {
	found, err := s.SearchEach(ctx, sc, q, []schemas.Filter{q.Filter})
	if err != nil {
		return vector.Result{}, err
	}
	return found[0], nil
}

// SearchEach implements vector.Batch.
func (s encoderSearches) SearchEach(ctx context.Context, sc scope.Scope, q vector.Query, filters []schemas.Filter) ([]vector.Result, error) {
	rest, ids, serves := s.beside(sc, q)
	if !serves {
		return s.Vectors.SearchEach(ctx, sc, q, filters)
	}
	found, err := s.encoding.index.SearchEach(ctx, sc, rest, filters)
	switch {
	case lost(err):
		return s.Vectors.SearchEach(ctx, sc, q, filters)
	case err != nil:
		return nil, err
	}
	for i, f := range filters {
		q.Filter = f
		if err := s.join(ctx, sc, q, ids, &found[i]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// join adds the items that wait to what was found of the others. The moments stay those of the others.
func (s encoderSearches) join(ctx context.Context, sc scope.Scope, q vector.Query, ids []string, found *vector.Result) error {
	if len(ids) == 0 {
		return nil
	}
	chunks, err := s.Vectors.ScoreChunks(ctx, sc, q, ids)
	if err != nil {
		return err
	}
	for i, list := range chunks {
		if len(list) > 0 {
			best := slices.MaxFunc(list, func(a, b vector.ChunkScore) int { return cmp.Compare(a.Score, b.Score) })
			found.Hits = append(found.Hits, vector.Hit{ID: ids[i], Score: best.Score, Span: best.Span})
		}
	}
	slices.SortFunc(found.Hits, func(a, b vector.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	found.Hits = found.Hits[:min(len(found.Hits), q.Limit)]
	return nil
}

// Score implements vector.Index.
func (s encoderSearches) Score(ctx context.Context, sc scope.Scope, q vector.Query, ids []string) ([]float64, error) {
	rest, waiting, serves := s.beside(sc, q)
	if !serves {
		return s.Vectors.Score(ctx, sc, q, ids)
	}
	found, err := s.encoding.index.Score(ctx, sc, rest, ids)
	switch {
	case lost(err):
		return s.Vectors.Score(ctx, sc, q, ids)
	case err != nil || len(waiting) == 0:
		return found, err
	}
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	waiting = slices.DeleteFunc(waiting, func(id string) bool { _, asked := at[id]; return !asked })
	theirs, err := s.Vectors.Score(ctx, sc, q, waiting)
	if err != nil {
		return nil, err
	}
	for i, id := range waiting {
		found[at[id]] = theirs[i]
	}
	return found, nil
}

// ScoreChunks implements vector.Index. An item that waits has no passages yet.
func (s encoderSearches) ScoreChunks(ctx context.Context, sc scope.Scope, q vector.Query, ids []string) ([][]vector.ChunkScore, error) {
	rest, _, serves := s.beside(sc, q)
	if !serves {
		return s.Vectors.ScoreChunks(ctx, sc, q, ids)
	}
	return s.encoding.index.ScoreChunks(ctx, sc, rest, ids)
}
