# METADATA
# title: One item, as a specialist's slicer asks
# description: |
#   POST /v1/data/cmo/context with {"specialist": …, "item": {"id", "content", "metadata"}}
#   answers {"allow", "redact", "redactedFields", "reason"}. It is the batch decision over
#   that one item; what the metadata leaves out has the default of an unlabelled item.
package cmo.context

levels := {"public": 0, "internal": 1, "confidential": 2, "restricted": 3}

metadata := object.get(input.item, "metadata", {})

specialist := object.get(input, "specialist", {})

batch := {
	"action": object.get(input, "action", "read"),
	"purpose": object.get(input, "purpose", ""),
	"now": object.get(input, "now", time.now_ns()),
	"subject": {
		"tenant": object.get(specialist, "tenant", ""),
		"id": object.get(specialist, "id", ""),
		"kind": object.get(specialist, "type", ""),
		"level": object.get(levels, object.get(specialist, "securityLevel", "public"), -1),
		"groups": object.get(specialist, "authorizedGroups", []),
		"roles": object.get(specialist, "roles", []),
	},
	"items": [{
		"level": object.get(levels, object.get(metadata, "level", "confidential"), -1),
		"labels": object.get(metadata, "labels", []),
		"groups": object.get(metadata, "restrictedToGroups", []),
		"purposes": object.get(metadata, "purposes", []),
		"pii": object.get(metadata, "containsPII", false),
		"pii_flags": object.get(metadata, "piiFields", []),
		"credentials": object.get(metadata, "hasCredentials", false),
		"trust": object.get(metadata, "trust", 0.5),
		"kind": object.get(metadata, "kind", "memory"),
		"signer": object.get(metadata, "signer", "unsigned"),
		"expires_at": object.get(metadata, "expires_at", 0),
		"valid_to": object.get(metadata, "valid_to", 0),
	}],
}

default answer := ["policy_error", []]

answer := verdict if verdict := data.cmo.policy.verdicts[0] with input as batch

default allow := false

allow if answer[0] == "allowed"

reason := answer[0]

redactedFields := answer[1]

default redact := false

redact if count(redactedFields) > 0
