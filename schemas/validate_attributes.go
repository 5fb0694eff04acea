package schemas

import (
	"encoding/json"
	"math"
	"strconv"
)

// checkAttributes checks the kind-specific object. Names beyond those of the kind are
// allowed: requests filter by them.
func (c *checker) checkAttributes(m *MemoryItem) {
	if len(m.Attributes) == 0 {
		return
	}
	const pointer = "/attributes"
	if len(m.Attributes) > MaxAttributes {
		c.addIssue(pointer, "must have at most "+strconv.Itoa(MaxAttributes)+" bytes")
		return
	}
	rules, ok := attributeChecks[m.Kind]
	if !ok {
		rules.shape = objectShape
	}
	before := len(c.issues)
	c.issues = append(c.issues, walkAt(pointer, m.Attributes, rules.shape)...)
	if len(c.issues) > before {
		return
	}
	c.checkArtifact(m)
	if rules.check != nil {
		c.issues = append(c.issues, rules.check(m.Attributes)...)
	}
}

// attributeCheck is the shape of the attributes of a kind and what they are held to beyond it.
type attributeCheck struct {
	shape *shape
	check func(json.RawMessage) []Issue
}

// attributeChecks are those of the kinds that have names of their own. They are only read.
var attributeChecks = map[Kind]attributeCheck{
	KindExperience: checksOf(checkExperience),
	KindCode:       checksOf(checkCode),
	KindCommit:     checksOf(checkCommit),
	KindTool:       checksOf(checkTool),
	KindValue:      checksOf(checkValue),
}

// checksOf has a checker of its own for each item, so that the item's stays off the heap.
func checksOf[T any](check func(*checker, *T)) attributeCheck {
	s := shapeFor[T](true)
	return attributeCheck{s, func(raw json.RawMessage) []Issue {
		var v T
		if json.Unmarshal(raw, &v) != nil {
			return walkSlowly("/attributes", raw, s)
		}
		var c checker
		check(&c, &v)
		return c.issues
	}}
}

func checkExperience(c *checker, a *ExperienceAttributes) {
	c.checkShort("/attributes/domain", a.Domain, MaxName)
	c.checkShort("/attributes/strategy", a.Strategy, MaxName)
	c.checkShort("/attributes/outcome_status", a.OutcomeStatus, MaxName)
	c.checkWord("/attributes/axis", a.Axis, "must be full, strategy, surprise or root_cause", "", "full", "strategy", "surprise", "root_cause")
	c.checkWord("/attributes/confidence_tier", a.ConfidenceTier, "must be gold, silver, bronze or abandoned", "", "gold", "silver", "bronze", "abandoned")
	c.checkOptionalID("/attributes/ghap_id", a.GHAPID)
	c.checkRange("/attributes/iteration_count", int64(a.IterationCount), 0, math.MaxInt32)
}

func checkCode(c *checker, a *CodeAttributes) {
	c.checkShort("/attributes/file_path", a.FilePath, MaxURI)
	c.checkShort("/attributes/language", a.Language, MaxName)
	c.checkShort("/attributes/unit_type", a.UnitType, MaxName)
	c.checkRange("/attributes/start_line", int64(a.StartLine), 0, math.MaxInt32)
	c.checkRange("/attributes/end_line", int64(a.EndLine), 0, math.MaxInt32)
	if a.EndLine > 0 && a.StartLine > a.EndLine {
		c.addIssue("/attributes/end_line", "must not be before start_line")
	}
}

func checkCommit(c *checker, a *CommitAttributes) {
	if a.SHA != "" && !isHex(a.SHA, 7, 64) {
		c.addIssue("/attributes/sha", "must be 7 to 64 lower-case hex digits")
	}
	c.checkShort("/attributes/author", a.Author, MaxName)
	c.checkShort("/attributes/timestamp", a.Timestamp, MaxName)
	c.checkShort("/attributes/committed", a.Committed, MaxName)
	c.checkRange("/attributes/insertions", int64(a.Insertions), 0, math.MaxInt32)
	c.checkRange("/attributes/deletions", int64(a.Deletions), 0, math.MaxInt32)
}

func checkTool(c *checker, a *ToolAttributes) {
	c.checkShort("/attributes/name", a.Name, MaxName)
	c.checkShorts("/attributes/safety_tags", a.SafetyTags, MaxRefs)
}

func checkValue(c *checker, a *ValueAttributes) {
	c.checkShort("/attributes/axis", a.Axis, MaxName)
	c.checkShort("/attributes/cluster_id", a.ClusterID, MaxName)
	c.checkRange("/attributes/cluster_size", int64(a.ClusterSize), 0, math.MaxInt32)
	c.checkUnit("/attributes/similarity_to_centroid", &a.SimilarityToCentroid)
	c.checkOptionalID("/attributes/ghap_id", a.GHAPID)
}
