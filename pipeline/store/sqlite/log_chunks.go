package sqlite

import "sync"

// chunks remembers full chunks of tree hashes, which never change. Safe for concurrent use.
type chunks struct {
	mu   sync.RWMutex
	full map[int64][]byte // by id
}

const maxChunks = 2048 // 8 MiB

func (c *chunks) findChunk(id int64) ([]byte, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	chunk, ok := c.full[id]
	return chunk, ok
}

func (c *chunks) keepChunk(id int64, chunk []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full == nil || len(c.full) >= maxChunks {
		c.full = make(map[int64][]byte, 64)
	}
	c.full[id] = chunk
}

func (c *chunks) dropChunks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full = nil
}
