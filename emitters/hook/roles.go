package hook

import (
	"context"
	"fmt"
	"strings"

	"satchel/schemas"
)

// Planner remembers goals, plans and what bounds them.
type Planner struct{ h *Hooks }

// GoalSet remembers that a goal was given. Episodic.
func (p Planner) GoalSet(ctx context.Context, goal, by string) (schemas.Receipt, error) {
	return p.h.publishMemory(ctx, memory{typ: schemas.Episodic, category: "goal", speaker: by, role: "user", text: "Goal: " + goal, importance: 0.7})
}

// PlanMade remembers the steps to a goal. Procedural.
func (p Planner) PlanMade(ctx context.Context, goal string, steps []string) (schemas.Receipt, error) {
	return p.h.publishMemory(ctx, memory{typ: schemas.Procedural, category: "plan", speaker: p.h.cfg.Agent, role: "assistant",
		text: joinLines("Plan for: "+goal, numberLines(steps)), importance: 0.6})
}

// StepDone remembers how a step of a plan came out; plan is the plan's item. Episodic.
func (p Planner) StepDone(ctx context.Context, plan, step, outcome string) (schemas.Receipt, error) {
	return p.h.publishMemory(ctx, memory{typ: schemas.Episodic, category: "step", speaker: p.h.cfg.Agent, role: "assistant",
		text: joinLines("Step done: "+step, labelText("Outcome", outcome)), links: makeLinks(schemas.RelPartOf, []string{plan})})
}

// ConstraintFound remembers what every later plan has to heed. Semantic.
func (p Planner) ConstraintFound(ctx context.Context, constraint, because string) (schemas.Receipt, error) {
	return p.h.publishMemory(ctx, memory{typ: schemas.Semantic, kind: schemas.KindKnowledge, category: "constraint",
		text: joinLines(constraint, labelText("Because", because)), importance: 0.8})
}

// Retriever remembers what was looked for, how, and what is not there.
type Retriever struct{ h *Hooks }

// Searched remembers a search and what it found. Episodic.
func (r Retriever) Searched(ctx context.Context, query string, found []string) (schemas.Receipt, error) {
	return r.h.publishMemory(ctx, memory{typ: schemas.Episodic, category: "search", speaker: r.h.cfg.Agent, role: "tool",
		text: fmt.Sprintf("Searched for: %s\nFound %d items.", query, len(found)), links: makeLinks(schemas.RelMentions, found), importance: 0.3})
}

// QueryWorked remembers how a kind of question is best asked. Procedural.
func (r Retriever) QueryWorked(ctx context.Context, need, query string) (schemas.Receipt, error) {
	return r.h.publishMemory(ctx, memory{typ: schemas.Procedural, category: "query", text: joinLines("To find: "+need, "Ask: "+query), importance: 0.5})
}

// GapFound remembers that nothing answers a question. Semantic.
func (r Retriever) GapFound(ctx context.Context, question string) (schemas.Receipt, error) {
	return r.h.publishMemory(ctx, memory{typ: schemas.Semantic, kind: schemas.KindKnowledge, category: "gap", text: "Not known here: " + question, importance: 0.5})
}

// SourceRated remembers how far a source can be relied on, 0 to 1. Semantic.
func (r Retriever) SourceRated(ctx context.Context, source, why string, confidence float64) (schemas.Receipt, error) {
	return r.h.publishMemory(ctx, memory{typ: schemas.Semantic, kind: schemas.KindKnowledge, category: "source",
		text: fmt.Sprintf("Source %s can be relied on to %.0f %%.\n%s", source, 100*confidence, labelText("Because", why)), confidence: confidence})
}

// Verifier remembers what was checked and what does not go together.
type Verifier struct{ h *Hooks }

// Checked remembers a claim's check; evidence are the items it was held against. Episodic.
func (v Verifier) Checked(ctx context.Context, claim string, holds bool, evidence []string) (schemas.Receipt, error) {
	verdict := "does not hold"
	if holds {
		verdict = "holds"
	}
	return v.h.publishMemory(ctx, memory{typ: schemas.Episodic, category: "check", speaker: v.h.cfg.Agent, role: "assistant",
		text: "Checked: " + claim + "\nIt " + verdict + ".", links: makeLinks(schemas.RelMentions, evidence), importance: 0.5})
}

// RuleApplied remembers a rule by which such claims are checked. Procedural.
func (v Verifier) RuleApplied(ctx context.Context, rule, applies string) (schemas.Receipt, error) {
	return v.h.publishMemory(ctx, memory{typ: schemas.Procedural, category: "rule", text: joinLines("Rule: "+rule, labelText("Applies to", applies)), importance: 0.6})
}

// Contradicted remembers that items contradict each other. Semantic.
func (v Verifier) Contradicted(ctx context.Context, about string, items []string) (schemas.Receipt, error) {
	return v.h.publishMemory(ctx, memory{typ: schemas.Semantic, kind: schemas.KindKnowledge, category: "contradiction",
		text: "These contradict each other about " + about + ": " + strings.Join(items, ", ") + ".", links: makeLinks(schemas.RelMentions, items), importance: 0.8})
}

// Synthesizer remembers answers and what stands by them.
type Synthesizer struct{ h *Hooks }

// Answered remembers an answer and the items it cites. Episodic.
func (s Synthesizer) Answered(ctx context.Context, question, answer string, cited []string) (schemas.Receipt, error) {
	return s.h.publishMemory(ctx, memory{typ: schemas.Episodic, category: "answer", speaker: s.h.cfg.Agent, role: "assistant",
		text: joinLines("Question: "+question, "Answer: "+answer), links: makeLinks(schemas.RelDerivedFrom, cited), importance: 0.5})
}

// FormatWorked remembers the form in which an audience wants its answers. Procedural.
func (s Synthesizer) FormatWorked(ctx context.Context, audience, form string) (schemas.Receipt, error) {
	return s.h.publishMemory(ctx, memory{typ: schemas.Procedural, category: "format", text: joinLines("Answers for "+audience+":", form), importance: 0.5})
}

// FactEstablished remembers a conclusion and the items it rests on. Semantic.
func (s Synthesizer) FactEstablished(ctx context.Context, fact string, from []string, confidence float64) (schemas.Receipt, error) {
	return s.h.publishMemory(ctx, memory{typ: schemas.Semantic, kind: schemas.KindKnowledge, category: "fact", text: fact,
		links: makeLinks(schemas.RelDerivedFrom, from), confidence: confidence, importance: 0.6})
}
