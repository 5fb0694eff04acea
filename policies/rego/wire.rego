# METADATA
# title: From the request of a specialist's slicer to the policy's input and back
# description: |
#   Functions only, so that the documents a slicer asks for hold nothing but the answer.
#   What an item's metadata leaves out has the default of an unlabelled item.
package cmo.wire

levels := {"public": 0, "internal": 1, "confidential": 2, "restricted": 3}

level_number(name) := number if {
	number := levels[name]
} else := -1

request(asked, things) := {
	"action": object.get(asked, "action", "read"),
	"purpose": object.get(asked, "purpose", ""),
	"now": object.get(asked, "now", time.now_ns()),
	"subject": subject(object.get(asked, "specialist", {})),
	"items": [item(object.get(thing, "metadata", {})) | some thing in things],
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
	"containsPII": false, "piiFields": [], "hasCredentials": false, "trust": 0.5,
	"kind": "memory", "signer": "unsigned", "expires_at": 0, "valid_to": 0,
}

item(metadata) := complete if {
	complete := renamed(metadata)
} else := renamed(object.union(defaults, metadata))

# Undefined when a member is missing.
renamed(metadata) := {
	"level": level_number(metadata.level),
	"labels": metadata.labels,
	"groups": metadata.restrictedToGroups,
	"purposes": metadata.purposes,
	"pii": metadata.containsPII,
	"pii_flags": metadata.piiFields,
	"credentials": metadata.hasCredentials,
	"trust": metadata.trust,
	"kind": metadata.kind,
	"signer": metadata.signer,
	"expires_at": metadata.expires_at,
	"valid_to": metadata.valid_to,
}

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
