// Package experience reads GHAP entries (goal, hypothesis, action, prediction and how it
// came out) as memory items of kind experience.
//
// An entry is a JSON object. Its fields are those of schemas.ExperienceAttributes; the
// nested forms are read too: outcome {status, result}, root_cause {category,
// description}, lesson {what_worked, takeaway} or a string. Names it does not
// know it leaves to the caller, see [Fields]. What is wrong is reported field by field, and never with the text itself.
package experience

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"satchel/schemas"
)

// entry is a line as people write it.
type entry struct {
	schemas.ExperienceAttributes
	ID         string          `json:"id"`
	Session    string          `json:"session_id"`
	CreatedAt  json.RawMessage `json:"created_at"`
	CapturedAt json.RawMessage `json:"captured_at"`
	Outcome    *struct {
		Status     string          `json:"status"`
		Result     string          `json:"result"`
		CapturedAt json.RawMessage `json:"captured_at"`
	} `json:"outcome"`
	RootCause cause    `json:"root_cause"`
	Labels    []string `json:"security_label"`
}

// Fields returns the names that Decode reads.
func Fields() []string {
	return slices.Concat([]string{"id", "session_id", "created_at", "captured_at", "outcome", "root_cause", "security_label"}, schemas.ExperienceFields())
}

// cause is a text, or {category, description}.
type cause string

// UnmarshalJSON accepts both forms and null.
func (c *cause) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(c))
	}
	var nested struct{ Category, Description string }
	if err := json.Unmarshal(raw, &nested); err != nil {
		return err
	}
	*c = cause(strings.Trim(nested.Category+": "+nested.Description, ": "))
	return nil
}

// Decode reads one entry. labels are those of entries that carry none. The issues say
// what is wrong with it; there is an item only when there are none.
func Decode(raw []byte, tenant string, labels []string) (schemas.MemoryItem, []schemas.Issue) {
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		var field *json.UnmarshalTypeError
		if errors.As(err, &field) && field.Field != "" {
			return schemas.MemoryItem{}, []schemas.Issue{{Pointer: "/" + strings.ReplaceAll(strings.TrimPrefix(field.Field, "ExperienceAttributes."), ".", "/"), Message: "must be " + kindOf(field) + ", not " + field.Value}}
		}
		return schemas.MemoryItem{}, []schemas.Issue{{Message: "is not a JSON object"}}
	}
	a := e.attributes()
	issues := missing(&a)
	created, issue := e.time()
	if issue != nil {
		issues = append(issues, *issue)
	}
	id := e.itemID(raw)
	if a.GHAPID == "" && schemas.ValidID(e.ID) {
		a.GHAPID = e.ID
	}
	attributes, err := json.Marshal(a)
	if err != nil {
		return schemas.MemoryItem{}, append(issues, schemas.Issue{Message: "cannot be encoded"})
	}
	if len(e.Labels) > 0 {
		labels = e.Labels
	}
	item := schemas.MemoryItem{ID: id, Type: schemas.Episodic, Kind: schemas.KindExperience, Scope: schemas.MemoryScope{Tenant: tenant}, CreatedAt: created,
		SecurityLabel: labels, Category: a.Domain, Session: e.Session, Content: schemas.TextContent(Narrative(&a)), Attributes: attributes, Provenance: schemas.Provenance{SourceURI: "ghap:" + strings.TrimPrefix(id, "ghap:")}}
	for _, i := range item.Validate() {
		if i.Pointer != "/content" || len(issues) == 0 { // an entry without fields has no content
			i.Pointer = strings.TrimPrefix(i.Pointer, "/attributes")
			issues = append(issues, i)
		}
	}
	if len(issues) > 0 {
		return schemas.MemoryItem{}, issues
	}
	return item, nil
}

func kindOf(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "string":
		return "a string"
	case "int":
		return "a whole number"
	}
	return "an object"
}

// attributes merges the nested forms into the flat ones.
func (e *entry) attributes() schemas.ExperienceAttributes {
	a := e.ExperienceAttributes
	a.RootCause = string(e.RootCause)
	if e.Outcome != nil {
		if a.OutcomeStatus == "" {
			a.OutcomeStatus = e.Outcome.Status
		}
		if a.OutcomeResult == "" {
			a.OutcomeResult = e.Outcome.Result
		}
	}
	if a.Lesson != nil && *a.Lesson == (schemas.Lesson{}) {
		a.Lesson = nil
	}
	if a.Axis == "" {
		a.Axis = "full"
	}
	return a
}

func missing(a *schemas.ExperienceAttributes) []schemas.Issue {
	var issues []schemas.Issue
	for _, f := range []struct{ name, value string }{{"domain", a.Domain}, {"goal", a.Goal}, {"hypothesis", a.Hypothesis}, {"action", a.Action}, {"prediction", a.Prediction}, {"outcome_status", a.OutcomeStatus}} {
		if strings.TrimSpace(f.value) == "" {
			issues = append(issues, schemas.Issue{Pointer: "/" + f.name, Message: "is required"})
		}
	}
	switch a.OutcomeStatus {
	case "", "confirmed", "falsified", "abandoned":
	default:
		issues = append(issues, schemas.Issue{Pointer: "/outcome_status", Message: "must be confirmed, falsified or abandoned"})
	}
	return issues
}

// itemID is made from the entry's own id, or from its text.
func (e *entry) itemID(raw []byte) string {
	id := e.GHAPID
	if id == "" {
		id = e.ID
	}
	if id := "ghap:" + strings.TrimPrefix(id, "ghap:"); id != "ghap:" && schemas.ValidID(id) {
		return id
	}
	if id == "" {
		id = string(bytes.TrimSpace(raw))
	}
	sum := sha256.Sum256([]byte(id))
	return "ghap:" + hex.EncodeToString(sum[:12])
}

// time is when the entry was made: RFC 3339, or seconds since 1970. An entry without a
// time is of 1970, so that it is the same item every time.
func (e *entry) time() (time.Time, *schemas.Issue) {
	candidates := []json.RawMessage{e.CreatedAt, e.CapturedAt}
	if e.Outcome != nil {
		candidates = append(candidates, e.Outcome.CapturedAt)
	}
	for _, raw := range candidates {
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			if at, err := schemas.ParseTime(text); err == nil && at.Year() > 0 && at.Year() < 10000 {
				return at.UTC(), nil
			}
		}
		var seconds float64
		if json.Unmarshal(raw, &seconds) == nil && seconds >= 0 && seconds < 253402300800 {
			return time.UnixMilli(int64(seconds * 1000)).UTC(), nil
		}
		return time.Unix(0, 0).UTC(), &schemas.Issue{Pointer: "/created_at", Message: "must be a time as in RFC 3339, or seconds since 1970"}
	}
	return time.Unix(0, 0).UTC(), nil
}

// Narrative is the text of an experience on the full axis.
func Narrative(a *schemas.ExperienceAttributes) string {
	var b strings.Builder
	line := func(name, text string) {
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, text)
		}
	}
	line("Goal", a.Goal)
	line("Strategy", a.Strategy)
	line("Hypothesis", a.Hypothesis)
	line("Action", a.Action)
	line("Prediction", a.Prediction)
	line("Outcome", strings.Trim(a.OutcomeStatus+" - "+a.OutcomeResult, " -"))
	line("Surprise", a.Surprise)
	line("Root cause", a.RootCause)
	if a.Lesson != nil {
		line("Lesson", a.Lesson.WhatWorked)
		line("Takeaway", a.Lesson.Takeaway)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
