package service

import (
	"context"
	"encoding/hex"
	"slices"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
	"satchel/worker/erasure"
	"satchel/worker/relay"
)

// What one page of entries costs at most.
const (
	entriesPage  = 50      // entries, unless a request says otherwise
	entriesRead  = 500     // entries of the log that are read at once
	entriesLook  = 5000    // entries of the log that are looked at
	entriesBytes = 2 << 20 // data in a page, but for an entry that has more

	// followBytes is data in a page of one who reads on: it is sent as a message, so that those who
	// follow the log take no place of large replies.
	followBytes = 512 << 10
)

// Entries answers log.v1.<tenant>.entries: the log as the ledger shows it, of the kinds that
// policy lets the caller follow. It reads the log, so it also has what the stream has dropped.
func (v *Service) Entries(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.EntriesRequest])
	if err != nil {
		return nil, err
	}
	s, err := v.Scope(ctx, tenant, req.From, "")
	if err != nil {
		return nil, err
	}
	kinds, err := v.chooseKinds(ctx, s, req.Kinds)
	if err != nil {
		return nil, err
	}
	system, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	head, err := v.cfg.Log.Head(ctx, system)
	if err != nil {
		return nil, storageError(ctx, "read the head", err)
	}
	page := entryPage{kinds: kinds, reason: v.makeReasonReader(ctx, s, system), limit: req.Limit, most: entriesBytes, reply: schemas.EntriesReply{Entries: []schemas.LedgerEntry{}}}
	if page.limit == 0 {
		page.limit = entriesPage
	}
	if req.After > 0 {
		page.most = followBytes
		err = v.readAfter(ctx, system, &page, req.After, head.Size)
	} else {
		err = v.readBefore(ctx, system, &page, req.Before, head.Size)
	}
	if err != nil {
		return nil, storageError(ctx, "read the log", err)
	}
	return page.reply, nil
}

// chooseKinds returns the kinds that a request is answered with: those it names, if policy allows
// each, or all that policy allows.
func (v *Service) chooseKinds(
	ctx context.Context, s scope.Scope, asked []schemas.LedgerKind,
) ([]schemas.LedgerKind, error) {
	named := len(asked) > 0
	if !named {
		asked = schemas.LedgerKinds()
	}
	var kinds []schemas.LedgerKind
	for _, kind := range asked {
		err := v.mayFollow(ctx, s, kind)
		if err != nil && named {
			return nil, err
		}
		if err == nil {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// entryPage gathers a page.
type entryPage struct {
	kinds []schemas.LedgerKind
	limit int
	most  int // bytes
	bytes int
	full  bool // it takes no more
	reply schemas.EntriesReply

	reason func(e *eventlog.Entry) (string, error) // of an erasure, as far as the caller may know
}

// makeReasonReader returns what tells the caller s why something was erased: of its own erasures, and of all to principals whom
// policy lets follow decisions.
func (v *Service) makeReasonReader(ctx context.Context, s, system scope.Scope) func(e *eventlog.Entry) (string, error) {
	audits := sync.OnceValue(func() bool { return v.mayFollow(ctx, s, schemas.LedgerDecision) == nil })
	return func(e *eventlog.Entry) (string, error) {
		text, agent, err := erasure.Reason(ctx, v.cfg.Log, system, e)
		if err != nil || text == "" {
			return "", err
		}
		if agent != s.Principal().ID && !audits() {
			return "", nil
		}
		return text, nil
	}
}

// takeEntry adds an entry that is of a wanted kind. It returns false when the page has no place for it.
func (p *entryPage) takeEntry(e *eventlog.Entry) (bool, error) {
	m, err := relay.Message(e)
	if err != nil {
		return false, err
	}
	kind := schemas.LedgerKind(m.Kind)
	if !slices.Contains(p.kinds, kind) {
		return true, nil
	}
	reason := ""
	if kind == schemas.LedgerErasure {
		if reason, err = p.reason(e); err != nil {
			return false, err
		}
	}
	size := len(m.Event.Data()) + len(reason)
	p.full = len(p.reply.Entries) > 0 && p.bytes+size > p.most
	if p.full {
		return false, nil
	}
	p.bytes += size
	p.reply.Entries = append(p.reply.Entries, schemas.LedgerEntry{
		Position: e.Position, Kind: kind, Agent: e.Agent, Type: e.Type, Source: e.Source, ID: e.ID, Subject: e.Subject,
		Time: e.Time, RecordedAt: e.RecordedAt, Leaf: hex.EncodeToString(e.Leaf[:]), Data: m.Event.Data(), Reason: reason,
	})
	p.full = len(p.reply.Entries) >= p.limit
	return true, nil
}

// readAfter fills the page with what stands after a position, oldest first.
func (v *Service) readAfter(ctx context.Context, s scope.Scope, p *entryPage, at, size int64) error {
	for end := min(at+entriesLook, size); at < end && !p.full; {
		entries, err := v.cfg.Log.Read(ctx, s, at, int(min(entriesRead, end-at)))
		if err != nil || len(entries) == 0 {
			return err
		}
		for i := 0; i < len(entries) && !p.full; i++ {
			taken, err := p.takeEntry(&entries[i])
			if err != nil {
				return err
			}
			if taken {
				at = entries[i].Position
			}
		}
	}
	if at < size {
		p.reply.Next = at
	}
	return nil
}

// readBefore fills the page with what stands before a position, 0 for the end, newest first.
func (v *Service) readBefore(ctx context.Context, s scope.Scope, p *entryPage, before, size int64) error {
	at := size + 1
	if before > 0 {
		at = min(before, at)
	}
	for end := max(at-entriesLook, 1); at > end && !p.full; {
		from := max(at-entriesRead, end)
		entries, err := v.cfg.Log.Read(ctx, s, from-1, int(at-from))
		if err != nil || len(entries) == 0 {
			return err
		}
		for i := len(entries) - 1; i >= 0 && !p.full; i-- {
			taken, err := p.takeEntry(&entries[i])
			if err != nil {
				return err
			}
			if taken {
				at = entries[i].Position
			}
		}
	}
	if at > 1 {
		p.reply.Next = at
	}
	return nil
}
