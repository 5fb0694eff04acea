package cmo.context_batch_test

import data.cmo.context
import data.cmo.context_batch
import data.cmo.context_filter

specialist := {"type": "specialist", "id": "playwright_healer", "tenant": "acme", "securityLevel": "internal"}

items := [
	{"id": "a", "metadata": {"level": "internal", "containsPII": true, "piiFields": ["$.content.email"]}},
	{"id": "b", "metadata": {"level": "restricted"}},
	{"id": "c", "metadata": {"level": "cosmic"}},
	{"id": "d"},
	{"id": "e", "metadata": {"level": "public", "labels": ["tenant:other"]}},
]

test_batch_is_single_by_single if {
	answer := context_batch.decisions with input as {"specialist": specialist, "items": items}
	count(answer) == count(items)
	every i, thing in items {
		one := context with input as {"specialist": specialist, "item": thing}
		answer[i] == one
	}
}

test_reasons_in_order if {
	answer := context_batch.decisions with input as {"specialist": specialist, "items": items}
	[d.reason | some d in answer] == ["allowed", "clearance", "clearance", "clearance", "tenant"]
	answer[0].redactedFields == ["$.content.email"]
}

test_empty_batch if {
	answer := context_batch.decisions with input as {"specialist": specialist, "items": []}
	answer == []
}

test_no_items_no_decisions if {
	answer := context_batch.decisions with input as {"specialist": specialist}
	answer == []
}

test_filter if {
	answer := context_filter with input as {"specialist": specialist, "action": "read", "purpose": ""}
	answer.match == "where"
	{"field": "level", "op": "at_most", "number": 1} in answer.conditions
}

test_filter_of_unknown_action if {
	answer := context_filter with input as {"specialist": specialist, "action": "steal"}
	answer == {"match": "none"}
}

test_complete_metadata if {
	metadata := {
		"level": "public", "labels": [], "restrictedToGroups": ["qa"], "purposes": [], "containsPII": false,
		"piiFields": [], "hasCredentials": false, "trust": 0.5, "kind": "memory", "signer": "unsigned",
		"expires_at": 0, "valid_to": 0,
	}
	asked := {"specialist": object.union(specialist, {"authorizedGroups": ["qa"]}), "items": [{"metadata": metadata}]}
	answer := context_batch.decisions with input as asked
	[d.allow | some d in answer] == [true]
}

# What a package satchel.extra looks at is there, and a reason that is spared does not count.
test_extra_sees_the_rest if {
	thing := {"id": "f", "metadata": {"level": "internal", "session": "s1", "created_at": 4}}
	answer := context_batch.decisions with input as {"specialist": specialist, "items": array.concat(items, [thing])} with data.satchel.extra.deny as {[5, "old"]}
	[d.reason | some d in answer] == ["allowed", "clearance", "clearance", "clearance", "tenant", "old"]
}

test_spared_reasons if {
	things := [{"id": "a", "metadata": {"level": "restricted", "spared": ["clearance"]}}, {"id": "b", "metadata": {"level": "restricted"}}, {"id": "d"}]
	asked := {"specialist": specialist, "items": things}
	some_spared := context_batch.decisions with input as object.union(asked, {"spared": true})
	[d.reason | some d in some_spared] == ["allowed", "clearance", "clearance"]
	unsaid := context_batch.decisions with input as asked
	[d.reason | some d in unsaid] == ["clearance", "clearance", "clearance"]
}
