package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
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

// ExperienceFields returns the names that DecodeExperience reads.
func ExperienceFields() []string {
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

// DecodeExperience reads a GHAP entry (goal, hypothesis, action, prediction and how it came out) as an item of kind
// experience. An entry is a JSON object. Its fields are those of schemas.ExperienceAttributes, and the nested forms
// outcome {status, result}, root_cause {category, description} and lesson {what_worked, takeaway} or a string. It
// passes over other names, see ExperienceFields. labels are those of entries that carry none. There is an item only
// when there are no issues; they name fields and never hold text of the entry.
func DecodeExperience(raw []byte, tenant string, labels []string) (schemas.MemoryItem, []schemas.Issue) {
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return schemas.MemoryItem{}, []schemas.Issue{wrongType(err)}
	}
	a := e.attributes()
	issues := missingFields(&a)
	created, issue := e.created()
	if issue != nil {
		issues = append(issues, *issue)
	}
	id := e.itemID(raw)
	if a.GHAPID == "" && schemas.ValidID(e.ID) {
		a.GHAPID = e.ID
	}
	if len(e.Labels) > 0 {
		labels = e.Labels
	}
	item := schemas.MemoryItem{ID: id, Type: schemas.Episodic, Kind: schemas.KindExperience, Scope: schemas.MemoryScope{Tenant: tenant}, CreatedAt: created,
		SecurityLabel: labels, Category: a.Domain, Session: e.Session, Content: schemas.TextContent(narrateExperience(&a)), Attributes: Encode(a),
		Provenance: schemas.Provenance{SourceURI: "ghap:" + strings.TrimPrefix(id, "ghap:")}}
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

// wrongType says which field of an entry is not of its type.
func wrongType(err error) schemas.Issue {
	var field *json.UnmarshalTypeError
	if !errors.As(err, &field) || field.Field == "" {
		return schemas.Issue{Message: "is not a JSON object"}
	}
	want := "an object"
	switch field.Type.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Int:
		want = "a whole number"
	}
	name := strings.TrimPrefix(field.Field, "ExperienceAttributes.")
	return schemas.Issue{Pointer: "/" + strings.ReplaceAll(name, ".", "/"), Message: "must be " + want + ", not " + field.Value}
}

// attributes merges the nested forms into the flat ones.
func (e *entry) attributes() schemas.ExperienceAttributes {
	a := e.ExperienceAttributes
	a.RootCause = string(e.RootCause)
	if e.Outcome != nil {
		a.OutcomeStatus = cmp.Or(a.OutcomeStatus, e.Outcome.Status)
		a.OutcomeResult = cmp.Or(a.OutcomeResult, e.Outcome.Result)
	}
	a.Axis = cmp.Or(a.Axis, "full")
	if a.Lesson != nil && *a.Lesson == (schemas.Lesson{}) {
		a.Lesson = nil
	}
	return a
}

// missingFields says which fields an entry has to have, and what its outcome may be.
func missingFields(a *schemas.ExperienceAttributes) []schemas.Issue {
	var issues []schemas.Issue
	for _, f := range [][2]string{{"domain", a.Domain}, {"goal", a.Goal}, {"hypothesis", a.Hypothesis}, {"action", a.Action}, {"prediction", a.Prediction}, {"outcome_status", a.OutcomeStatus}} {
		if isBlank(f[1]) {
			issues = append(issues, schemas.Issue{Pointer: "/" + f[0], Message: "is required"})
		}
	}
	if !slices.Contains([]string{"", "confirmed", "falsified", "abandoned"}, a.OutcomeStatus) {
		issues = append(issues, schemas.Issue{Pointer: "/outcome_status", Message: "must be confirmed, falsified or abandoned"})
	}
	return issues
}

// itemID is made from the entry's own id, or from its text.
func (e *entry) itemID(raw []byte) string {
	id := cmp.Or(e.GHAPID, e.ID)
	own := "ghap:" + strings.TrimPrefix(id, "ghap:")
	if own != "ghap:" && schemas.ValidID(own) {
		return own
	}
	return "ghap:" + Hash([]byte(cmp.Or(id, string(bytes.TrimSpace(raw)))), 12)
}

// created is when the entry was made: RFC 3339, or seconds since 1970. An entry without a time is of 1970, so that it
// is the same item every time.
func (e *entry) created() (time.Time, *schemas.Issue) {
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

// narrateExperience is the text of an experience on the full axis.
func narrateExperience(a *schemas.ExperienceAttributes) string {
	lesson := schemas.Lesson{}
	if a.Lesson != nil {
		lesson = *a.Lesson
	}
	var lines []string
	for _, part := range [][2]string{
		{"Goal", a.Goal}, {"Strategy", a.Strategy}, {"Hypothesis", a.Hypothesis}, {"Action", a.Action}, {"Prediction", a.Prediction},
		{"Outcome", strings.Trim(a.OutcomeStatus+" - "+a.OutcomeResult, " -")}, {"Surprise", a.Surprise}, {"Root cause", a.RootCause},
		{"Lesson", lesson.WhatWorked}, {"Takeaway", lesson.Takeaway},
	} {
		if !isBlank(part[1]) {
			lines = append(lines, part[0]+": "+strings.TrimSpace(part[1]))
		}
	}
	return strings.Join(lines, "\n")
}
