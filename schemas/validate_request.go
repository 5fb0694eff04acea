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
	c.word("/meta/type", r.Meta.Type, "must be ContextRequest", "", MessageContextRequest)
	c.optionalID("/meta/id", r.Meta.ID)
	c.agent("/meta/from", r.Meta.From)
	p := &r.Payload
	c.query(p)
	c.intRange("/payload/limit", int64(p.Limit), 0, MaxLimit)
	c.intRange("/payload/token_budget", int64(p.TokenBudget), 0, MaxTokenBudget)
	c.optionalToken("/payload/tenant", p.Tenant)
	c.short("/payload/session", p.Session, MaxName)
	c.size("/payload/user_message", p.UserMessage, MaxMessage)
	c.size("/payload/task", p.Task, MaxQuery)
	c.short("/payload/model", p.Model, MaxName)
	c.zone("/payload/tz", p.TZ)
	c.positions(p)
	c.purpose("/payload/purpose", p.Purpose)
	c.optionalToken("/payload/profile", p.Profile)
	c.unit("/payload/min_score", &p.MinScore)
	if p.Prefer != "" && p.Prefer.Kinds() == nil {
		c.add("/payload/prefer", "must be docs, code or history, or left out")
	}
	c.word("/payload/repeat", string(p.Repeat), "must be full or stable, or left out", "", string(RepeatFull), string(RepeatStable))
	c.word("/payload/compaction", string(p.Compaction), "must be auto or off, or left out", "", string(CompactionAuto), string(CompactionOff))
	c.relevance("/payload/relevance", p.Relevance)
	c.weights(p)
	c.intRange("/payload/max_bytes", int64(p.MaxBytes), 0, math.MaxInt32)
	return c.issues
}

// weights checks that they are within 0 and 1; what they must sum to depends on the
// profile.
func (c *checker) weights(p *RequestPayload) {
	c.atMost("/payload/weights", len(p.Weights), MaxFilters, "weights")
	for _, name := range slices.Sorted(maps.Keys(p.Weights)) {
		if w := p.Weights[name]; !(w >= 0 && w <= 1) {
			c.add("/payload/weights/"+escapePointer(name), "must be within 0 and 1")
		}
	}
	if l := p.Lambda; l != nil && (!(*l >= 0) || math.IsInf(*l, 0)) {
		c.add("/payload/recency_decay_lambda", "must be 0 or more")
	}
}

func (c *checker) positions(p *RequestPayload) {
	c.notNegative("/payload/as_of", p.AsOf)
	c.notNegative("/payload/min_position", p.MinPosition)
	if p.AsOf > 0 && p.MinPosition > p.AsOf {
		c.add("/payload/min_position", "must not be after as_of")
	}
}

func (c *checker) agent(pointer string, a *Agent) {
	if a == nil {
		return
	}
	c.id(pointer+"/id", a.ID)
	c.short(pointer+"/type", a.Type, MaxName)
	if _, ok := ParseLevel(a.SecurityLevel); !ok && a.SecurityLevel != "" {
		c.add(pointer+"/securityLevel", "must be public, internal, confidential or restricted")
	}
	c.shorts(pointer+"/authorizedGroups", a.Groups, MaxRefs)
	c.shorts(pointer+"/roles", a.Roles, MaxRefs)
}

func (c *checker) query(p *RequestPayload) {
	const pointer = "/payload/query"
	q := &p.Query
	c.word(pointer+"/type", string(q.Type), "must be keyword, semantic, graph or hybrid",
		"", string(QueryKeyword), string(QuerySemantic), string(QueryGraph), string(QueryHybrid))
	if isBlank(q.Text) && len(q.Vector) == 0 && isBlank(p.UserMessage) {
		c.add(pointer+"/text", "is required: give query.text, query.vector or user_message")
	}
	if q.Type == QueryKeyword && isBlank(q.Text) && isBlank(p.UserMessage) && len(q.Vector) > 0 {
		c.add(pointer+"/text", "is required for a keyword query")
	}
	c.size(pointer+"/text", q.Text, MaxQuery)
	c.vector(pointer+"/vector", q.Vector)
	c.filters(pointer+"/filters", q.Filters)
	c.graph(pointer+"/graph", q)
}

// graph checks how links are to be followed.
func (c *checker) graph(pointer string, q *Query) {
	g := q.Graph
	if g == nil {
		return
	}
	if q.Type == QueryKeyword || q.Type == QuerySemantic {
		c.add(pointer, "is for graph and hybrid queries")
	}
	c.intRange(pointer+"/hops", int64(g.Hops), 0, MaxHops)
	c.atMost(pointer+"/rels", len(g.Rels), MaxRefs, "entries")
	for i, r := range g.Rels {
		if !validRel(r) {
			c.add(at(pointer+"/rels", i), wantRel)
		}
	}
	c.kinds(pointer+"/kinds", g.Kinds)
	c.shorts(pointer+"/labels", g.Labels, MaxRefs)
	c.atMost(pointer+"/from", len(g.From), MaxRefs, "entries")
	c.eachID(pointer+"/from", g.From)
}

// kinds checks a list of kinds.
func (c *checker) kinds(pointer string, kinds []Kind) {
	c.atMost(pointer, len(kinds), MaxRefs, "entries")
	for i, k := range kinds {
		if _, ok := k.Info(); !ok {
			c.add(at(pointer, i), "is not a kind of item")
		}
	}
}

// vector checks the dimensions and that every number is finite.
func (c *checker) vector(pointer string, v []float32) {
	c.atMost(pointer, len(v), MaxVector, "numbers")
	zero := len(v) > 0
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			c.add(at(pointer, i), "must be a finite number")
			return
		}
		zero = zero && x == 0
	}
	if zero {
		c.add(pointer, "must not be all zeros")
	}
}

func (c *checker) size(pointer, s string, most int) {
	c.atMost(pointer, len(s), most, "bytes")
}

func (c *checker) relevance(pointer string, r *RelevanceRequest) {
	if r == nil {
		return
	}
	if r.Mode == "" {
		c.add(pointer+"/mode", required)
	}
	c.short(pointer+"/mode", r.Mode, MaxName)
	c.scalars(pointer+"/signals", r.Signals)
	c.scalars(pointer+"/classification", r.Classification)
	c.intRange(pointer+"/token_budget_remaining", int64(r.TokenBudgetRemaining), 0, math.MaxInt32)
}

// Validate returns what is wrong with the put, nil when its event may be looked at.
func (p *PutRequest) Validate() []Issue {
	var c checker
	c.token("/agent", p.Agent)
	if len(p.Event) == 0 {
		c.add("/event", required)
	} else {
		c.issues = append(c.issues, walkAt("/event", p.Event, objectShape)...)
	}
	c.word("/wait", p.Wait, "must be accepted, logged or indexed", "", string(ReceiptAccepted), string(ReceiptLogged), string(ReceiptIndexed))
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ReceiptRequest) Validate() []Issue {
	var c checker
	c.id("/id", r.ID)
	if r.Source == "" {
		c.add("/source", required)
	}
	c.short("/source", r.Source, MaxURI)
	c.word("/level", string(r.Level), "must be accepted, logged, indexed or proved",
		string(ReceiptAccepted), string(ReceiptLogged), string(ReceiptIndexed), string(ReceiptProved))
	c.intRange("/timeout_ms", int64(r.Timeout), 0, MaxWait)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ProveRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	switch {
	case r.Position < 0:
		c.add("/position", "must not be negative")
	case r.Position == 0 && r.ID == "" && r.OldSize == 0:
		c.add("/position", "is required: give position, source and id, or old_size")
	}
	if r.ID != "" {
		c.id("/id", r.ID)
		if r.Source == "" {
			c.add("/source", "is required with id")
		}
	}
	c.short("/source", r.Source, MaxURI)
	c.notNegative("/old_size", r.OldSize)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *EntriesRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	for i, k := range r.Kinds {
		if !slices.Contains(LedgerKinds(), k) {
			c.add("/kinds/"+strconv.Itoa(i), "is no kind of the ledger")
		}
	}
	if len(r.Kinds) > MaxRefs {
		c.add("/kinds", "has more than "+strconv.Itoa(MaxRefs)+" values")
	}
	c.notNegative("/before", r.Before)
	c.notNegative("/after", r.After)
	if r.Before > 0 && r.After > 0 {
		c.add("/after", "must not stand beside before")
	}
	c.intRange("/limit", int64(r.Limit), 0, MaxEntries)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *PackRequest) Validate() []Issue {
	var c checker
	switch {
	case r.Position < 0:
		c.add("/position", "must not be negative")
	case r.Position == 0 && r.PackID == "":
		c.add("/pack_id", "is required: give pack_id or position")
	}
	c.optionalID("/pack_id", r.PackID)
	c.agent("/from", r.From)
	return c.issues
}
