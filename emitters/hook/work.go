package hook

import (
	"context"
	"fmt"

	"satchel/schemas"
)

// Coder remembers what was run, changed, fixed and decided.
type Coder struct{ h *Hooks }

// Ran is a command that was run.
type Ran struct {
	Command string
	Output  string
	Exit    int
}

// CommandRan remembers a command, its exit code and what it printed. Episodic.
func (c Coder) CommandRan(ctx context.Context, r Ran) (schemas.Receipt, error) {
	return c.h.publishMemory(ctx, c.makeCommandMemory(r))
}

func (c Coder) makeCommandMemory(r Ran) memory {
	return memory{typ: schemas.Episodic, category: "command", speaker: c.h.cfg.Agent, role: "tool",
		text: joinLines("$ "+r.Command, fmt.Sprintf("exit code %d", r.Exit), r.Output), importance: 0.3}
}

// Command wraps a function that runs commands, so that each is remembered.
func (c Coder) Command(run func(ctx context.Context, command string) (output string, exit int, err error)) func(ctx context.Context, command string) (string, int, error) {
	return func(ctx context.Context, command string) (string, int, error) {
		output, exit, err := run(ctx, command)
		shown := output
		if err != nil {
			shown = joinLines(output, "error: "+err.Error())
		}
		c.h.noteMemory(ctx, c.makeCommandMemory(Ran{Command: command, Output: shown, Exit: exit}))
		return output, exit, err
	}
}

// Changed remembers a change to a file and why it was made. Episodic.
func (c Coder) Changed(ctx context.Context, path, summary, why string) (schemas.Receipt, error) {
	return c.h.publishMemory(ctx, memory{typ: schemas.Episodic, category: "change", speaker: c.h.cfg.Agent, role: "assistant",
		text: joinLines("Changed "+path+": "+summary, labelText("Why", why))})
}

// Fix is how something was repaired, as an experience.
type Fix struct {
	Domain     string // debugging, feature, …
	Strategy   string // systematic-elimination, …
	Goal       string
	Hypothesis string // what was believed to be wrong
	Action     string // what was done
	Result     string
	RootCause  string
	Lesson     string
	Worked     bool
}

// FixFound remembers how something was repaired. Procedural.
func (c Coder) FixFound(ctx context.Context, f Fix) (schemas.Receipt, error) {
	return c.h.publishMemory(ctx, f.makeFixMemory("fix"))
}

func (f *Fix) makeFixMemory(category string) memory {
	outcome := "falsified"
	if f.Worked {
		outcome = "confirmed"
	}
	attributes := schemas.ExperienceAttributes{Domain: f.Domain, Strategy: f.Strategy, Axis: "full", Goal: f.Goal, Hypothesis: f.Hypothesis, Action: f.Action,
		OutcomeStatus: outcome, OutcomeResult: f.Result, RootCause: f.RootCause}
	if f.Lesson != "" {
		attributes.Lesson = &schemas.Lesson{WhatWorked: f.Lesson}
	}
	return memory{typ: schemas.Procedural, kind: schemas.KindExperience, category: category, importance: 0.7, attributes: attributes,
		text: joinLines(labelText("Goal", f.Goal), labelText("Believed", f.Hypothesis), labelText("Did", f.Action), labelText("Result", f.Result),
			labelText("Root cause", f.RootCause), labelText("Lesson", f.Lesson))}
}

// Decided remembers a decision about the code and its reason. Semantic.
func (c Coder) Decided(ctx context.Context, decision, because string) (schemas.Receipt, error) {
	return c.h.publishMemory(ctx, memory{typ: schemas.Semantic, kind: schemas.KindKnowledge, category: "decision",
		text: joinLines(decision, labelText("Because", because)), importance: 0.8})
}

// Healer remembers how tests fail and are repaired.
type Healer struct{ h *Hooks }

// Failure is a test that failed.
type Failure struct {
	Test    string
	Message string
	Output  string
}

// TestFailed remembers a failure, its message first. Episodic.
func (t Healer) TestFailed(ctx context.Context, f Failure) (schemas.Receipt, error) {
	return t.h.publishMemory(ctx, makeFailureMemory(t.h, f))
}

func makeFailureMemory(h *Hooks, f Failure) memory {
	return memory{typ: schemas.Episodic, category: "test_failure", speaker: h.cfg.Agent, role: "tool", importance: 0.5,
		text: joinLines("Test failed: "+f.Test, labelText("Message", f.Message), f.Output)}
}

// Test wraps a function that runs a test, so that a failure is remembered.
func (t Healer) Test(run func(ctx context.Context, test string) (output string, err error)) func(ctx context.Context, test string) (string, error) {
	return func(ctx context.Context, test string) (string, error) {
		output, err := run(ctx, test)
		if err != nil {
			t.h.noteMemory(ctx, makeFailureMemory(t.h, Failure{Test: test, Message: err.Error(), Output: output}))
		}
		return output, err
	}
}

// TestHealed remembers how a test was repaired; failure is the item of its failure.
// Procedural.
func (t Healer) TestHealed(ctx context.Context, failure string, f Fix) (schemas.Receipt, error) {
	m := f.makeFixMemory("test_healed")
	m.links = makeLinks(schemas.RelCausedBy, []string{failure})
	return t.h.publishMemory(ctx, m)
}

// FlakeKnown remembers a test that fails now and then, and why. Semantic.
func (t Healer) FlakeKnown(ctx context.Context, test, pattern string, rate float64) (schemas.Receipt, error) {
	return t.h.publishMemory(ctx, memory{typ: schemas.Semantic, kind: schemas.KindKnowledge, category: "flake",
		text: fmt.Sprintf("Test %s is flaky: it fails %.0f %% of the time. %s", test, 100*rate, pattern), importance: 0.6})
}

// Assistant remembers a conversation and what it taught about the person.
type Assistant struct{ h *Hooks }

// Said remembers what somebody said; role is user or assistant. Episodic.
func (a Assistant) Said(ctx context.Context, speaker, role, text string) (schemas.Receipt, error) {
	return a.h.publishMemory(ctx, memory{typ: schemas.Episodic, category: "turn", speaker: speaker, role: role, text: text})
}

// Reply wraps the function that answers a message, so that both turns are remembered.
func (a Assistant) Reply(answer func(ctx context.Context, speaker, message string) (string, error)) func(ctx context.Context, speaker, message string) (string, error) {
	return func(ctx context.Context, speaker, message string) (string, error) {
		a.h.noteMemory(ctx, memory{typ: schemas.Episodic, category: "turn", speaker: speaker, role: "user", text: message})
		said, err := answer(ctx, speaker, message)
		if err == nil {
			a.h.noteMemory(ctx, memory{typ: schemas.Episodic, category: "turn", speaker: a.h.cfg.Agent, role: "assistant", text: said})
		}
		return said, err
	}
}

// HowTo remembers how the person wants something done. Procedural.
func (a Assistant) HowTo(ctx context.Context, task string, steps []string) (schemas.Receipt, error) {
	return a.h.publishMemory(ctx, memory{typ: schemas.Procedural, category: "how_to", text: joinLines("How to "+task+":", numberLines(steps)), importance: 0.6})
}

// Preference remembers what the person likes. Semantic.
func (a Assistant) Preference(ctx context.Context, person, preference string) (schemas.Receipt, error) {
	return a.h.publishMemory(ctx, memory{typ: schemas.Semantic, category: "preference", speaker: person, text: preference, importance: 0.7})
}
