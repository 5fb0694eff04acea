package schemas

import "slices"

// Validate returns what is wrong with the request, nil when it may be served.
func (r *SearchRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	if isBlank(r.Query) && len(r.Vector) == 0 {
		c.add("/query", "is required: give query or vector")
	}
	c.size("/query", r.Query, MaxQuery)
	c.vector("/vector", r.Vector)
	c.intRange("/limit", int64(r.Limit), 0, MaxLimit)
	c.shorts("/memory_types", r.MemoryTypes, MaxFilters)
	c.after("/date_to", r.DateTo, r.DateFrom, "must be after date_from")
	c.unit("/min_confidence", r.MinConfidence)
	c.unit("/min_score", r.MinScore)
	c.short("/conversation_id", r.ConversationID, MaxName)
	c.zone("/tz", r.TZ)
	c.filters("/filters", r.Filters)
	c.intRange("/relationship_depth", int64(r.RelationshipDepth), 0, 4)
	c.purpose("/purpose", r.Purpose)
	c.notNegative("/min_position", r.MinPosition)
	return c.issues
}

func (c *checker) purpose(pointer, purpose string) {
	if purpose != "" && !validLabelValue(purpose) {
		c.add(pointer, "must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ / + -")
	}
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *BuildRequest) Validate() []Issue {
	c := checker{issues: r.SearchRequest.Validate()}
	c.optionalToken("/template", r.Template)
	c.template("/inline", r.Inline)
	c.intRange("/token_budget", int64(r.TokenBudget), 0, MaxTokenBudget)
	c.optionalToken("/ranker", r.Ranker)
	if w := r.RankerWeights; w != nil {
		if r.Ranker != "" {
			c.add("/ranker_weights", "must not stand beside ranker")
		}
		c.unit("/ranker_weights/similarity", &w.Similarity)
		c.unit("/ranker_weights/recency", &w.Recency)
		c.unit("/ranker_weights/confidence", &w.Confidence)
		if *w == (RankerWeights{}) {
			c.add("/ranker_weights", "must have a weight above 0")
		}
	}
	c.short("/model", r.Model, MaxName)
	return c.issues
}

func (c *checker) template(pointer string, t *ContextTemplate) {
	if t == nil {
		return
	}
	c.token(pointer+"/name", t.Name)
	if t.MemoryFormat == "" {
		c.add(pointer+"/memory_format", required)
	}
	c.size(pointer+"/memory_format", t.MemoryFormat, MaxQuery)
	c.size(pointer+"/header", t.Header, MaxQuery)
	c.size(pointer+"/separator", t.Separator, MaxQuery)
	c.size(pointer+"/footer", t.Footer, MaxQuery)
}

// ContextTypes lists the assembler's names for the kinds, in its order.
func ContextTypes() []string {
	return []string{"memories", "code", "experiences", "values", "commits"}
}

// Validate returns what is wrong with the request, nil when it may be served. An
// unknown context type is an issue at /context_types/<i>.
func (r *AssembleRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	c.given("/query", r.Query)
	c.size("/query", r.Query, MaxQuery)
	c.unit("/min_score", r.MinScore)
	for i, t := range r.ContextTypes {
		if !slices.Contains(ContextTypes(), t) {
			c.add(at("/context_types", i), "must be memories, code, experiences, values or commits")
		}
	}
	c.intRange("/limit", int64(r.Limit), 0, MaxLimit)
	c.intRange("/max_tokens", int64(r.MaxTokens), 0, MaxTokenBudget)
	c.zone("/tz", r.TZ)
	c.purpose("/purpose", r.Purpose)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *PremortemRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	c.given("/domain", r.Domain)
	c.short("/domain", r.Domain, MaxName)
	c.short("/strategy", r.Strategy, MaxName)
	c.intRange("/limit", int64(r.Limit), 0, MaxLimit)
	c.intRange("/max_tokens", int64(r.MaxTokens), 0, MaxTokenBudget)
	c.purpose("/purpose", r.Purpose)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RelevanceRequest) Validate() []Issue {
	var c checker
	c.relevance("", r)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ExplainRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	c.id("/pack_id", r.PackID)
	c.id("/item_id", r.ItemID)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *CompactRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	c.optionalID("/pack_id", r.PackID)
	if r.PackID == "" && r.Session == "" {
		c.add("/pack_id", "is required, or session")
		c.add("/session", "is required, or pack_id")
	}
	if r.PackID != "" && r.Session != "" {
		c.add("/session", "must not be given with pack_id")
	}
	c.short("/session", r.Session, MaxName)
	c.size("/query", r.Query, MaxQuery)
	c.short("/model", r.Model, MaxName)
	c.purpose("/purpose", r.Purpose)
	c.intRange("/budget", int64(r.Budget), 1, MaxTokenBudget)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RecoverRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	c.id("/pack_id", r.PackID)
	if len(r.ItemIDs) > 0 || len(r.Spans) == 0 {
		c.ids("/item_ids", r.ItemIDs)
	}
	if len(r.ItemIDs)+len(r.Spans) == 0 {
		c.add("/spans", "is required, or item_ids")
	}
	c.atMost("/spans", len(r.Spans), MaxItems, "entries")
	for i, s := range r.Spans {
		c.id(at("/spans", i)+"/item_id", s.ItemID)
		if s.Span.Start < 0 || s.Span.End <= s.Span.Start {
			c.add(at("/spans", i)+"/span", "must be a range of bytes, [start, end)")
		}
	}
	c.purpose("/purpose", r.Purpose)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ItemsRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	if len(r.ItemIDs) > 0 {
		c.ids("/item_ids", r.ItemIDs)
		if r.Session != "" || len(r.Labels) > 0 || len(r.Kinds) > 0 || r.After != "" {
			c.add("/item_ids", "must not be given with a filter or after")
		}
	}
	c.short("/session", r.Session, MaxName)
	c.shorts("/labels", r.Labels, MaxRefs)
	c.kinds("/kinds", r.Kinds)
	c.short("/after", r.After, MaxName)
	c.intRange("/limit", int64(r.Limit), 0, MaxLimit)
	c.purpose("/purpose", r.Purpose)
	c.notNegative("/min_position", r.MinPosition)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *StatusRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *PlanRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	c.ids("/items", r.Items)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *TemplateRequest) Validate() []Issue {
	var c checker
	c.agent("/from", r.From)
	c.template("/register", r.Register)
	return c.issues
}
