package schemas

// The rules a Go type cannot say, as JSON Schema keywords. The differential tests
// hold them to Validate.

const (
	idPattern    = `^[A-Za-z0-9._:-]{1,128}$`
	tokenPattern = `^[A-Za-z0-9_-]{1,64}$`
	valuePattern = `^[A-Za-z0-9._:@/+-]{1,128}$`
	labelPattern = `^[a-z][a-z0-9_-]{0,63}:[A-Za-z0-9._:@/+-]{1,128}$`
	plainPattern = `^[^\x00-\x1f\x7f]*$`
	blank        = `[^ \t\r\n\v\f]`
)

func id() object        { return object{"pattern": idPattern} }
func tokenRule() object { return object{"pattern": tokenPattern} }

// orEmpty allows the empty string, which a Go client writes for "not given".
func orEmpty(pattern string) object {
	return object{"pattern": "^$|" + pattern}
}

func short(limit int) object { return object{"maxLength": limit, "pattern": plainPattern} }

func shorts(most int) object {
	return object{"maxItems": most, "items": object{"type": "string", "minLength": 1, "maxLength": MaxName, "pattern": plainPattern}}
}

func ids() object {
	return object{"minItems": 1, "maxItems": MaxItems, "items": object{"type": "string", "pattern": idPattern}}
}

func between(low, high any) object { return object{"minimum": low, "maximum": high} }

func scalarSchema() object {
	return object{"type": []string{"string", "number", "boolean"}, "maxLength": MaxReason, "pattern": plainPattern}
}

func valuesSchema() object {
	return object{"type": "array", "minItems": 1, "maxItems": MaxRefs, "items": scalarSchema()}
}

func filtersRule() object {
	bound := object{"type": []string{"string", "number"}, "maxLength": MaxReason, "pattern": plainPattern}
	operators := object{
		"type": "object", "minProperties": 1, "additionalProperties": false,
		"properties": object{"eq": scalarSchema(), "ne": scalarSchema(), "exists": object{"type": "boolean"}, "in": valuesSchema(), "gte": bound, "gt": bound, "lte": bound, "lt": bound},
	}
	named := func(properties object) object {
		return object{"type": "object", "maxProperties": MaxFilters, "propertyNames": object{"pattern": idPattern},
			"properties": properties, "additionalProperties": object{"anyOf": []any{scalarSchema(), valuesSchema(), operators}}}
	}
	alternative := with(named(object{FilterOr: false}), "minProperties", 1)
	return named(object{FilterOr: object{"type": "array", "minItems": 1, "maxItems": MaxFilters, "items": alternative}})
}

func scalars() object {
	return object{"maxProperties": MaxFilters, "additionalProperties": scalarSchema()}
}

func labelRule() object {
	return object{
		"minItems": 1, "maxItems": MaxLabels,
		"items": object{"type": "string", "pattern": labelPattern,
			"if":   object{"pattern": "^level:"},
			"then": object{"enum": []string{"level:public", "level:internal", "level:confidential", "level:restricted"}}},
		"contains": object{"pattern": "^level:"}, "minContains": 0, "maxContains": 1,
	}
}

// fieldRules returns the keywords of a field by Type.json_name. "optional" takes a
// field that is always written out of required.
func fieldRules() map[string]object {
	all := map[string]object{}
	for _, group := range []map[string]object{itemRules(), partRules(), attributeRules(), requestRules(), doorRules()} {
		for k, v := range group {
			all[k] = v
		}
	}
	return all
}

func itemRules() map[string]object {
	unit := between(0, 1)
	return map[string]object{
		"MemoryItem.id":             {"pattern": idPattern, "description": "Stable id, a UUIDv7 or ULID; [A-Za-z0-9._:-]{1,128}"},
		"MemoryItem.type":           {"description": "Memory taxonomy"},
		"MemoryItem.kind":           {"description": "What the item is; decides the pack's source type and section"},
		"MemoryItem.scope":          {"description": "Whose the item is"},
		"MemoryItem.created_at":     {"description": "When it was learnt"},
		"MemoryItem.updated_at":     {"description": "When it was last changed; not before created_at"},
		"MemoryItem.ttl":            between(0, MaxTTL),
		"MemoryItem.decay_fn":       {"description": "Overrides the profile's recency decay"},
		"MemoryItem.confidence":     unit,
		"MemoryItem.importance":     unit,
		"MemoryItem.trust":          unit,
		"MemoryItem.sensitivity":    unit,
		"MemoryItem.novelty":        unit,
		"MemoryItem.provenance":     {"description": "Where it came from"},
		"MemoryItem.security_label": labelRule(),
		"MemoryItem.pii_flags":      with(shorts(MaxRefs), "description", "Field-level PII markers"),
		"MemoryItem.embedding_ref":  with(short(MaxURI), "description", "Pointer to a vector index entry"),
		"MemoryItem.graph_refs":     with(shorts(MaxRefs), "description", "Node and edge ids"),
		"MemoryItem.content": {"pattern": blank, "minProperties": 1, "minItems": 1, "maxLength": MaxText,
			"description": "Canonical text or JSON payload; at most 5 MiB"},
		"MemoryItem.summary":    {"description": "Compacted form with a pointer to what it leaves out"},
		"MemoryItem.category":   with(short(MaxName), "description", "Free category, such as preference or decision"),
		"MemoryItem.session":    with(short(MaxName), "description", "Session; equals scope.session when both are given"),
		"MemoryItem.seq":        {"minimum": 0},
		"MemoryItem.speaker":    with(short(MaxName), "description", "Who said it"),
		"MemoryItem.role":       {"enum": []string{"", "user", "assistant", "tool", "system"}},
		"MemoryItem.valid_from": {"description": "From when it was true"},
		"MemoryItem.valid_to":   {"description": "Until when it was true; after valid_from"},
		"MemoryItem.links":      {"maxItems": MaxLinks, "description": "Directed edges to other items"},
		"MemoryItem.signer":     with(orEmpty(idPattern), "description", "Key id of the signature, or unsigned"),
	}
}

func partRules() map[string]object {
	return map[string]object{
		"MemoryScope.tenant":      with(tokenRule(), "description", "Must equal the subject's tenant"),
		"MemoryScope.org":         with(short(MaxName), "description", "Organisation"),
		"MemoryScope.project":     with(short(MaxName), "description", "Project"),
		"MemoryScope.session":     with(short(MaxName), "description", "Session"),
		"DecayFn.kind":            {"enum": []string{"exponential", "linear", "step", "none"}},
		"DecayFn.lambda":          between(0, 1e6),
		"DecayFn.days":            between(0, 1e6),
		"Provenance.source_uri":   short(MaxURI),
		"Provenance.checksum":     orEmpty(`^sha256:[0-9a-f]{64}$`),
		"Provenance.signer":       orEmpty(idPattern),
		"Provenance.policy_tags":  shorts(MaxRefs),
		"Summary.text":            {"pattern": blank, "maxLength": MaxSummary},
		"Summary.dropped_spans":   {"maxItems": MaxRefs},
		"Span.start":              {"minimum": 0, "description": "First byte"},
		"Span.end":                {"minimum": 1, "description": "Byte after the last"},
		"Link.rel":                {"description": "The item REL target"},
		"Link.to":                 with(id(), "description", "Target item"),
		"MemoryLinked.from":       id(),
		"MemoryLinked.links":      {"minItems": 1, "maxItems": MaxLinks},
		"MemorySuperseded.item":   id(),
		"MemorySuperseded.by":     id(),
		"MemorySuperseded.reason": short(MaxReason),
		"MemoryAccessed.items":    ids(),
		"MemoryErased.items":      ids(),
		"MemoryErased.reason":     short(MaxReason),
		"MemoryErased.original":   {"description": "Written by the worker; an agent leaves it out"},
		"MemoryErased.receipt":    {"description": "Written by the worker; an agent leaves it out"},
	}
}

func with(o object, key string, v any) object {
	o[key] = v
	return o
}

func attributeRules() map[string]object {
	count := between(0, 1<<31-1)
	return map[string]object{
		"ExperienceAttributes.domain":            short(MaxName),
		"ExperienceAttributes.strategy":          short(MaxName),
		"ExperienceAttributes.outcome_status":    short(MaxName),
		"ExperienceAttributes.axis":              {"enum": []string{"", "full", "strategy", "surprise", "root_cause"}},
		"ExperienceAttributes.confidence_tier":   {"enum": []string{"", "gold", "silver", "bronze", "abandoned"}},
		"ExperienceAttributes.ghap_id":           orEmpty(idPattern),
		"ExperienceAttributes.iteration_count":   count,
		"CodeAttributes.file_path":               short(MaxURI),
		"CodeAttributes.language":                short(MaxName),
		"CodeAttributes.unit_type":               short(MaxName),
		"CodeAttributes.start_line":              count,
		"CodeAttributes.end_line":                count,
		"CommitAttributes.sha":                   orEmpty(`^[0-9a-f]{7,64}$`),
		"CommitAttributes.author":                short(MaxName),
		"CommitAttributes.committed":             short(MaxName),
		"CommitAttributes.timestamp":             short(MaxName),
		"CommitAttributes.insertions":            count,
		"CommitAttributes.deletions":             count,
		"ToolAttributes.name":                    short(MaxName),
		"ToolAttributes.safety_tags":             shorts(MaxRefs),
		"ValueAttributes.axis":                   short(MaxName),
		"ValueAttributes.cluster_id":             short(MaxName),
		"ValueAttributes.cluster_size":           count,
		"ValueAttributes.similarity_to_centroid": between(0, 1),
		"ValueAttributes.ghap_id":                orEmpty(idPattern),
	}
}

func agentID() object { return with(id(), "description", "Principal") }

func requestRules() map[string]object {
	return map[string]object{
		"ContextRequest.meta":                     {"optional": true, "description": "The envelope's head"},
		"ContextRequest.payload":                  {"description": "What is asked"},
		"Meta.type":                               {"optional": true, "description": "ContextRequest in a request, ContextResult in a result"},
		"Meta.id":                                 orEmpty(idPattern),
		"Agent.id":                                agentID(),
		"Agent.type":                              with(short(MaxName), "description", "specialist, agent, user, service"),
		"Agent.securityLevel":                     {"enum": []string{"", "public", "internal", "confidential", "restricted"}},
		"Agent.authorizedGroups":                  with(shorts(MaxRefs), "description", "Groups, as claimed"),
		"Agent.roles":                             with(shorts(MaxRefs), "description", "Roles, as claimed"),
		"RequestPayload.query":                    {"optional": true, "description": "What to look for; may be left out with user_message"},
		"Query.type":                              {"enum": []string{"", QueryKeyword, QuerySemantic, QueryGraph, QueryHybrid}, "description": "Picks the retrievers; hybrid when empty"},
		"Query.text":                              {"maxLength": MaxQuery, "description": "The question"},
		"Query.vector":                            {"maxItems": MaxVector, "description": "An embedding made before"},
		"Query.filters":                           filtersRule(),
		"SearchRequest.filters":                   filtersRule(),
		"Query.graph":                             {"description": "How links are followed; for graph and hybrid queries"},
		"GraphQuery.hops":                         between(0, MaxHops),
		"GraphQuery.rels":                         {"maxItems": MaxRefs},
		"GraphQuery.kinds":                        {"maxItems": MaxRefs},
		"GraphQuery.labels":                       shorts(MaxRefs),
		"GraphQuery.from":                         {"maxItems": MaxRefs, "items": object{"type": "string", "pattern": idPattern}},
		"RequestPayload.limit":                    between(0, MaxLimit),
		"RequestPayload.token_budget":             between(0, MaxTokenBudget),
		"RequestPayload.tenant":                   orEmpty(tokenPattern),
		"RequestPayload.session":                  with(short(MaxName), "description", "Session of the turn"),
		"RequestPayload.user_message":             {"maxLength": MaxMessage},
		"RequestPayload.task":                     {"maxLength": MaxQuery, "description": "What the agent is doing"},
		"RequestPayload.model":                    short(MaxName),
		"RequestPayload.as_of":                    {"minimum": 0},
		"RequestPayload.min_position":             {"minimum": 0, "description": "Log position the indexes must have reached"},
		"RequestPayload.purpose":                  with(orEmpty(valuePattern), "description", "What the data is for, seen by policy"),
		"RequestPayload.profile":                  orEmpty(tokenPattern),
		"RequestPayload.min_score":                {"minimum": 0, "maximum": 1, "description": "Items below are left out"},
		"RequestPayload.repeat":                   {"enum": []string{"", "full", "stable"}},
		"RequestPayload.prefer":                   {"enum": []string{"", "docs", "code", "history"}},
		"RequestPayload.compaction":               {"enum": []string{"", CompactionAuto, CompactionOff}},
		"RequestPayload.include_scores":           {"description": "Scores and signals in the result"},
		"RequestPayload.relevance":                {"description": "Input of the relevance pre-parser; absent means include all"},
		"RelevanceRequest.mode":                   with(with(short(MaxName), "minLength", 1), "description", "Cognitive mode: RESPOND, CLARIFY, ACKNOWLEDGE, ACT or a configured one"),
		"RelevanceRequest.signals":                with(scalars(), "description", "Routing signals of the turn"),
		"RelevanceRequest.classification":         with(scalars(), "description", "Topic classification, such as urgency"),
		"RelevanceRequest.token_budget_remaining": between(0, 1<<31-1),
		"PutRequest.agent":                        with(tokenRule(), "description", "Who writes"),
		"PutRequest.wait":                         {"enum": []string{"", "accepted", "logged", "indexed"}},
		"ReceiptRequest.source":                   with(with(short(MaxURI), "minLength", 1), "description", "Source of the event"),
		"ReceiptRequest.id":                       with(id(), "description", "Id of the event"),
		"ReceiptRequest.level":                    {"enum": []ReceiptLevel{ReceiptAccepted, ReceiptLogged, ReceiptIndexed, ReceiptProved}, "description": "How far to wait"},
		"ReceiptRequest.timeout_ms":               between(0, MaxWait),
		"ProveRequest.position":                   {"minimum": 0},
		"ProveRequest.source":                     short(MaxURI),
		"ProveRequest.id":                         orEmpty(idPattern),
		"ProveRequest.old_size":                   {"minimum": 0},
		"PackRequest.pack_id":                     orEmpty(idPattern),
		"PackRequest.position":                    {"minimum": 0},
		"EntriesRequest.kinds":                    {"maxItems": MaxRefs},
		"EntriesRequest.before":                   {"minimum": 0},
		"EntriesRequest.after":                    {"minimum": 0},
		"EntriesRequest.limit":                    between(0, MaxEntries),
	}
}

func doorRules() map[string]object {
	all := map[string]object{
		"SearchRequest.vector":             {"maxItems": MaxVector},
		"SearchRequest.memory_types":       shorts(MaxFilters),
		"SearchRequest.min_confidence":     between(0, 1),
		"SearchRequest.conversation_id":    short(MaxName),
		"SearchRequest.relationship_depth": between(0, 4),
		"SearchRequest.min_position":       {"minimum": 0},
		"BuildRequest.template":            orEmpty(tokenPattern),
		"BuildRequest.ranker":              orEmpty(tokenPattern),
		"BuildRequest.model":               short(MaxName),
		"BuildRequest.token_budget":        between(0, MaxTokenBudget),
		"ContextTemplate.name":             tokenRule(),
		"ContextTemplate.memory_format":    {"minLength": 1, "maxLength": MaxQuery},
		"ContextTemplate.header":           {"maxLength": MaxQuery},
		"ContextTemplate.separator":        {"maxLength": MaxQuery},
		"ContextTemplate.footer":           {"maxLength": MaxQuery},
		"AssembleRequest.query":            {"pattern": blank, "maxLength": MaxQuery},
		"AssembleRequest.context_types":    {"items": object{"type": "string", "enum": ContextTypes()}},
		"PremortemRequest.domain":          {"pattern": blank, "maxLength": MaxName},
		"PremortemRequest.strategy":        short(MaxName),
		"CompactRequest.budget":            between(1, MaxTokenBudget),
		"CompactRequest.pack_id":           orEmpty(idPattern),
		"CompactRequest.session":           short(MaxName),
		"CompactRequest.query":             {"maxLength": MaxQuery},
		"CompactRequest.model":             short(MaxName),
		"CompactRequest.purpose":           orEmpty(valuePattern),
		"RecoverRequest.item_ids":          {"maxItems": MaxItems, "items": object{"type": "string", "pattern": idPattern}},
		"RecoverRequest.spans":             {"maxItems": MaxItems},
		"RecoverRequest.purpose":           orEmpty(valuePattern),
		"ItemsRequest.item_ids":            {"maxItems": MaxItems, "items": object{"type": "string", "pattern": idPattern}},
		"PlanRequest.items":                ids(),
		"ItemsRequest.session":             short(MaxName),
		"ItemsRequest.labels":              shorts(MaxRefs),
		"ItemsRequest.kinds":               {"maxItems": MaxRefs},
		"ItemsRequest.after":               short(MaxName),
		"ItemsRequest.limit":               between(0, MaxLimit),
		"ItemsRequest.purpose":             orEmpty(valuePattern),
		"ItemsRequest.min_position":        {"minimum": 0},
		"SpanRef.item_id":                  id(),
		"RoleRequest.pack_id":              orEmpty(idPattern),
		"RoleRequest.expose":               shorts(MaxFilters),
		"RoleRequest.withheld":             {"maxItems": MaxItems},
		"RolePlan.steps":                   {"minItems": 1, "maxItems": MaxFilters},
		"RolePlan.token_budget":            between(0, MaxTokenBudget),
		"PlanStep.id":                      id(),
		"PlanStep.question":                {"pattern": blank, "maxLength": MaxQuery},
		"RoleAnswer.text":                  {"maxLength": MaxMessage},
		"RoleAnswer.pack_id":               id(),
		"RoleAnswer.sentences":             {"maxItems": MaxItems},
		"ExceptionRequest.revoke":          orEmpty(idPattern),
		"NewException.owner":               id(),
		"NewException.path":                {"pattern": "^(read|open|write|erase|change|relabel|register|follow|act|use):[a-z0-9_]{1,64}$"},
		"NewException.principals":          {"minItems": 1, "maxItems": MaxRefs, "items": object{"type": "string", "pattern": idPattern}},
		"NewException.session":             short(MaxName),
		"NewException.labels":              {"maxItems": MaxLabels, "items": object{"type": "string", "pattern": labelPattern}},
		"NewException.purpose":             orEmpty(valuePattern),
		"NewException.reason":              {"allOf": []any{object{"pattern": blank}, object{"pattern": plainPattern}}, "maxLength": MaxReason},
		"NewException.rollback_trigger":    {"allOf": []any{object{"pattern": blank}, object{"pattern": plainPattern}}, "maxLength": MaxName},
		"NewException.audit_hook":          orEmpty(tokenPattern),
		"HoldRequest.release":              orEmpty(idPattern),
		"HoldRequest.reason":               short(MaxReason),
		"NewHold.items":                    {"maxItems": MaxRefs, "items": object{"type": "string", "pattern": idPattern}},
		"NewHold.session":                  short(MaxName),
		"NewHold.label":                    orEmpty(labelPattern),
		"NewHold.agent":                    orEmpty(tokenPattern),
		"NewHold.matter":                   short(MaxName),
		"NewHold.reason":                   {"allOf": []any{object{"pattern": blank}, object{"pattern": plainPattern}}, "maxLength": MaxReason},
		"OpenRequest.handle":               {"minLength": 1, "maxLength": MaxURI},
		"OpenRequest.offset":               {"minimum": 0, "maximum": MaxArtifact},
		"OpenRequest.length":               {"minimum": 0, "maximum": MaxArtifactWindow},
		"StoreRequest.offer":               {"minLength": 1, "maxLength": MaxName},
		"StoreRequest.media_type":          {"minLength": 1, "maxLength": MaxName},
		"StoreRequest.name":                {"maxLength": MaxName},
		"StoreRequest.query":               {"maxLength": MaxQuery},
		"RevokeRequest.handle":             {"maxLength": MaxURI},
		"RevokeRequest.item_id":            orEmpty(idPattern),
		"ExplainRequest.item_id":           id(),
	}
	for _, t := range []string{"Explain", "Recover"} {
		all[t+"Request.pack_id"] = id()
	}
	for _, t := range []string{"Role", "Run"} {
		all[t+"Request.task"] = object{"pattern": blank, "maxLength": MaxQuery}
		all[t+"Request.request_id"] = orEmpty(idPattern)
		all[t+"Request.session"] = short(MaxName)
		all[t+"Request.purpose"] = orEmpty(valuePattern)
		all[t+"Request.token_budget"] = between(0, MaxTokenBudget)
		all[t+"Request.min_position"] = object{"minimum": 0}
	}
	for _, t := range []string{"Search", "Assemble", "Premortem"} {
		all[t+"Request.limit"] = between(0, MaxLimit)
		all[t+"Request.purpose"] = orEmpty(valuePattern)
		all[t+"Request.max_tokens"] = between(0, MaxTokenBudget)
	}
	return all
}

// typeRules returns the keywords of an object by its Go type.
func typeRules(name string) object {
	switch name {
	case "NewHold":
		given := func(name string, how object) object {
			return object{"required": []string{name}, "properties": object{name: how}}
		}
		text := object{"type": "string", "minLength": 1}
		one := object{"oneOf": []any{given("items", object{"type": "array", "minItems": 1}),
			given("session", text), given("label", text), given("agent", text)}}
		return object{"anyOf": []any{one}} // so that it is said of the hold, not of each of the four
	case "DecayFn":
		needs := func(kinds []string, field string) object {
			return object{"if": object{"properties": object{"kind": object{"enum": kinds}}, "required": []string{"kind"}},
				"then": object{"required": []string{field}, "properties": object{field: object{"exclusiveMinimum": 0}}}}
		}
		return object{"allOf": []any{needs([]string{"exponential"}, "lambda"), needs([]string{"linear", "step"}, "days")}}
	case "RequestPayload":
		given := object{"type": "string", "pattern": blank}
		return object{"anyOf": []any{
			object{"required": []string{"user_message"}, "properties": object{"user_message": given}},
			object{"required": []string{"query"}, "properties": object{"query": object{"anyOf": []any{
				object{"required": []string{"text"}, "properties": object{"text": given}},
				object{"required": []string{"vector"}, "properties": object{"vector": object{"type": "array", "minItems": 1}}},
			}}}},
		}}
	}
	return nil
}

// documentRules returns the keywords of a whole document.
func documentRules(name string) object {
	switch name {
	case "context-request":
		return object{"properties": object{
			"meta": object{"allOf": []any{object{"$ref": "#/$defs/Meta"},
				object{"properties": object{"type": object{"enum": []string{"", MessageContextRequest}}}}}, "description": "The envelope's head"},
			"payload": object{"$ref": "#/$defs/RequestPayload", "description": "What is asked"},
		}}
	case "exception-request":
		return object{"not": object{"required": []string{"add", "revoke"},
			"properties": object{"add": object{"type": "object"}, "revoke": object{"type": "string", "minLength": 1}}}}
	case "hold-request":
		return object{"not": object{"required": []string{"place", "release"},
			"properties": object{"place": object{"type": "object"}, "release": object{"type": "string", "minLength": 1}}}}
	case "compact-request":
		given := object{"type": "string", "minLength": 1}
		return object{"oneOf": []any{
			object{"required": []string{"pack_id"}, "properties": object{"pack_id": given}},
			object{"required": []string{"session"}, "properties": object{"session": given}},
		}}
	case "recover-request":
		given := object{"type": "array", "minItems": 1}
		return object{"anyOf": []any{
			object{"required": []string{"item_ids"}, "properties": object{"item_ids": given}},
			object{"required": []string{"spans"}, "properties": object{"spans": given}},
		}}
	case "items-request":
		given := func(name string, how object) object {
			return object{"required": []string{name}, "properties": object{name: how}}
		}
		list, text := object{"type": "array", "minItems": 1}, object{"type": "string", "minLength": 1}
		return object{"not": object{"allOf": []any{given("item_ids", list), object{"anyOf": []any{
			given("session", text), given("labels", list), given("kinds", list), given("after", text)}}}}}
	case "search-request", "build-request":
		return object{"anyOf": []any{
			object{"required": []string{"query"}, "properties": object{"query": object{"type": "string", "pattern": blank}}},
			object{"required": []string{"vector"}, "properties": object{"vector": object{"type": "array", "minItems": 1}}},
		}}
	}
	return nil
}
