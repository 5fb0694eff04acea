package schemas

import "slices"

// Validate returns what is wrong with the request, nil when it may be served.
func (r *SearchRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	if isBlank(r.Query) && len(r.Vector) == 0 {
		c.addIssue("/query", "is required: give query or vector")
	}
	c.checkSize("/query", r.Query, MaxQuery)
	c.checkVector("/vector", r.Vector)
	c.checkRange("/limit", int64(r.Limit), 0, MaxLimit)
	c.checkShorts("/memory_types", r.MemoryTypes, MaxFilters)
	c.checkOrder("/date_to", r.DateTo, r.DateFrom, "must be after date_from")
	c.checkUnit("/min_confidence", r.MinConfidence)
	c.checkUnit("/min_score", r.MinScore)
	c.checkShort("/conversation_id", r.ConversationID, MaxName)
	c.checkZone("/tz", r.TZ)
	c.checkFilters("/filters", r.Filters)
	c.checkRange("/relationship_depth", int64(r.RelationshipDepth), 0, 4)
	c.checkPurpose("/purpose", r.Purpose)
	c.checkNotNegative("/min_position", r.MinPosition)
	return c.issues
}

func (c *checker) checkPurpose(pointer, purpose string) {
	if purpose != "" && !validLabelValue(purpose) {
		c.addIssue(pointer, "must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ / + -")
	}
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *BuildRequest) Validate() []Issue {
	c := checker{issues: r.SearchRequest.Validate()}
	c.checkOptionalToken("/template", r.Template)
	c.checkTemplate("/inline", r.Inline)
	c.checkRange("/token_budget", int64(r.TokenBudget), 0, MaxTokenBudget)
	c.checkOptionalToken("/ranker", r.Ranker)
	if w := r.RankerWeights; w != nil {
		if r.Ranker != "" {
			c.addIssue("/ranker_weights", "must not stand beside ranker")
		}
		c.checkUnit("/ranker_weights/similarity", &w.Similarity)
		c.checkUnit("/ranker_weights/recency", &w.Recency)
		c.checkUnit("/ranker_weights/confidence", &w.Confidence)
		if *w == (RankerWeights{}) {
			c.addIssue("/ranker_weights", "must have a weight above 0")
		}
	}
	c.checkShort("/model", r.Model, MaxName)
	return c.issues
}

func (c *checker) checkTemplate(pointer string, t *ContextTemplate) {
	if t == nil {
		return
	}
	c.checkToken(pointer+"/name", t.Name)
	c.checkPresent(pointer+"/memory_format", len(t.MemoryFormat))
	c.checkSize(pointer+"/memory_format", t.MemoryFormat, MaxQuery)
	c.checkSize(pointer+"/header", t.Header, MaxQuery)
	c.checkSize(pointer+"/separator", t.Separator, MaxQuery)
	c.checkSize(pointer+"/footer", t.Footer, MaxQuery)
}

// ContextTypes lists the assembler's names for the kinds, in its order.
func ContextTypes() []string {
	return []string{"memories", "code", "experiences", "values", "commits"}
}

// Validate returns what is wrong with the request, nil when it may be served. An
// unknown context type is an issue at /context_types/<i>.
func (r *AssembleRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkGiven("/query", r.Query)
	c.checkSize("/query", r.Query, MaxQuery)
	c.checkUnit("/min_score", r.MinScore)
	for i, t := range r.ContextTypes {
		if !slices.Contains(ContextTypes(), t) {
			c.addIssue(pointerAt("/context_types", i), "must be memories, code, experiences, values or commits")
		}
	}
	c.checkRange("/limit", int64(r.Limit), 0, MaxLimit)
	c.checkRange("/max_tokens", int64(r.MaxTokens), 0, MaxTokenBudget)
	c.checkZone("/tz", r.TZ)
	c.checkPurpose("/purpose", r.Purpose)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *PremortemRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkGiven("/domain", r.Domain)
	c.checkShort("/domain", r.Domain, MaxName)
	c.checkShort("/strategy", r.Strategy, MaxName)
	c.checkRange("/limit", int64(r.Limit), 0, MaxLimit)
	c.checkRange("/max_tokens", int64(r.MaxTokens), 0, MaxTokenBudget)
	c.checkPurpose("/purpose", r.Purpose)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RelevanceRequest) Validate() []Issue {
	var c checker
	c.checkRelevance("", r)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ExplainRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkID("/pack_id", r.PackID)
	c.checkID("/item_id", r.ItemID)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *CompactRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkOptionalID("/pack_id", r.PackID)
	if r.PackID == "" && r.Session == "" {
		c.addIssue("/pack_id", "is required, or session")
		c.addIssue("/session", "is required, or pack_id")
	}
	if r.PackID != "" && r.Session != "" {
		c.addIssue("/session", "must not be given with pack_id")
	}
	c.checkShort("/session", r.Session, MaxName)
	c.checkSize("/query", r.Query, MaxQuery)
	c.checkShort("/model", r.Model, MaxName)
	c.checkPurpose("/purpose", r.Purpose)
	c.checkRange("/budget", int64(r.Budget), 1, MaxTokenBudget)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RecoverRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkID("/pack_id", r.PackID)
	if len(r.ItemIDs) > 0 || len(r.Spans) == 0 {
		c.checkIDs("/item_ids", r.ItemIDs)
	}
	if len(r.ItemIDs)+len(r.Spans) == 0 {
		c.addIssue("/spans", "is required, or item_ids")
	}
	c.checkCount("/spans", len(r.Spans), MaxItems, "entries")
	for i, s := range r.Spans {
		c.checkID(pointerAt("/spans", i)+"/item_id", s.ItemID)
		if s.Span.Start < 0 || s.Span.End <= s.Span.Start {
			c.addIssue(pointerAt("/spans", i)+"/span", "must be a range of bytes, [start, end)")
		}
	}
	c.checkPurpose("/purpose", r.Purpose)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *ItemsRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	if len(r.ItemIDs) > 0 {
		c.checkIDs("/item_ids", r.ItemIDs)
		filtered := r.Session != "" || len(r.Labels)+len(r.Kinds) > 0
		if filtered || r.After != "" {
			c.addIssue("/item_ids", "must not be given with a filter or after")
		}
	}
	c.checkShort("/session", r.Session, MaxName)
	c.checkShorts("/labels", r.Labels, MaxRefs)
	c.checkKinds("/kinds", r.Kinds)
	c.checkShort("/after", r.After, MaxName)
	c.checkRange("/limit", int64(r.Limit), 0, MaxLimit)
	c.checkPurpose("/purpose", r.Purpose)
	c.checkNotNegative("/min_position", r.MinPosition)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *StatusRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *PlanRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkIDs("/items", r.Items)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *TemplateRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkTemplate("/register", r.Register)
	return c.issues
}
