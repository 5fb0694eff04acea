package cmo.context_test

import data.cmo.context

specialist := {"type": "specialist", "id": "playwright_healer", "securityLevel": "internal"}

ask(metadata, members) := answer if {
	answer := context with input as object.union(
		{
			"specialist": specialist,
			"item": {"id": "mem-001", "content": {"text": "x"}, "metadata": object.union({"level": "internal"}, metadata)},
		},
		members,
	)
}

test_allowed if {
	answer := ask({}, {})
	answer.allow
	not answer.redact
	answer.redactedFields == []
}

test_pii_is_redacted if {
	answer := ask({"containsPII": true, "piiFields": ["$.content.personalData"]}, {})
	answer.allow
	answer.redact
	answer.redactedFields == ["$.content.personalData"]
}

test_detected_is_masked if {
	answer := ask({"containsPII": true, "labels": ["detected:email"]}, {})
	answer.allow
	not answer.redact
	answer.obligations == {"pii": "redact", "types": ["email"]}
}

test_credentials_are_blocked if {
	answer := ask({"hasCredentials": true}, {})
	not answer.allow
	answer.reason == "credentials"
}

test_trust if not ask({"trust": 0.2}, {}).allow

test_groups if {
	not ask({"restrictedToGroups": ["qa"]}, {}).allow
	ask({"restrictedToGroups": ["qa"]}, {"specialist": object.union(specialist, {"authorizedGroups": ["qa"]})}).allow
}

test_level if not ask({"level": "confidential"}, {}).allow

test_unknown_level if not ask({"level": "cosmic"}, {}).allow

test_unlabelled_item_is_confidential if {
	answer := context with input as {"specialist": specialist, "item": {"id": "mem-001"}}
	not answer.allow
}

test_unknown_clearance if not ask({"level": "public"}, {"specialist": object.union(specialist, {"securityLevel": "cosmic"})}).allow

test_expired if ask({"expires_at": 5}, {"now": 6}).reason == "expired"

test_nothing_asked if {
	answer := context with input as {}
	not answer.allow
}

test_no_object_asked if {
	answer := context with input as "text"
	answer == {"allow": false, "redact": false, "redactedFields": [], "obligations": {}, "reason": "policy_error"}
}
