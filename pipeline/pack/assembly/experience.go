package assembly

import (
	"cmp"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

func (it *Item) fillExperience(r *candidate.Candidate, text string, view View) {
	x, err := r.Experience()
	if err != nil {
		x = schemas.ExperienceAttributes{}
	}
	if x.Lesson == nil {
		x.Lesson = &schemas.Lesson{}
	}
	id := r.ID
	it.ghap = x.GHAPID
	it.failure = hasFailed(&x)
	it.note = "*(truncated, full experience ID: " + makeLabel(id) + ")*"
	it.Metadata = map[string]any{
		"id": id, "domain": x.Domain, "strategy": x.Strategy, "outcome_status": x.OutcomeStatus,
		"confidence_tier": x.ConfidenceTier, "iteration_count": x.IterationCount,
	}
	if x.GHAPID != "" {
		it.Metadata["ghap_id"] = x.GHAPID
	}
	switch {
	case view == Surprise && x.Surprise != "":
		it.fillBrief("Surprise", x.Surprise, &x, id)
	case view == RootCause && x.RootCause != "":
		it.fillBrief("Root cause", x.RootCause, &x, id)
	case view == Strategy:
		it.fillOutcome(&x, text, id)
	default:
		it.fillNarrative(&x, text)
	}
}

// fillNarrative is the whole of an experience, a line for each field it has.
func (it *Item) fillNarrative(x *schemas.ExperienceAttributes, text string) {
	it.head = "**Experience**"
	if title := joinNonEmpty(" | ", flattenText(x.Domain), flattenText(x.Strategy)); title != "" {
		it.head += ": " + title
	}
	it.head += "\n"
	outcome := joinNonEmpty(" - ", flattenText(x.OutcomeStatus), flattenText(x.OutcomeResult))
	var b strings.Builder
	for _, f := range []struct{ name, text string }{
		{"Goal", flattenText(x.Goal)}, {"Hypothesis", flattenText(x.Hypothesis)}, {"Action", flattenText(x.Action)}, {"Prediction", flattenText(x.Prediction)},
		{"Outcome", outcome}, {"Surprise", flattenText(x.Surprise)}, {"Root cause", flattenText(x.RootCause)}, {"Lesson", flattenText(x.Lesson.WhatWorked)}, {"Takeaway", flattenText(x.Lesson.Takeaway)},
	} {
		if f.text != "" {
			b.WriteString("- **" + f.name + "**: " + f.text + "\n")
		}
	}
	it.body = strings.TrimSuffix(b.String(), "\n")
	if x.Goal == "" && x.Hypothesis == "" && x.Action == "" {
		it.body = joinNonEmpty("\n", escapeFirst(escapeStructure(text)), it.body)
		return
	}
	it.clipped = false // the text is not shown
}

// fillBrief is one field of an experience, and where it was learnt. The takeaway of a failure is shown with the failure.
func (it *Item) fillBrief(title, text string, x *schemas.ExperienceAttributes, id string) {
	takeaway := flattenText(x.Lesson.Takeaway)
	if it.failure {
		takeaway = ""
	}
	it.head = "**" + title + "**: "
	it.body = escapeStructure(text)
	it.clipped = false
	it.tail = "\n*" + escapeAsterisks(joinNonEmpty("; ", addPrefix("Goal: ", flattenText(x.Goal)), addPrefix("Strategy: ", flattenText(x.Strategy)),
		addPrefix("Outcome: ", flattenText(x.OutcomeStatus)), addPrefix("Takeaway: ", takeaway), "experience "+flattenText(id))) + "*"
}

// fillOutcome is how a strategy did, failures in capitals.
func (it *Item) fillOutcome(x *schemas.ExperienceAttributes, text, id string) {
	status := cmp.Or(flattenText(x.OutcomeStatus), "unknown")
	if it.failure {
		status = strings.ToUpper(status)
	}
	it.head = "**" + escapeAsterisks(status) + "**"
	if x.Domain != "" {
		it.head += " (" + flattenText(x.Domain) + ")"
	}
	it.head += ": "
	lessons := joinNonEmpty("\n", addPrefix("- **Lesson**: ", flattenText(x.Lesson.WhatWorked)), addPrefix("- **Takeaway**: ", flattenText(x.Lesson.Takeaway)))
	it.body = joinNonEmpty("\n", joinNonEmpty(" → ", flattenText(x.Goal), flattenText(x.OutcomeResult)), lessons)
	if x.Goal == "" && x.OutcomeResult == "" {
		it.body = joinNonEmpty("\n", escapeStructure(text), lessons)
	} else {
		it.clipped = false
	}
	it.tail = "\n*experience " + escapeAsterisks(flattenText(id)) + "*"
}

func hasFailed(x *schemas.ExperienceAttributes) bool {
	return x.OutcomeStatus == "falsified" || x.OutcomeStatus == "abandoned"
}

func addPrefix(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// joinNonEmpty joins what is not empty.
func joinNonEmpty(by string, parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, by)
}
