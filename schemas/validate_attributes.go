package schemas

import (
	"encoding/json"
	"math"
	"strconv"
)

// attributes checks the kind-specific object. Names beyond those of the kind are
// allowed: requests filter by them.
func (c *checker) attributes(m *MemoryItem) {
	if len(m.Attributes) == 0 {
		return
	}
	const pointer = "/attributes"
	if len(m.Attributes) > MaxAttributes {
		c.add(pointer, "must have at most "+strconv.Itoa(MaxAttributes)+" bytes")
		return
	}
	s := attributeShape(m.Kind)
	before := len(c.issues)
	c.issues = append(c.issues, walkAt(pointer, m.Attributes, s)...)
	if len(c.issues) > before {
		return
	}
	c.artifact(m)
	switch m.Kind {
	case KindExperience:
		c.issues = append(c.issues, checkAttributes(m.Attributes, checkExperience)...)
	case KindCode:
		c.issues = append(c.issues, checkAttributes(m.Attributes, checkCode)...)
	case KindCommit:
		c.issues = append(c.issues, checkAttributes(m.Attributes, checkCommit)...)
	case KindTool:
		c.issues = append(c.issues, checkAttributes(m.Attributes, checkTool)...)
	case KindValue:
		c.issues = append(c.issues, checkAttributes(m.Attributes, checkValue)...)
	}
}

func attributeShape(k Kind) *shape {
	switch k {
	case KindExperience:
		return experienceShape
	case KindCode:
		return codeShape
	case KindCommit:
		return commitShape
	case KindTool:
		return toolShape
	case KindValue:
		return valueShape
	}
	return objectShape
}

// checkAttributes has a checker of its own, so that the item's stays off the heap.
func checkAttributes[T any](raw json.RawMessage, check func(*checker, *T)) []Issue {
	var v T
	if json.Unmarshal(raw, &v) != nil {
		return walkSlowly("/attributes", raw, shapeFor[T](true))
	}
	var c checker
	check(&c, &v)
	return c.issues
}

func checkExperience(c *checker, a *ExperienceAttributes) {
	c.short("/attributes/domain", a.Domain, MaxName)
	c.short("/attributes/strategy", a.Strategy, MaxName)
	c.short("/attributes/outcome_status", a.OutcomeStatus, MaxName)
	switch a.Axis {
	case "", "full", "strategy", "surprise", "root_cause":
	default:
		c.add("/attributes/axis", "must be full, strategy, surprise or root_cause")
	}
	switch a.ConfidenceTier {
	case "", "gold", "silver", "bronze", "abandoned":
	default:
		c.add("/attributes/confidence_tier", "must be gold, silver, bronze or abandoned")
	}
	if a.GHAPID != "" {
		c.id("/attributes/ghap_id", a.GHAPID)
	}
	c.intRange("/attributes/iteration_count", int64(a.IterationCount), 0, math.MaxInt32)
}

func checkCode(c *checker, a *CodeAttributes) {
	c.short("/attributes/file_path", a.FilePath, MaxURI)
	c.short("/attributes/language", a.Language, MaxName)
	c.short("/attributes/unit_type", a.UnitType, MaxName)
	c.intRange("/attributes/start_line", int64(a.StartLine), 0, math.MaxInt32)
	c.intRange("/attributes/end_line", int64(a.EndLine), 0, math.MaxInt32)
	if a.EndLine > 0 && a.StartLine > a.EndLine {
		c.add("/attributes/end_line", "must not be before start_line")
	}
}

func checkCommit(c *checker, a *CommitAttributes) {
	if a.SHA != "" && !validSHA(a.SHA) {
		c.add("/attributes/sha", "must be 7 to 64 lower-case hex digits")
	}
	c.short("/attributes/author", a.Author, MaxName)
	c.short("/attributes/timestamp", a.Timestamp, MaxName)
	c.short("/attributes/committed", a.Committed, MaxName)
	c.intRange("/attributes/insertions", int64(a.Insertions), 0, math.MaxInt32)
	c.intRange("/attributes/deletions", int64(a.Deletions), 0, math.MaxInt32)
}

func validSHA(s string) bool {
	if len(s) < 7 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func checkTool(c *checker, a *ToolAttributes) {
	c.short("/attributes/name", a.Name, MaxName)
	c.shorts("/attributes/safety_tags", a.SafetyTags, MaxRefs)
}

func checkValue(c *checker, a *ValueAttributes) {
	c.short("/attributes/axis", a.Axis, MaxName)
	c.short("/attributes/cluster_id", a.ClusterID, MaxName)
	c.intRange("/attributes/cluster_size", int64(a.ClusterSize), 0, math.MaxInt32)
	c.unit("/attributes/similarity_to_centroid", &a.SimilarityToCentroid)
	if a.GHAPID != "" {
		c.id("/attributes/ghap_id", a.GHAPID)
	}
}
