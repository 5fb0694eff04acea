package token

import (
	"hash/maphash"
	"sync"
)

// shards divide a cache so that its callers seldom wait for each other.
const shards = 16

// cached is a counter that remembers.
type cached struct {
	Counter
	seeds  [2]maphash.Seed
	shards [shards]lru
}

// Cached returns a counter that gives c's counts and keeps those of the last texts, at
// least entries of them (about 60 bytes each). Texts are known by a 128-bit hash under a
// random seed; they are not kept. entries of 0 or less returns c itself.
func Cached(c Counter, entries int) Counter {
	if entries <= 0 {
		return c
	}
	k := &cached{Counter: c, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range k.shards {
		k.shards[i].limit = (entries + shards - 1) / shards
	}
	return k
}

// Count returns c's count of text.
func (k *cached) Count(text string) int {
	key := [2]uint64{maphash.String(k.seeds[0], text), maphash.String(k.seeds[1], text)}
	shard := &k.shards[key[0]%shards]
	if n, ok := shard.findCount(key); ok {
		return n
	}
	n := k.Counter.Count(text)
	shard.storeCount(key, n)
	return n
}

// Exact reports whether the counter behind the cache is exact.
func (k *cached) Exact() bool { return Exact(k.Counter) }

func (k *cached) takePrefix(text string, n int) string { return Truncate(k.Counter, text, n) }

// lru keeps the counts used last in a ring threaded through a slice; node 0 is its head.
type lru struct {
	mu    sync.Mutex
	limit int
	at    map[[2]uint64]int32
	nodes []node
}

type node struct {
	key        [2]uint64
	count      int
	prev, next int32
}

func (l *lru) findCount(key [2]uint64) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, ok := l.at[key]
	if !ok {
		return 0, false
	}
	l.unlinkNode(i)
	l.linkFirst(i)
	return l.nodes[i].count, true
}

func (l *lru) storeCount(key [2]uint64, count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, dup := l.at[key]; dup {
		return
	}
	if l.at == nil {
		l.at = map[[2]uint64]int32{}
		l.nodes = make([]node, 1)
	}
	i := int32(len(l.nodes))
	if len(l.nodes) <= l.limit {
		l.nodes = append(l.nodes, node{})
	} else {
		i = l.nodes[0].prev
		l.unlinkNode(i)
		delete(l.at, l.nodes[i].key)
	}
	l.nodes[i].key = key
	l.nodes[i].count = count
	l.at[key] = i
	l.linkFirst(i)
}

func (l *lru) unlinkNode(i int32) {
	n := l.nodes[i]
	l.nodes[n.prev].next = n.next
	l.nodes[n.next].prev = n.prev
}

func (l *lru) linkFirst(i int32) {
	next := l.nodes[0].next
	l.nodes[i].prev = 0
	l.nodes[i].next = next
	l.nodes[0].next = i
	l.nodes[next].prev = i
}
