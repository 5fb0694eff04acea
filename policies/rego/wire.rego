# METADATA
# title: From the request of a specialist's slicer to the policy's input and back
# description: |
#   Functions only, so that the documents a slicer asks for hold nothing but the answer.
#   What an item's metadata leaves out has the default of an unlabelled item.
package cmo.wire

levels := {"public": 0, "internal": 1, "confidential": 2, "restricted": 3, "unknown": -1}

level_number(name) := levels[level_name(name)]

request(asked, things) := {
	"action": object.get(asked, "action", "read"),
	"purpose": object.get(asked, "purpose", ""),
	"now": object.get(asked, "now", time.now_ns()),
	"subject": subject(object.get(asked, "specialist", {})),
	"items": enriched(asked, items(things), things),
}

subject(specialist) := {
	"tenant": object.get(specialist, "tenant", ""),
	"id": object.get(specialist, "id", ""),
	"kind": object.get(specialist, "type", ""),
	"level": level_number(object.get(specialist, "securityLevel", "public")),
	"groups": object.get(specialist, "authorizedGroups", []),
	"roles": object.get(specialist, "roles", []),
}

defaults := {
	"level": "confidential", "labels": [], "restrictedToGroups": [], "purposes": [],
	"containsPII": false, "piiFields": [], "hasCredentials": false, "trust": 0.5, "sensitivity": 0,
	"kind": "memory", "signer": "unsigned", "expires_at": 0, "valid_to": 0,
}

# What the built-in rules do not look at is there when something else may.
enriched(asked, list, _) := list if {
	not data.satchel.extra
	not asked.spared
}

enriched(asked, list, things) := [object.union(item, rest(things[i])) |
	some i, item in list
] if {
	whole(asked)
}

whole(asked) if asked.spared

whole(_) if data.satchel.extra

rest(thing) := {
	"id": object.get(thing, "id", ""),
	"category": object.get(metadata, "category", ""),
	"session": object.get(metadata, "session", ""),
	"type": object.get(metadata, "type", ""),
	"created_at": object.get(metadata, "created_at", 0),
	"confidence": object.get(metadata, "confidence", 1),
	"policy_tags": object.get(metadata, "policy_tags", []),
	"project": object.get(metadata, "project", ""),
	"source_uri": object.get(metadata, "source_uri", ""),
	"speaker": object.get(metadata, "speaker", ""),
	"spared": object.get(metadata, "spared", []),
} if {
	metadata := object.get(thing, "metadata", {})
}

# Most things lack nothing, and then one pass is enough.
items(things) := list if {
	list := renamed([metadata | metadata := things[_].metadata])
	count(list) == count(things)
} else := renamed([completed(object.get(thing, "metadata", {})) | some thing in things])

completed(metadata) := object.union(whole, {"level": level_name(whole.level)}) if {
	whole := object.union(defaults, metadata)
}

level_name(name) := name if {
	levels[name]
} else := "unknown"

# Without those that lack a member or have another level.
renamed(list) := [thing |
	number := levels
	some metadata in list
	thing := {
		"level": number[metadata.level],
		"labels": metadata.labels,
		"groups": metadata.restrictedToGroups,
		"purposes": metadata.purposes,
		"pii": metadata.containsPII,
		"pii_flags": metadata.piiFields,
		"credentials": metadata.hasCredentials,
		"trust": metadata.trust,
		"sensitivity": metadata.sensitivity,
		"kind": metadata.kind,
		"signer": metadata.signer,
		"expires_at": metadata.expires_at,
		"valid_to": metadata.valid_to,
	}
]

# verdicts of the policy for things, in their order.
verdicts(asked, things) := answer if {
	answer := data.cmo.policy.verdicts with input as request(asked, things)
}

answer(verdict) := {
	"allow": verdict[0] == "allowed",
	"reason": verdict[0],
	"redact": count(verdict[1]) > 0,
	"redactedFields": verdict[1],
	"obligations": owed(verdict),
}

owed(verdict) := verdict[2] if {
	count(verdict) == 3
} else := {}

# decision is the answer for one thing; whatever goes wrong denies.
decision(asked) := answer(verdicts(asked, [object.get(asked, "item", {})])[0])

# filter is what of the policy stores can evaluate, for the same asker.
filter(asked) := pushed if {
	pushed := data.cmo.policy.filter with input as request(asked, [])
}
