// Package hook has the moments of an agent's work that are worth remembering, by kind of
// agent, as one call each: an agent calls the hook where the moment happens, or wraps the
// function in which it happens.
//
//	          episodic                     procedural             semantic
//	Planner      GoalSet, StepDone         PlanMade               ConstraintFound
//	Retriever    Searched                  QueryWorked            GapFound, SourceRated
//	Verifier     Checked                   RuleApplied            Contradicted
//	Synthesizer  Answered                  FormatWorked           FactEstablished
//	Coder        CommandRan, Changed       FixFound               Decided
//	Healer       TestFailed                TestHealed             FlakeKnown
//	Assistant    Said                      HowTo                  Preference
//
// Coder.Command, Healer.Test and Assistant.Reply are the wrappers.
//
// It promises that personal data and secrets are masked before anything is published,
// wherever in the item they stand, and that no hook publishes past it; that each memory
// says of which type it is, and is linked to what it came from. A hook returns what the
// emitter returns; a wrapper returns what it wraps returned, and reports a memory that
// could not be published to Config.Failed, so that remembering never breaks the work.
//
// Hooks are safe for concurrent use when the emitter is.
package hook

import (
	"context"
	"errors"
	"fmt"

	"satchel/emitters"
	"satchel/pipeline/pii"
	"satchel/schemas"
)

// Emitter publishes memories; *emitters.Emitter is one.
type Emitter interface {
	Remember(ctx context.Context, item schemas.MemoryItem, opts *emitters.Options) (schemas.Receipt, error)
}

// Config says how the hooks remember. Emitter is required.
type Config struct {
	Emitter Emitter
	Agent   string   // speaker of what the agent itself says
	Session string   // session of the memories
	Labels  []string // security labels; empty: the emitter's
	Project string   // scope of the memories

	Detect  *pii.Detector // what is masked; default e-mail, phone, card, IBAN, SSN, secrets
	Mask    pii.Mask      // what stands in its place; default a mark such as [email]
	Longest int           // bytes of a text; of a longer one head and tail are kept; default 64 KiB

	Options *emitters.Options // of every memory; the default returns when JetStream has it
	Failed  func(error)       // told of a memory that a wrapper could not publish; default nobody
}

// Hooks are the moments of one agent in one session.
type Hooks struct{ cfg Config }

const defaultLongest = 64 << 10

// New returns the hooks of an agent.
func New(cfg Config) (*Hooks, error) {
	if cfg.Emitter == nil {
		return nil, errors.New("new hooks: no emitter")
	}
	if cfg.Detect == nil {
		d, err := pii.New(pii.Config{})
		if err != nil {
			return nil, fmt.Errorf("new hooks: %w", err)
		}
		cfg.Detect = d
	}
	if cfg.Mask == nil {
		cfg.Mask = pii.Mark
	}
	if cfg.Longest <= 0 {
		cfg.Longest = defaultLongest
	}
	if cfg.Failed == nil {
		cfg.Failed = func(error) {}
	}
	return &Hooks{cfg: cfg}, nil
}

// Planner returns the hooks of an agent that takes goals apart.
func (h *Hooks) Planner() Planner { return Planner{h} }

// Retriever returns the hooks of an agent that looks for context.
func (h *Hooks) Retriever() Retriever { return Retriever{h} }

// Verifier returns the hooks of an agent that checks what others say.
func (h *Hooks) Verifier() Verifier { return Verifier{h} }

// Synthesizer returns the hooks of an agent that answers.
func (h *Hooks) Synthesizer() Synthesizer { return Synthesizer{h} }

// Coder returns the hooks of an agent that writes code.
func (h *Hooks) Coder() Coder { return Coder{h} }

// Healer returns the hooks of an agent that repairs tests.
func (h *Hooks) Healer() Healer { return Healer{h} }

// Assistant returns the hooks of an agent that talks with people.
func (h *Hooks) Assistant() Assistant { return Assistant{h} }

// memory is what a hook remembers.
type memory struct {
	kind       schemas.Kind
	typ        schemas.MemoryType
	text       string
	category   string
	speaker    string
	role       string
	importance float64
	confidence float64
	links      []schemas.Link
	attributes any
}

// publishMemory masks and publishes.
func (h *Hooks) publishMemory(ctx context.Context, m memory) (schemas.Receipt, error) {
	item := schemas.MemoryItem{
		Kind: m.kind, Type: m.typ, Category: m.category, Session: h.cfg.Session, Speaker: m.speaker, Role: m.role,
		SecurityLabel: h.cfg.Labels, Links: m.links, Content: schemas.TextContent(h.shortenText(m.text)),
	}
	item.Scope.Project = h.cfg.Project
	if item.Kind == "" {
		item.Kind = schemas.KindMemory
	}
	if m.importance > 0 {
		item.Importance = &m.importance
	}
	if m.confidence > 0 {
		item.Confidence = &m.confidence
	}
	if m.attributes != nil {
		raw, err := encodeJSON(m.attributes)
		if err != nil {
			return schemas.Receipt{}, err
		}
		item.Attributes = raw
	}
	h.cfg.Detect.MaskItem(&item, h.cfg.Mask)
	return h.cfg.Emitter.Remember(ctx, item, h.cfg.Options)
}

// noteMemory is remember for a wrapper, whose caller is not to fail by it.
func (h *Hooks) noteMemory(ctx context.Context, m memory) {
	if _, err := h.publishMemory(ctx, m); err != nil {
		h.cfg.Failed(err)
	}
}

// makeLinks returns one link of a relation to each item.
func makeLinks(rel schemas.Rel, items []string) []schemas.Link {
	out := make([]schemas.Link, 0, len(items))
	for _, id := range items {
		if id != "" && len(out) < schemas.MaxLinks {
			out = append(out, schemas.Link{Rel: rel, To: id})
		}
	}
	return out
}
