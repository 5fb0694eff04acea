package op

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"

	"satchel/pipeline"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// Limits of compaction in the background.
const (
	sessionGrowth = 50   // new items of a session from which it is compacted again
	mostCompacted = 4096 // sessions whose state is remembered
)

// compactedSessions remembers at which item sessions were compacted. One is compacted at a time.
// The zero value works. It is safe for concurrent use.
type compactedSessions struct {
	mu     sync.Mutex
	busy   bool
	newest map[sessionKey]string // the newest item then
}

// sessionKey names a session as one principal sees it: another may see other items of it.
type sessionKey struct{ tenant, principal, session string }

// start reports whether a compaction may begin. If so, end MUST be called.
func (c *compactedSessions) start() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return false
	}
	c.busy = true
	return true
}

func (c *compactedSessions) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
}

// has reports whether a session was compacted and has hardly grown since. ids are newest first.
func (c *compactedSessions) has(key sessionKey, ids []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	newest, ok := c.newest[key]
	if !ok {
		return false
	}
	at := slices.Index(ids, newest)
	return at >= 0 && at < sessionGrowth
}

func (c *compactedSessions) add(key sessionKey, newest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest == nil || len(c.newest) >= mostCompacted {
		c.newest = map[sessionKey]string{}
	}
	c.newest[key] = newest
}

// compactLater compacts the session of a request in the background when its items would take more
// of the request's budget than the trigger allows. It makes the summaries that compact makes, under
// the request's scope. Their ids are hashes of their content, so the same ones are kept once,
// whichever worker makes them.
func (e *Operations) compactLater(req pipeline.Request, out *pipeline.Outcome) {
	if e.compaction.Background == nil || !out.Packed.Compacted || req.Session == "" || isReplay(&req) || !e.compacted.start() {
		return
	}
	s := req.Scope
	session := req.Session
	budget := req.Limits.Tokens
	model := req.Model
	e.compaction.Background(func(ctx context.Context) {
		defer e.compacted.end()
		if err := e.compactSession(ctx, s, session, budget, model); err != nil && ctx.Err() == nil {
			e.Admit.Logger.LogAttrs(ctx, slog.LevelWarn, "a session was not compacted", slog.String("cause", err.Error()))
		}
	})
}

func (e *Operations) compactSession(ctx context.Context, s scope.Scope, session string, budget int, model string) error {
	ids, err := e.Find.Items.Recent(ctx, s, oneOf(schemas.FieldSession, []string{session}).And(ofKinds(sourceKinds())), items.Place{}, mostSession)
	if err != nil {
		return err
	}
	key := sessionKey{s.Tenant(), s.Principal().ID, session}
	if len(ids) == 0 || e.compacted.has(key, ids) {
		return nil
	}
	tokens := 0
	for part := range slices.Chunk(ids, pipeline.ReadBatch) {
		records, err := e.Find.Items.Get(ctx, s, part)
		if err != nil {
			return err
		}
		for i := range records {
			tokens += cmp.Or(records[i].Tokens, len(records[i].Content.Text())/4)
		}
	}
	if !e.compaction.Trigger.Due(tokens, len(ids), budget) {
		return nil
	}
	if _, err := e.Compact(ctx, s, schemas.CompactRequest{Session: session, Model: model, Budget: budget}, nil); err != nil {
		return err
	}
	e.compacted.add(key, ids[0])
	return nil
}

// sourceKinds are the kinds of items that summaries are made of.
func sourceKinds() []schemas.Kind {
	var out []schemas.Kind
	for _, k := range schemas.Kinds() {
		if k.Kind != schemas.KindSummary {
			out = append(out, k.Kind)
		}
	}
	return out
}
