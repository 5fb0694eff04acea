package eventlog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// plan is one attempt at a group's transaction. It is made again for every attempt.
type plan struct {
	log       *Log
	tx        Tx
	now       time.Time
	additions map[string]*addition
	outcomes  map[*request][]Outcome
	failed    map[*request]error
	erased    map[*request]int
}

// addition is what a plan adds to one tenant.
type addition struct {
	tenant string
	tree   edge
	rows   []Row
	drafts []*prepared // of rows
	leaves []tlog.Hash // of rows
	hashes []tlog.Hash
	first  int64 // stored hash index of hashes[0]
	fresh  map[Key]freshRow
	quiet  bool
}

// freshRow is a draft that the same transaction has added.
type freshRow struct {
	draft    *prepared
	position int64
	leaf     tlog.Hash
}

// commitRequests writes the group in one transaction. When it returns nil every request has
// its outcomes or its own error.
func (l *Log) commitRequests(ctx context.Context, group []*request) error {
	var p *plan
	err := l.driver.Update(ctx, tenantsOf(group), func(tx Tx) error {
		p = &plan{
			log: l, tx: tx, now: l.clock(), additions: map[string]*addition{},
			outcomes: map[*request][]Outcome{}, failed: map[*request]error{}, erased: map[*request]int{},
		}
		return p.applyRequests(group)
	})
	for _, r := range group {
		if r.erasure != nil { // whatever the error: it may have been committed
			l.recent.dropTenant(r.erasure.tenant)
		}
	}
	if err != nil {
		clear(l.edges)
		return err
	}
	for _, r := range group {
		r.outcomes, r.erased, r.err = p.outcomes[r], p.erased[r], p.failed[r]
	}
	for tenant, a := range p.additions {
		if len(a.rows) == 0 {
			continue
		}
		if len(l.edges) > 4096 {
			clear(l.edges)
		}
		l.edges[tenant] = a.tree
		l.known.noteTenant(tenant)
		if !p.hasErasure(tenant, group) {
			l.recent.keepEntries(tenant, a.rows, a.leaves, a.drafts)
		}
		l.watch.wakeWatchers(tenant, true, a.quiet)
	}
	return nil
}

// hasErasure reports whether the group erases something of a tenant, perhaps of what it adds.
func (p *plan) hasErasure(tenant string, group []*request) bool {
	return slices.ContainsFunc(group, func(r *request) bool { return r.erasure != nil && r.erasure.tenant == tenant })
}

func tenantsOf(group []*request) []string {
	seen := map[string]bool{}
	for _, r := range group {
		for i := range r.drafts {
			seen[r.drafts[i].draft.Tenant] = true
		}
		if r.erasure != nil {
			seen[r.erasure.tenant] = true
		}
	}
	tenants := make([]string, 0, len(seen))
	for t := range seen {
		tenants = append(tenants, t)
	}
	slices.Sort(tenants)
	return tenants
}

func (p *plan) applyRequests(group []*request) error {
	live := group[:0:0]
	for _, r := range group {
		fenced, err := p.isFenced(r.checkpoint)
		if err != nil {
			return err
		}
		if fenced {
			p.failed[r] = fmt.Errorf("append at checkpoint %q: %w", r.checkpoint.Name, ErrFenced)
			continue
		}
		overtaken, err := p.isOvertaken(r.erasure, live)
		if err != nil {
			return err
		}
		if overtaken {
			p.failed[r] = fmt.Errorf("append erasure: %w", ErrOvertaken)
			continue
		}
		p.outcomes[r] = make([]Outcome, len(r.drafts))
		live = append(live, r)
	}
	for _, tenant := range tenantsOf(live) {
		if err := p.addTenant(tenant, live); err != nil {
			return err
		}
	}
	for _, r := range live {
		if err := p.applyErasure(r); err != nil {
			return err
		}
		if err := p.advanceCheckpoint(r); err != nil {
			return err
		}
	}
	return nil
}

// advanceCheckpoint writes a request's checkpoint, unless one of its drafts was an IDConflict.
func (p *plan) advanceCheckpoint(r *request) error {
	if r.checkpoint == nil || slices.ContainsFunc(p.outcomes[r], func(o Outcome) bool { return o.Status == IDConflict }) {
		return nil
	}
	return p.tx.PutCheckpoint(*r.checkpoint)
}

// isFenced reports whether another owner has taken a request's checkpoint.
func (p *plan) isFenced(cp *Checkpoint) (fenced bool, err error) {
	if cp == nil {
		return false, nil
	}
	stored, err := p.tx.Checkpoint(cp.Name)
	if err != nil {
		return false, err
	}
	return cp.Fence < stored.Fence, nil
}

// isOvertaken reports whether what an erasure must not follow is in the log, or in what the same
// transaction adds before it, or whether its fence was taken.
func (p *plan) isOvertaken(e *erasure, before []*request) (bool, error) {
	if e == nil {
		return false, nil
	}
	for _, u := range e.unless {
		if u.Type == "" {
			if fenced, err := p.isFenced(&Checkpoint{Name: u.Subject, Fence: u.Fence}); fenced || err != nil {
				return fenced, err
			}
			continue
		}
		for _, r := range before {
			for i := range r.drafts {
				if d := r.drafts[i].draft; d.Tenant == e.tenant && d.Subject == u.Subject && d.Type == u.Type {
					return true, nil
				}
			}
		}
		found, err := p.tx.Positions(e.tenant, Query{Subject: u.Subject, Types: []string{u.Type}, After: u.After})
		if err != nil || len(found) > 0 {
			return true, err
		}
	}
	return false, nil
}

// addTenant decides on every draft of a tenant and writes those that are new.
func (p *plan) addTenant(tenant string, group []*request) error {
	var drafts []*prepared
	var outcomes []*Outcome
	var keys []Key
	quiet := true
	for _, r := range group {
		for i := range r.drafts {
			if d := &r.drafts[i]; d.draft.Tenant == tenant {
				quiet = quiet && r.quiet
				drafts = append(drafts, d)
				outcomes = append(outcomes, &p.outcomes[r][i])
				keys = append(keys, Key{d.draft.Source, d.draft.ID})
			}
		}
	}
	if len(drafts) == 0 {
		return nil
	}
	held, err := p.tx.Find(tenant, keys)
	if err != nil {
		return err
	}
	a, err := p.beginAddition(tenant, len(drafts))
	if err != nil {
		return err
	}
	a.quiet = quiet
	var old []*Outcome
	var buf []byte
	for i, d := range drafts {
		if held[i].Position > 0 {
			*outcomes[i] = Outcome{Status: judgeDraft(d, &held[i]), Position: held[i].Position}
			old = append(old, outcomes[i])
			continue
		}
		*outcomes[i], buf = a.addDraft(keys[i], d, p.now, buf)
	}
	if err := p.readLeaves(tenant, old); err != nil {
		return err
	}
	if len(a.rows) == 0 {
		return nil
	}
	return p.tx.Append(Addition{
		Head: Head{Tenant: tenant, Size: a.tree.size, Root: a.tree.computeRoot()},
		Rows: a.rows, FirstHash: a.first, Hashes: a.hashes,
	})
}

func judgeDraft(d *prepared, h *Held) Status {
	switch {
	case h.Erased:
		return Erased
	case d.isSameDraft(h):
		return Duplicate
	}
	return IDConflict
}

// beginAddition reads the tenant's head and the tree's right edge.
func (p *plan) beginAddition(tenant string, n int) (*addition, error) {
	head, err := headOf(p.tx, tenant)
	if err != nil {
		return nil, err
	}
	a := &addition{
		tenant: tenant, first: tlog.StoredHashCount(head.Size), fresh: make(map[Key]freshRow, n),
		rows: make([]Row, 0, n), drafts: make([]*prepared, 0, n), leaves: make([]tlog.Hash, 0, n), hashes: make([]tlog.Hash, 0, 2*n+8),
	}
	known, ok := p.log.edges[tenant]
	if ok && known.size == head.Size && known.computeRoot() == head.Root {
		a.tree = known.cloneEdge()
	} else if a.tree, err = readEdge(p.tx, head); err != nil {
		return nil, err
	}
	p.additions[tenant] = a
	return a, nil
}

// readEdge reads the right edge of a head's tree and checks it against the root.
func readEdge(r Reader, head Head) (edge, error) {
	e := edge{size: head.Size}
	if head.Size < 0 {
		return edge{}, &VerifyError{head.Tenant, 0, "the head's size is negative"}
	}
	if head.Size > 0 {
		var err error
		if e.nodes, err = r.Hashes(head.Tenant, edgeIndexes(head.Size)); err != nil {
			return edge{}, err
		}
	}
	if e.computeRoot() != head.Root {
		return edge{}, &VerifyError{head.Tenant, head.Size, "the stored hashes do not give the head's root"}
	}
	return e, nil
}

// addDraft adds a draft whose key is not in the database.
func (a *addition) addDraft(key Key, d *prepared, now time.Time, buf []byte) (Outcome, []byte) {
	if f, ok := a.fresh[key]; ok {
		status := IDConflict
		if f.draft.draft.Type == d.draft.Type && f.draft.extHash == d.extHash && f.draft.dataHash == d.dataHash {
			status = Duplicate
		}
		return Outcome{Status: status, Position: f.position, Leaf: f.leaf}, buf
	}
	position := a.tree.size + 1
	a.rows = append(a.rows, Row{
		Position: position, Agent: d.draft.Agent, Type: d.draft.Type, Source: d.draft.Source, ID: d.draft.ID,
		Subject: d.draft.Subject, Time: d.draft.Time, RecordedAt: now, Commitment: d.commitment,
		Content: &d.content, Attachment: d.attachment, Attached: d.attached,
	})
	var leaf tlog.Hash
	leaf, buf = leafHash(buf, a.tenant, &a.rows[len(a.rows)-1])
	a.hashes = a.tree.appendLeaf(leaf, a.hashes)
	a.drafts = append(a.drafts, d)
	a.leaves = append(a.leaves, leaf)
	a.fresh[key] = freshRow{draft: d, position: position, leaf: leaf}
	return Outcome{Status: Appended, Position: position, Leaf: leaf}, buf
}

// readLeaves fills in the leaves of outcomes that name entries of earlier transactions.
func (p *plan) readLeaves(tenant string, outcomes []*Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	indexes := make([]int64, len(outcomes))
	for i, o := range outcomes {
		indexes[i] = tlog.StoredHashIndex(0, o.Position-1)
	}
	leaves, err := p.tx.Hashes(tenant, indexes)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		o.Leaf = leaves[i]
	}
	return nil
}

func (p *plan) applyErasure(r *request) error {
	if r.erasure == nil {
		return nil
	}
	for _, o := range p.outcomes[r] {
		if o.Status == IDConflict || o.Status == Erased {
			return nil
		}
	}
	contents, attached, err := p.tx.Erase(r.erasure.tenant, r.erasure.content, r.erasure.attachments)
	p.erased[r] = contents + attached
	return err
}
