package fault

import (
	"crypto/sha256"
	"sync"
	"testing"
	"time"

	"satchel/schemas"
)

// key is an event's idempotency key.
type key struct{ tenant, source, id string }

// record is what the outside knows of a run: what was tried, what was acknowledged,
// what was answered. Safe for concurrent use.
type record struct {
	mu        sync.Mutex
	producers int
	tried     map[key]map[[32]byte]bool // hashes of the data under each key
	first     map[key][32]byte          // the data that must win: tried and acknowledged first
	acked     map[key]bool              // acknowledged under its first data
	order     map[string][]key          // by tenant/source, in the order they were published
	rejected  map[key]string            // acknowledged, and must be a dead letter of that reason
	forgot    map[key][]string          // acknowledged erasures and their items
	erasing   map[string]bool           // tenant/item of every erasure that was tried
	results   []answer
	heads     []head
	problems  []string

	lost, twice int // found by check
}

// enough reports whether so much was done that the run shows something.
func (r *record) enough(acked, answers int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.acked) >= acked && len(r.results) >= answers
}

// goesOn reports whether a run goes on: until end, and on a busy machine up to a minute longer, until enough is done.
func (r *record) goesOn(end time.Time, acked, answers int) bool {
	now := time.Now()
	return now.Before(end) || now.Before(end.Add(time.Minute)) && !r.enough(acked, answers)
}

// checkEnough fails a run that shows nothing.
func (r *record) checkEnough(t *testing.T, acked, answers int) {
	t.Helper()
	if !r.enough(acked, answers) {
		t.Error("next to nothing was done: the run shows nothing")
	}
}

type answer struct {
	tenant string
	result schemas.ContextResult
}

type head struct {
	tenant string
	size   int64
	root   string
}

func newRecord() *record {
	return &record{tried: map[key]map[[32]byte]bool{}, first: map[key][32]byte{}, acked: map[key]bool{}, order: map[string][]key{},
		rejected: map[key]string{}, forgot: map[key][]string{}, erasing: map[string]bool{}}
}

// try notes an attempt before it is made.
func (r *record) try(k key, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tried[k] == nil {
		r.tried[k] = map[[32]byte]bool{}
		r.first[k] = sha256.Sum256(data)
		r.order[k.tenant+"/"+k.source] = append(r.order[k.tenant+"/"+k.source], k)
	}
	r.tried[k][sha256.Sum256(data)] = true
}

func (r *record) note(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// acknowledged is how many events were acknowledged so far.
func (r *record) acknowledged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.acked)
}

// lose reports what was acknowledged and is not there.
func (r *record) lose(t *testing.T, format string, args ...any) {
	t.Helper()
	r.lost++
	t.Errorf("LOST: "+format, args...)
}

// double reports what is there more than once.
func (r *record) double(t *testing.T, format string, args ...any) {
	t.Helper()
	r.twice++
	t.Errorf("TWICE: "+format, args...)
}
