package schemas

import (
	"encoding/json"
	"errors"
)

// ExperienceAttributes are the GHAP fields (goal, hypothesis, action, prediction)
// of an item of kind experience, and how it came out.
type ExperienceAttributes struct {
	Domain         string  `json:"domain,omitempty"`          // debugging, feature, …
	Strategy       string  `json:"strategy,omitempty"`        // systematic-elimination, …
	Axis           string  `json:"axis,omitempty"`            // full, strategy, surprise or root_cause
	GHAPID         string  `json:"ghap_id,omitempty"`         // id shared by all axes of one experience
	Goal           string  `json:"goal,omitempty"`            // what was to be reached
	Hypothesis     string  `json:"hypothesis,omitempty"`      // what was believed
	Action         string  `json:"action,omitempty"`          // what was done
	Prediction     string  `json:"prediction,omitempty"`      // what was expected
	OutcomeStatus  string  `json:"outcome_status,omitempty"`  // confirmed, falsified, abandoned
	OutcomeResult  string  `json:"outcome_result,omitempty"`  // what happened
	Surprise       string  `json:"surprise,omitempty"`        // what nobody expected
	RootCause      string  `json:"root_cause,omitempty"`      // why the hypothesis failed
	Lesson         *Lesson `json:"lesson,omitempty"`          // what to keep
	ConfidenceTier string  `json:"confidence_tier,omitempty"` // gold, silver, bronze or abandoned
	IterationCount int     `json:"iteration_count,omitempty"` // attempts it took
}

// Lesson is what an experience taught. On the wire it is this object, or a string
// that is read as WhatWorked.
type Lesson struct {
	WhatWorked string `json:"what_worked,omitempty"`
	Takeaway   string `json:"takeaway,omitempty"`
}

// UnmarshalJSON accepts the object or a string.
func (l *Lesson) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &l.WhatWorked)
	}
	type plain Lesson
	return json.Unmarshal(raw, (*plain)(l))
}

// CodeAttributes locate an item of kind code.
type CodeAttributes struct {
	FilePath      string `json:"file_path,omitempty"`
	StartLine     int    `json:"start_line,omitempty"` // from 1
	EndLine       int    `json:"end_line,omitempty"`   // inclusive
	Language      string `json:"language,omitempty"`
	Name          string `json:"name,omitempty"`
	QualifiedName string `json:"qualified_name,omitempty"`
	UnitType      string `json:"unit_type,omitempty"` // function, class, method, …
	Signature     string `json:"signature,omitempty"`
	Docstring     string `json:"docstring,omitempty"`
}

// CommitAttributes describe an item of kind commit.
type CommitAttributes struct {
	SHA          string   `json:"sha,omitempty"` // 7 to 64 hex digits
	Author       string   `json:"author,omitempty"`
	Committed    string   `json:"committed,omitempty"`
	Timestamp    string   `json:"timestamp,omitempty"`
	FilesChanged []string `json:"files_changed,omitempty"`
	Insertions   int      `json:"insertions,omitempty"`
	Deletions    int      `json:"deletions,omitempty"`
}

// ToolAttributes describe an item of kind tool. Parameters is the JSON Schema of
// the tool's arguments.
type ToolAttributes struct {
	Name        string         `json:"name,omitempty"`
	Signature   string         `json:"signature,omitempty"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"`
	SafetyTags  []string       `json:"safety_tags,omitempty"`
	SafetyNotes string         `json:"safety_notes,omitempty"`
}

// ValueAttributes describe an item of kind value: what a cluster of experiences has in common.
type ValueAttributes struct {
	Axis                 string  `json:"axis,omitempty"`
	ClusterID            string  `json:"cluster_id,omitempty"`
	ClusterSize          int     `json:"cluster_size,omitempty"`
	SimilarityToCentroid float64 `json:"similarity_to_centroid,omitempty"` // 0–1
	GHAPID               string  `json:"ghap_id,omitempty"`
	Domain               string  `json:"domain,omitempty"`
	Strategy             string  `json:"strategy,omitempty"`
}

// errNoAttributes is returned when an item of the kind carries no attributes.
var errNoAttributes = errors.New("item has no attributes")

// Experience returns the attributes of an item of kind experience.
func (m *MemoryItem) Experience() (ExperienceAttributes, error) {
	return attributesOf[ExperienceAttributes](m)
}

// Code returns the attributes of an item of kind code.
func (m *MemoryItem) Code() (CodeAttributes, error) { return attributesOf[CodeAttributes](m) }

// Commit returns the attributes of an item of kind commit.
func (m *MemoryItem) Commit() (CommitAttributes, error) { return attributesOf[CommitAttributes](m) }

// Tool returns the attributes of an item of kind tool.
func (m *MemoryItem) Tool() (ToolAttributes, error) { return attributesOf[ToolAttributes](m) }

// Value returns the attributes of an item of kind value.
func (m *MemoryItem) Value() (ValueAttributes, error) { return attributesOf[ValueAttributes](m) }

func attributesOf[T any](m *MemoryItem) (T, error) {
	var v T
	if len(m.Attributes) == 0 {
		return v, errNoAttributes
	}
	err := json.Unmarshal(m.Attributes, &v)
	return v, err
}
