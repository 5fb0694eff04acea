package inproc

import (
	"errors"
	"fmt"

	"satchel/pipeline/store/internal/tenantpool"
)

// resident is a tenant as the pool keeps it.
type resident struct {
	tenantpool.Slot
	tenant
	x *Index

	loaded         bool  // under the pool's lock, unlike state, which writers replace
	changed, saved int   // changes since it was loaded, and those the snapshot has; under write
	durable        int64 // checkpoint of the snapshot on disk, 0 for none
	foreign        bool  // the snapshot on disk is not of this index: it is to be replaced
}

// Loaded implements tenantpool.Tenant.
func (r *resident) Loaded() bool { return r.loaded }

// Load implements tenantpool.Tenant. What cannot be read begins anew at checkpoint 0.
func (r *resident) Load() int64 {
	st, err := r.x.readSnapshot(r.Tenant())
	r.foreign = err != nil
	if err != nil {
		if !errors.Is(err, errForeign) {
			r.x.cfg.OnError(r.Tenant(), err)
		}
		st = newState(r.x.cfg.Dimensions)
	}
	r.state, r.durable, r.changed, r.saved = st, st.checkpoint, 0, 0
	r.loaded = true
	return st.bytes()
}

// PutAway implements tenantpool.Tenant.
func (r *resident) PutAway() error {
	r.write.Lock()
	defer r.write.Unlock()
	if err := r.save(); err != nil {
		return err
	}
	r.state, r.loaded = nil, false
	return nil
}

// save writes the snapshot unless the one on disk is current. The caller holds write.
func (r *resident) save() error {
	if r.x.files.Dir == "" || r.clean() {
		r.saved = r.changed
		return nil
	}
	if err := r.x.files.Write(r.Tenant(), r.x.cfg.encoder(r.Tenant(), r.state)); err != nil {
		return fmt.Errorf("write vector snapshot of tenant %q: %w", r.Tenant(), err)
	}
	r.saved, r.durable, r.foreign = r.changed, r.checkpoint, false
	return nil
}

// clean reports whether nothing has happened since the snapshot.
func (r *resident) clean() bool {
	return r.durable == r.checkpoint && r.changed == r.saved && !r.foreign
}
