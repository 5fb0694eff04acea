package schemas

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// Validate returns what is wrong with the request, one issue per failing field, nil
// when it may be served. Zero values mean the defaults.
func (r *ContextRequest) Validate() []Issue {
	var c checker
	c.checkWord("/meta/type", r.Meta.Type, "must be ContextRequest", "", MessageContextRequest)
	c.checkOptionalID("/meta/id", r.Meta.ID)
	c.checkAgent("/meta/from", r.Meta.From)
	p := &r.Payload
	c.checkQuery(p)
	c.checkRange("/payload/limit", int64(p.Limit), 0, MaxLimit)
	c.checkRange("/payload/token_budget", int64(p.TokenBudget), 0, MaxTokenBudget)
	c.checkOptionalToken("/payload/tenant", p.Tenant)
	c.checkShort("/payload/session", p.Session, MaxName)
	c.checkSize("/payload/user_message", p.UserMessage, MaxMessage)
	c.checkSize("/payload/task", p.Task, MaxQuery)
	c.checkShort("/payload/model", p.Model, MaxName)
	c.checkZone("/payload/tz", p.TZ)
	c.checkPositions(p)
	c.checkPurpose("/payload/purpose", p.Purpose)
	c.checkOptionalToken("/payload/profile", p.Profile)
	c.checkUnit("/payload/min_score", &p.MinScore)
	if p.Prefer != "" && p.Prefer.Kinds() == nil {
		c.addIssue("/payload/prefer", "must be docs, code or history, or left out")
	}
	c.checkWord("/payload/repeat", string(p.Repeat), "must be full or stable, or left out", "", string(RepeatFull), string(RepeatStable))
	c.checkWord("/payload/compaction", string(p.Compaction), "must be auto or off, or left out", "", string(CompactionAuto), string(CompactionOff))
	c.checkRelevance("/payload/relevance", p.Relevance)
	c.checkWeights(p)
	c.checkRange("/payload/max_bytes", int64(p.MaxBytes), 0, math.MaxInt32)
	return c.issues
}

// checkWeights checks that they are within 0 and 1; what they must sum to depends on the
// profile.
func (c *checker) checkWeights(p *RequestPayload) {
	c.checkCount("/payload/weights", len(p.Weights), MaxFilters, "weights")
	for _, name := range slices.Sorted(maps.Keys(p.Weights)) {
		if w := p.Weights[name]; !(w >= 0 && w <= 1) {
			c.addIssue("/payload/weights/"+escapePointer(name), "must be within 0 and 1")
		}
	}
	if l := p.Lambda; l != nil && (!(*l >= 0) || math.IsInf(*l, 0)) {
		c.addIssue("/payload/recency_decay_lambda", "must be 0 or more")
	}
}

func (c *checker) checkPositions(p *RequestPayload) {
	c.checkNotNegative("/payload/as_of", p.AsOf)
	c.checkNotNegative("/payload/min_position", p.MinPosition)
	if p.AsOf > 0 && p.MinPosition > p.AsOf {
		c.addIssue("/payload/min_position", "must not be after as_of")
	}
}

func (c *checker) checkAgent(pointer string, a *Agent) {
	if a == nil {
		return
	}
	c.checkID(pointer+"/id", a.ID)
	c.checkShort(pointer+"/type", a.Type, MaxName)
	if _, ok := ParseLevel(a.SecurityLevel); !ok && a.SecurityLevel != "" {
		c.addIssue(pointer+"/securityLevel", "must be public, internal, confidential or restricted")
	}
	c.checkShorts(pointer+"/authorizedGroups", a.Groups, MaxRefs)
	c.checkShorts(pointer+"/roles", a.Roles, MaxRefs)
}

func (c *checker) checkQuery(p *RequestPayload) {
	const pointer = "/payload/query"
	q := &p.Query
	c.checkWord(pointer+"/type", string(q.Type), "must be keyword, semantic, graph or hybrid",
		"", string(QueryKeyword), string(QuerySemantic), string(QueryGraph), string(QueryHybrid))
	switch {
	case !isBlank(q.Text) || !isBlank(p.UserMessage):
	case len(q.Vector) == 0:
		c.addIssue(pointer+"/text", "is required: give query.text, query.vector or user_message")
	case q.Type == QueryKeyword:
		c.addIssue(pointer+"/text", "is required for a keyword query")
	}
	c.checkSize(pointer+"/text", q.Text, MaxQuery)
	c.checkVector(pointer+"/vector", q.Vector)
	c.checkFilters(pointer+"/filters", q.Filters)
	c.checkGraph(pointer+"/graph", q)
}

// checkGraph checks how links are to be followed.
func (c *checker) checkGraph(pointer string, q *Query) {
	g := q.Graph
	if g == nil {
		return
	}
	if q.Type == QueryKeyword || q.Type == QuerySemantic {
		c.addIssue(pointer, "is for graph and hybrid queries")
	}
	c.checkRange(pointer+"/hops", int64(g.Hops), 0, MaxHops)
	c.checkCount(pointer+"/rels", len(g.Rels), MaxRefs, "entries")
	for i, r := range g.Rels {
		if !validRel(r) {
			c.addIssue(pointerAt(pointer+"/rels", i), wantRel)
		}
	}
	c.checkKinds(pointer+"/kinds", g.Kinds)
	c.checkShorts(pointer+"/labels", g.Labels, MaxRefs)
	c.checkCount(pointer+"/from", len(g.From), MaxRefs, "entries")
	c.checkEachID(pointer+"/from", g.From)
}

// checkKinds checks a list of kinds.
func (c *checker) checkKinds(pointer string, kinds []Kind) {
	c.checkCount(pointer, len(kinds), MaxRefs, "entries")
	for i, k := range kinds {
		if _, ok := k.Info(); !ok {
			c.addIssue(pointerAt(pointer, i), "is not a kind of item")
		}
	}
}

// checkVector checks the dimensions and that every number is finite.
func (c *checker) checkVector(pointer string, v []float32) {
	c.checkCount(pointer, len(v), MaxVector, "numbers")
	zero := len(v) > 0
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			c.addIssue(pointerAt(pointer, i), "must be a finite number")
			return
		}
		zero = zero && x == 0
	}
	if zero {
		c.addIssue(pointer, "must not be all zeros")
	}
}

func (c *checker) checkSize(pointer, s string, most int) {
	c.checkCount(pointer, len(s), most, "bytes")
}

func (c *checker) checkRelevance(pointer string, r *RelevanceRequest) {
	if r == nil {
		return
	}
	c.checkPresent(pointer+"/mode", len(r.Mode))
	c.checkShort(pointer+"/mode", r.Mode, MaxName)
	c.checkScalars(pointer+"/signals", r.Signals)
	c.checkScalars(pointer+"/classification", r.Classification)
	c.checkRange(pointer+"/token_budget_remaining", int64(r.TokenBudgetRemaining), 0, math.MaxInt32)
}

// Validate returns what is wrong with the put, nil when its event may be looked at.
func (p *PutRequest) Validate() []Issue {
	var c checker
	c.checkToken("/agent", p.Agent)
	if len(p.Event) == 0 {
		c.addIssue("/event", required)
	} else {
		c.issues = append(c.issues, walkAt("/event", p.Event, objectShape)...)
	}
	c.checkWord("/wait", p.Wait, "must be accepted, logged or indexed", "", string(ReceiptAccepted), string(ReceiptLogged), string(ReceiptIndexed))
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ReceiptRequest) Validate() []Issue {
	var c checker
	c.checkID("/id", r.ID)
	c.checkPresent("/source", len(r.Source))
	c.checkShort("/source", r.Source, MaxURI)
	c.checkWord("/level", string(r.Level), "must be accepted, logged, indexed or proved",
		string(ReceiptAccepted), string(ReceiptLogged), string(ReceiptIndexed), string(ReceiptProved))
	c.checkRange("/timeout_ms", int64(r.Timeout), 0, MaxWait)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ProveRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	switch {
	case r.Position < 0:
		c.addIssue("/position", "must not be negative")
	case r.Position == 0 && r.ID == "" && r.OldSize == 0:
		c.addIssue("/position", "is required: give position, source and id, or old_size")
	}
	if r.ID != "" {
		c.checkID("/id", r.ID)
		if r.Source == "" {
			c.addIssue("/source", "is required with id")
		}
	}
	c.checkShort("/source", r.Source, MaxURI)
	c.checkNotNegative("/old_size", r.OldSize)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *EntriesRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	for i, k := range r.Kinds {
		if !slices.Contains(LedgerKinds(), k) {
			c.addIssue("/kinds/"+strconv.Itoa(i), "is no kind of the ledger")
		}
	}
	if len(r.Kinds) > MaxRefs {
		c.addIssue("/kinds", "has more than "+strconv.Itoa(MaxRefs)+" values")
	}
	c.checkNotNegative("/before", r.Before)
	c.checkNotNegative("/after", r.After)
	if r.Before > 0 && r.After > 0 {
		c.addIssue("/after", "must not stand beside before")
	}
	c.checkRange("/limit", int64(r.Limit), 0, MaxEntries)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *PackRequest) Validate() []Issue {
	var c checker
	switch {
	case r.Position < 0:
		c.addIssue("/position", "must not be negative")
	case r.Position == 0 && r.PackID == "":
		c.addIssue("/pack_id", "is required: give pack_id or position")
	}
	c.checkOptionalID("/pack_id", r.PackID)
	c.checkAgent("/from", r.From)
	return c.issues
}
