package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"satchel/pipeline/relevance"
	"satchel/schemas"
)

// gate is the relevance gate of the configured file, read again when the file changes.
// A broken file keeps the gate that includes everything and warns. Safe for
// concurrent use.
type gate struct {
	path   string
	logger *slog.Logger

	mu      sync.Mutex
	current *relevance.Gate
	looked  time.Time
	changed time.Time
}

// gateLook is how long a changed file may go unnoticed.
const gateLook = time.Second

// OpenGate returns what decides which context a turn needs.
func (a *App) OpenGate(logger *slog.Logger) (*gate, error) {
	g := &gate{path: a.Relevance, logger: logger}
	if g.path != "" {
		g.load(time.Now())
		return g, nil
	}
	cfg, err := relevance.DefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("read the built-in relevance config: %w", err)
	}
	g.current, err = relevance.New(cfg)
	return g, err
}

func (g *gate) load(now time.Time) {
	g.looked = now
	if info, err := os.Stat(g.path); err == nil {
		if g.current != nil && info.ModTime().Equal(g.changed) {
			return
		}
		g.changed = info.ModTime()
	} else if g.current != nil {
		return // a file that was removed leaves what it said
	}
	next, err := relevance.Load(g.path)
	if err != nil {
		g.logger.Warn("relevance config is broken, everything is included", "file", g.path, "error", err)
	}
	g.current = next
}

func (g *gate) Now() *relevance.Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); g.path != "" && now.Sub(g.looked) >= gateLook {
		g.load(now)
	}
	return g.current
}

// Decide runs the seven layers.
func (g *gate) Decide(in relevance.Input) relevance.Decision { return g.Now().Decide(in) }

// answer answers ctx.v1.<tenant>.relevance.
func (g *gate) answer(_ context.Context, _ string, body []byte) (any, error) {
	req, issues := schemas.Decode[schemas.RelevanceRequest](body)
	if err := schemas.Invalid(issues); err != nil {
		return nil, err
	}
	d := g.Decide(relevance.From(&req))
	return schemas.RelevanceReply{Inclusion: d.Inclusion(), Trace: d.Trace}, nil
}
