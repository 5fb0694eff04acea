package assembly

import (
	"cmp"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

func (it *Item) experience(r *candidate.Candidate, text string, view View) {
	x, err := r.Experience()
	if err != nil {
		x = schemas.ExperienceAttributes{}
	}
	if x.Lesson == nil {
		x.Lesson = &schemas.Lesson{}
	}
	id := r.ID
	it.ghap = x.GHAPID
	it.failure = failed(&x)
	it.note = "*(truncated, full experience ID: " + label(id) + ")*"
	it.Metadata = map[string]any{
		"id": id, "domain": x.Domain, "strategy": x.Strategy, "outcome_status": x.OutcomeStatus,
		"confidence_tier": x.ConfidenceTier, "iteration_count": x.IterationCount,
	}
	if x.GHAPID != "" {
		it.Metadata["ghap_id"] = x.GHAPID
	}
	switch {
	case view == Surprise && x.Surprise != "":
		it.brief("Surprise", x.Surprise, &x, id)
	case view == RootCause && x.RootCause != "":
		it.brief("Root cause", x.RootCause, &x, id)
	case view == Strategy:
		it.outcome(&x, text, id)
	default:
		it.narrative(&x, text)
	}
}

// narrative is the whole of an experience, a line for each field it has.
func (it *Item) narrative(x *schemas.ExperienceAttributes, text string) {
	it.head = "**Experience**"
	if title := join(" | ", line(x.Domain), line(x.Strategy)); title != "" {
		it.head += ": " + title
	}
	it.head += "\n"
	outcome := join(" - ", line(x.OutcomeStatus), line(x.OutcomeResult))
	var b strings.Builder
	for _, f := range []struct{ name, text string }{
		{"Goal", line(x.Goal)}, {"Hypothesis", line(x.Hypothesis)}, {"Action", line(x.Action)}, {"Prediction", line(x.Prediction)},
		{"Outcome", outcome}, {"Surprise", line(x.Surprise)}, {"Root cause", line(x.RootCause)}, {"Lesson", line(x.Lesson.WhatWorked)}, {"Takeaway", line(x.Lesson.Takeaway)},
	} {
		if f.text != "" {
			b.WriteString("- **" + f.name + "**: " + f.text + "\n")
		}
	}
	it.body = strings.TrimSuffix(b.String(), "\n")
	if x.Goal == "" && x.Hypothesis == "" && x.Action == "" {
		it.body = join("\n", escapeFirst(escapeStructure(text)), it.body)
		return
	}
	it.clipped = false // the text is not shown
}

// brief is one field of an experience, and where it was learnt. The takeaway of a failure is shown with the failure.
func (it *Item) brief(title, text string, x *schemas.ExperienceAttributes, id string) {
	takeaway := line(x.Lesson.Takeaway)
	if it.failure {
		takeaway = ""
	}
	it.head = "**" + title + "**: "
	it.body = escapeStructure(text)
	it.clipped = false
	it.tail = "\n*" + emphasised(join("; ", prefixed("Goal: ", line(x.Goal)), prefixed("Strategy: ", line(x.Strategy)),
		prefixed("Outcome: ", line(x.OutcomeStatus)), prefixed("Takeaway: ", takeaway), "experience "+line(id))) + "*"
}

// outcome is how a strategy did, failures in capitals.
func (it *Item) outcome(x *schemas.ExperienceAttributes, text, id string) {
	status := cmp.Or(line(x.OutcomeStatus), "unknown")
	if it.failure {
		status = strings.ToUpper(status)
	}
	it.head = "**" + emphasised(status) + "**"
	if x.Domain != "" {
		it.head += " (" + line(x.Domain) + ")"
	}
	it.head += ": "
	lessons := join("\n", prefixed("- **Lesson**: ", line(x.Lesson.WhatWorked)), prefixed("- **Takeaway**: ", line(x.Lesson.Takeaway)))
	it.body = join("\n", join(" → ", line(x.Goal), line(x.OutcomeResult)), lessons)
	if x.Goal == "" && x.OutcomeResult == "" {
		it.body = join("\n", escapeStructure(text), lessons)
	} else {
		it.clipped = false
	}
	it.tail = "\n*experience " + emphasised(line(id)) + "*"
}

func failed(x *schemas.ExperienceAttributes) bool {
	return x.OutcomeStatus == "falsified" || x.OutcomeStatus == "abandoned"
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// join joins what is not empty.
func join(by string, parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, by)
}
