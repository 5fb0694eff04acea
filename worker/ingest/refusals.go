package ingest

import (
	"context"
	"crypto/sha256"
	"sync"

	"satchel/pipeline/write"
	"satchel/schemas"
	"satchel/worker/transport"
)

// refusals tells each publisher whose event this process refuses. It is safe for concurrent use.
type refusals struct {
	mu      sync.Mutex
	waiting map[refusalKey]map[chan *schemas.Error]bool
}

// refusalKey names an event and its data.
type refusalKey struct {
	tenant, source, id string
	data               [sha256.Size]byte
}

// expectRefusal returns a channel that gets the refusal of an event, if there is one before ctx ends.
func (r *refusals) expectRefusal(ctx context.Context, tenant, source, id string, data []byte) <-chan *schemas.Error {
	key := refusalKey{tenant, source, id, sha256.Sum256(data)}
	refused := make(chan *schemas.Error, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[refusalKey]map[chan *schemas.Error]bool{}
	}
	if r.waiting[key] == nil {
		r.waiting[key] = map[chan *schemas.Error]bool{}
	}
	r.waiting[key][refused] = true
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting[key], refused)
		if len(r.waiting[key]) == 0 {
			delete(r.waiting, key)
		}
	})
	return refused
}

// passRefusals passes refusals on to who expects them.
func (r *refusals) passRefusals(rejected []transport.Rejected) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		return
	}
	for i := range rejected {
		m := &rejected[i].Message
		if m.Err != nil || m.Padding {
			continue
		}
		key := refusalKey{m.Tenant, m.Event.Source(), m.Event.ID(), sha256.Sum256(m.Event.Data())}
		for refused := range r.waiting[key] {
			refused <- refusalOf(&rejected[i])
		}
		delete(r.waiting, key)
	}
}

// refusalOf returns the error for the publisher of a refused event.
func refusalOf(r *transport.Rejected) *schemas.Error {
	e := &schemas.Error{Code: schemas.CodeValidation, Message: r.Reason + ": " + r.Cause}
	switch write.Reason(r.Reason) {
	case write.PolicyDenied:
		e.Code = schemas.CodePolicyDenied
		e.Message = r.Cause
		e.Holds = r.Holds
	case write.IDReuse:
		e.Code = schemas.CodeConflict
		e.Field = "/event/id"
	}
	if e.Field == "" && r.Pointer != "" {
		e.Field = "/event" + r.Pointer
	}
	return e
}
