package sqlite

import (
	"database/sql"
	"errors"
	"maps"
	"sync"
)

// names remembers ids of tenants and of the strings that entries share (agents, types,
// sources). It holds what is committed, at most maxNames of it.
type names struct {
	mu      sync.RWMutex
	tenants map[string]int64
	ids     map[nameKey]int64
	names   map[int64]string
}

type nameKey struct {
	tenant int64
	name   string
}

const maxNames = 1 << 16

func newNames() *names {
	n := &names{}
	n.dropNames()
	return n
}

func (n *names) dropNames() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tenants = map[string]int64{}
	n.ids = map[nameKey]int64{}
	n.names = map[int64]string{}
}

func (n *names) learnNames(ids map[nameKey]int64, tenants map[string]int64) {
	if len(ids) == 0 && len(tenants) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ids)+len(ids) > maxNames {
		n.ids = map[nameKey]int64{}
		n.names = map[int64]string{}
	}
	if len(n.tenants)+len(tenants) > maxNames {
		n.tenants = map[string]int64{}
	}
	maps.Copy(n.tenants, tenants)
	maps.Copy(n.ids, ids)
	for key, id := range ids {
		n.names[id] = key.name
	}
}

func (n *names) findTenantID(name string) (int64, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	id, ok := n.tenants[name]
	return id, ok
}

func (n *names) findNameID(key nameKey) (int64, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	id, ok := n.ids[key]
	return id, ok
}

func (n *names) findName(id int64) (string, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	name, ok := n.names[id]
	return name, ok
}

// readTenantID returns a tenant's id, 0 when it has no log.
func (r *reader) readTenantID(name string) (int64, error) {
	if id, ok := r.db.names.findTenantID(name); ok {
		return id, nil
	}
	var id int64
	switch err := r.scanSingleRow("SELECT id FROM tenants WHERE name = ?", []any{name}, &id); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, storeError("read tenant", err)
	}
	if r.committed {
		r.db.names.learnNames(nil, map[string]int64{name: id})
	}
	return id, nil
}

// nameID returns a string's id, 0 when the tenant's log has not used it.
func (r *reader) nameID(key nameKey) (int64, error) {
	if id, ok := r.db.names.findNameID(key); ok {
		return id, nil
	}
	var id int64
	switch err := r.scanSingleRow("SELECT id FROM names WHERE tenant = ? AND name = ?", []any{key.tenant, key.name}, &id); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, storeError("read name", err)
	}
	return id, nil
}

// nameOf returns the string of an id; "" when there is none, which a leaf will not match.
func (r *reader) nameOf(tenant, id int64) (string, error) {
	if id == 0 {
		return "", nil
	}
	if name, ok := r.db.names.findName(id); ok {
		return name, nil
	}
	key := nameKey{}
	switch err := r.scanSingleRow("SELECT tenant, name FROM names WHERE id = ?", []any{id}, &key.tenant, &key.name); {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", storeError("read name", err)
	}
	if key.tenant != tenant {
		return "", nil
	}
	r.db.names.learnNames(map[nameKey]int64{key: id}, nil)
	return key.name, nil
}
