package cmo.policy_test

import data.cmo.policy

subject := {"tenant": "acme", "id": "healer", "kind": "specialist", "level": 1, "groups": ["dev"], "roles": []}

item := {
	"sensitivity": 0.2, "pii": false, "pii_flags": [], "credentials": false, "trust": 0.5, "groups": [],
	"level": 3, "labels": ["tenant:other"], "purposes": ["billing"], "expires_at": 1, "valid_to": 1,
}

base := {"action": "read", "purpose": "support", "now": 1000, "subject": subject, "items": [item]}

verdict(changes, members) := answer[0] if {
	asked := object.union(object.union(base, members), {"items": [object.union(item, changes)]})
	answer := policy.verdicts with input as asked
	count(answer) == 1
}

of_level(level) := {"subject": object.union(subject, {"level": level})}

test_nothing_but_the_five_rules if verdict({}, {}) == ["allowed", []]

test_sensitivity if {
	verdict({"sensitivity": 0.71}, of_level(0))[0] == "sensitivity"
	verdict({"sensitivity": 0.71}, of_level(1))[0] == "sensitivity"
	verdict({"sensitivity": 0.71}, of_level(2))[0] == "allowed"
	verdict({"sensitivity": 0.71}, of_level(3))[0] == "allowed"
	verdict({"sensitivity": 0.7}, of_level(0))[0] == "allowed"
}

test_level_that_is_none if {
	every level in [4, -1, "restricted", null] {
		verdict({"sensitivity": 0.71}, of_level(level))[0] == "sensitivity"
	}
}

test_pii if {
	verdict({"pii": true, "pii_flags": ["$.content.email"]}, {}) == ["allowed", ["$.content.email"]]
	verdict({"pii": true}, {}) == ["allowed", ["$.content"]]
	verdict({"pii": true, "pii_flags": ["email"]}, {}) == ["allowed", ["$.content"]]
}

test_pii_of_a_denied_item if verdict({"pii": true, "trust": 0.1}, {}) == ["trust", []]

test_roles_lift_nothing if {
	members := {"subject": object.union(subject, {"roles": ["pii_reader", "credentials_reader"]})}
	verdict({"credentials": true}, members)[0] == "credentials"
	verdict({"pii": true}, members)[1] == ["$.content"]
}

test_credentials if verdict({"credentials": true}, of_level(3))[0] == "credentials"

test_trust if {
	verdict({"trust": 0.29}, of_level(3))[0] == "trust"
	verdict({"trust": 0.3}, {})[0] == "allowed"
}

test_groups if {
	verdict({"groups": ["qa"]}, of_level(3))[0] == "groups"
	verdict({"groups": ["qa", "dev"]}, {})[0] == "allowed"
}

test_open_is_as_read if verdict({"trust": 0.1}, {"action": "open"})[0] == "trust"

test_other_actions_are_denied if {
	every action in ["write", "erase", "follow", "steal", ""] {
		verdict({}, {"action": action}) == ["action", []]
	}
}

test_missing_field_denies if {
	every field in ["sensitivity", "credentials", "trust", "groups"] {
		answer := policy.verdicts with input as object.union(base, {"items": [object.remove(item, [field])]})
		answer[0][0] != "allowed"
	}
}

test_null_denies if {
	every field in ["sensitivity", "credentials", "trust", "groups"] {
		verdict({field: null}, {})[0] != "allowed"
	}
}

test_filter if {
	public := policy.filter with input as object.union(base, of_level(0))
	count(public.conditions) == 4
	cleared := policy.filter with input as object.union(base, of_level(2))
	count(cleared.conditions) == 3
	none := policy.filter with input as object.union(base, {"action": "erase"})
	none == {"match": "none"}
}

test_cacheable if policy.cacheable

test_attributes if "sensitivity" in policy.attributes
