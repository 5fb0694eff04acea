package schemas

// describe returns words for a property whose Go field has no comment: its own, or
// those of a name that means the same everywhere.
func describe(typ, name string) string {
	if text := ownDescriptions()[typ+"."+name]; text != "" {
		return text
	}
	return commonDescriptions()[name]
}

func commonDescriptions() map[string]string {
	return map[string]string{
		"id": "Id of this document", "score": "Score, higher is better", "tokens": "Tokens as rendered", "reason": "Why, in words or as a token",
		"created_at": "When it was made", "principal": "For whom", "purpose": "What the data is for, seen by policy", "request_id": "The request it belongs to",
		"pack_id": "The pack", "item_id": "The item", "item": "The item", "items": "Items", "position": "Log position", "source": "Source of the event",
		"description": "In words", "type": "Kind of this part", "kind": "Kind", "from": "Who asks", "meta": "The envelope's head", "scope": "Whose it is",
		"message": "In words, without content", "code": "Machine-readable kind of the refusal", "signer": "Key id, or unsigned", "text": "The text",
		"domain": "debugging, feature, …", "strategy": "systematic-elimination, …", "hashes": "Hex hashes, leaf to root", "root": "Hex root hash",
		"size": "Number of leaves, or of bytes", "inclusion": "Inclusion proof", "consistency": "Consistency proof", "checkpoint": "Signed C2SP checkpoint",
		"session_id": "Session", "token_budget": "Tokens given", "token_actual": "Tokens used", "tokenizer": "What counted the tokens", "sections": "In the order shown",
		"provenance_refs": "Log entries of the shown items", "relevance": "What the pre-parser decided", "embedding": "Model and revision of the vectors",
		"positions": "Log positions of what the request left behind", "proof": "Proof that the pack stands in the log", "signature": "How it is called",
		"name": "Name", "axis": "full, strategy, surprise or root_cause", "ghap_id": "Id shared by all axes of one experience", "rel": "The relation",
	}
}

func ownDescriptions() map[string]string {
	return map[string]string{
		"Affordance.type": "Suggested action", "Affordance.confidence": "0–1", "Affordance.parameters": "Of the action", "Affordance.items": "The items that caused it",
		"ArtifactRef.object": "Name in the object store", "ArtifactRef.sha256": "Hex, of the bytes", "ArtifactRef.size": "Bytes",
		"BudgetUsed.bytes": "Bytes of the rendered pack", "BudgetUsed.estimatedTokens": "Tokens of the rendered pack", "BudgetUsed.items": "Items shown",
		"CausalGraph.nodes": "Shown items", "CausalGraph.edges": "Links among them", "Channel.z": "The score in standard deviations from the mean",
		"CodeAttributes.docstring": "Documentation of the unit", "CodeAttributes.file_path": "Path in the repository", "CodeAttributes.language": "Programming language",
		"CodeAttributes.qualified_name": "Name with package and type", "CommitAttributes.author": "Who wrote it", "CommitAttributes.committed": "Day on which it came in, where that is not the day it was written on", "CommitAttributes.timestamp": "When, as the repository says",
		"CommitAttributes.files_changed": "Paths", "CommitAttributes.insertions": "Lines", "CommitAttributes.deletions": "Lines",
		"ConsistencyProof.old": "Leaves of the earlier tree", "ConsistencyProof.new": "Leaves of the present tree", "ConsistencyProof.old_root": "Hex", "ConsistencyProof.new_root": "Hex",
		"ContextItem.source_type": "Where it comes from", "ContextItem.summary_ref": "The summary shown instead", "ContextItem.pii_flags": "Field-level PII markers", "ContextItem.evidence": "Why it was found and ranked here",
		"ContextResult.payload": "The answer", "ContextSection.selection_reason": "Why these items", "DecayFn.kind": "exponential, linear, step or none",
		"DecayFn.lambda": "Per day, for exponential", "DecayFn.days": "For linear and step", "Drop.item_id": "The item, or the field of the request that is cut", "Drop.detail": "More words",
		"DropReport.dropped_item_ids": "Every dropped item, policy denials apart", "DropReport.token_savings": "Tokens the drops saved", "DropReport.drops": "One a dropped item or span",
		"Edge.from": "Item", "Edge.to": "Item", "ErasureReceipt.items": "What was asked for", "ErasureReceipt.stores": "One a store", "ErasureReceipt.erased_at": "When it was done",
		"Explainability.tldr": "Extractive summary", "Explainability.affordances": "Suggested actions", "Explainability.causalGraph": "Links among the shown items, or null",
		"Explainability.slicing": "What policy and budget took away", "Explainability.timings": "Milliseconds a stage", "Explainability.warnings": "What was late, failed or capped",
		"MemoryAccessed.items": "What was used", "MemoryErased.items": "What is to be erased", "MemoryLinked.from": "The item the edges start at", "MemoryLinked.links": "The edges",
		"MemorySuperseded.by": "The item that replaces it", "Positions.pack": "Of context.packed", "Positions.drop": "Of context.dropped", "Positions.decision": "Of policy.decided",
		"PolicyDecision.action": "What was to be done", "PolicyDecision.verdicts": "One an item", "ProveRequest.id": "Id of the event", "ProveRequest.old_size": "Leaves of an earlier head",
		"ProveReply.preimage": "Leaf preimage", "Provenance.policy_tags": "Tags policy may look at", "Provenance.source_uri": "Where it was read", "ProvenanceRef.source_uri": "Where it was read",
		"Receipt.id": "Id of the event", "Receipt.level": "How far it has come", "Receipt.stream": "JetStream stream", "Receipt.tenant": "Whose",
		"RelevanceRequest.returning_from_silence": "The user was away for long", "RelevanceRequest.token_budget_remaining": "Tokens left for context",
		"ResultItem.content": "As policy lets it be seen", "ResultItem.metadata": "Where it comes from and what was done to it", "ResultItem.id": "The item",
		"ResultMetadata.byteSize": "Bytes of the content", "ResultMetadata.redacted": "Policy took fields away", "ResultMetadata.created_at": "When it was learnt",
		"ResultPayload.dataref": "Where the whole reply is, when it is too large", "ResultPayload.drop_report": "What was left out", "ResultPayload.explainability": "Why the result is as it is",
		"ResultPayload.pack": "What was shown, by reference", "ResultPayload.query_duration_ms": "Wall clock", "ResultPayload.results": "In the order shown", "ResultPayload.sources": "Retrievers that answered",
		"RetrievalEvidence.filters": "As asked", "RetrievalEvidence.policy_decision_id": "The verdict", "RetrievalEvidence.reranker": "What ranked it", "RetrievalEvidence.span": "Best matching part",
		"Slicing.budgetUsed": "What the pack takes", "Slicing.totalDenied": "Items policy denied", "Slicing.totalDroppedBudget": "Items that did not fit", "Slicing.totalRedacted": "Items policy redacted or denied",
		"StoreErasure.removed": "Entries", "StoreErasure.store": "Which store", "Summary.dropped_spans": "What the summary leaves out", "Summary.text": "The compacted form",
		"TLDR.citations": "Item of each sentence", "TLDR.summary": "Sentences of the items", "Timings.retrievalMs": "Milliseconds", "Timings.slicingMs": "Milliseconds",
		"Timings.summarizationMs": "Milliseconds", "Timings.totalMs": "Milliseconds", "ToolAttributes.parameters": "JSON Schema of the arguments",
		"ToolAttributes.safety_notes": "Shown with the signature", "ToolAttributes.safety_tags": "What a verifier checks", "ToolAttributes.description": "What it does",
		"ValueAttributes.cluster_id": "Cluster it stands for", "ValueAttributes.cluster_size": "Experiences in it", "Verdict.allow": "The item may be shown", "Verdict.redact": "With fields taken away",
		"GovernedException.scope": "Where it holds",
	}
}
