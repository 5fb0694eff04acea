package cmo.policy_test

import data.cmo.policy

day := 86400000000000

subject := {"tenant": "acme", "id": "planner", "kind": "agent", "level": 1, "groups": ["dev"], "roles": []}

item := {
	"level": 1, "labels": ["level:internal", "tenant:acme"], "groups": [], "purposes": [], "pii": false,
	"pii_flags": [], "credentials": false, "trust": 0.5, "sensitivity": 0, "expires_at": 0, "valid_to": 0,
	"kind": "memory", "signer": "unsigned",
}

base := {"action": "read", "purpose": "support", "now": 1000 * day, "subject": subject, "items": [item]}

# verdict is the answer for the base item with changes, asked with other members of the input.
verdict(changes, members) := answer[0] if {
	asked := object.union(object.union(base, members), {"items": [object.union(item, changes)]})
	answer := policy.verdicts with input as asked
	count(answer) == 1
}

all_actions := [
	"read", "open", "write", "erase", "change", "relabel", "register",
	"follow", "act", "use", "except", "revoke", "hold", "release",
]

holder(role) := {"subject": object.union(subject, {"roles": [role]})}

test_plain_item_is_allowed if verdict({}, {}) == ["allowed", []]

test_open_is_as_read if verdict({"level": 2}, {"action": "open"})[0] == "clearance"

test_order_of_items_is_kept if {
	answer := policy.verdicts with input as object.union(base, {"items": [
		object.union(item, {"level": 3}), item, object.union(item, {"trust": 0.1}), item,
	]})
	[v[0] | some v in answer] == ["clearance", "allowed", "trust", "allowed"]
}

test_foreign_tenant if verdict({"labels": ["tenant:other"]}, {})[0] == "tenant"

test_foreign_tenant_beside_own if verdict({"labels": ["tenant:acme", "tenant:other"]}, {})[0] == "tenant"

test_tenant_holds_for_every_action if {
	every action in all_actions {
		verdict({"labels": ["tenant:other"]}, {"action": action})[0] == "tenant"
	}
}

test_no_tenant_label_is_allowed if verdict({"labels": ["level:internal"]}, {})[0] == "allowed"

test_clearance_at_level if verdict({"level": 1}, {})[0] == "allowed"

test_clearance_above if verdict({"level": 2}, {})[0] == "clearance"

test_level_out_of_range if verdict({"level": -1}, {})[0] == "clearance"

test_subject_level_of_another_type if {
	verdict({}, {"subject": object.union(subject, {"level": "restricted"})})[0] == "clearance"
}

test_credentials if verdict({"credentials": true}, {})[0] == "credentials"

test_credentials_reader if verdict({"credentials": true}, holder("credentials_reader"))[0] == "allowed"

test_group_of_subject if verdict({"groups": ["ops", "dev"]}, {})[0] == "allowed"

test_group_of_others if verdict({"groups": ["ops"]}, {})[0] == "groups"

test_purpose_named if verdict({"purposes": ["support"]}, {})[0] == "allowed"

test_purpose_without_case if verdict({"purposes": ["Support"]}, {"purpose": "SUPPORT"})[0] == "allowed"

test_purpose_not_named if verdict({"purposes": ["billing"]}, {})[0] == "purpose"

test_no_purpose_for_limited_item if verdict({"purposes": [""]}, {"purpose": ""})[0] == "purpose"

test_no_purpose_for_open_item if verdict({}, {"purpose": ""})[0] == "allowed"

test_export if verdict({"labels": ["export:restricted"]}, {"purpose": "export"})[0] == "export"

test_export_without_case if {
	every purpose in ["Export", "EXPORT", "Share", "TRAINING"] {
		verdict({"labels": ["export:restricted"]}, {"purpose": purpose})[0] == "export"
	}
}

test_export_of_any_value_but_allowed if {
	every value in ["Restricted", "no", "true"] {
		verdict({"labels": [concat(":", ["export", value])]}, {"purpose": "export"})[0] == "export"
	}
	verdict({"labels": ["export:allowed"]}, {"purpose": "export"})[0] == "allowed"
}

test_export_for_other_purpose if verdict({"labels": ["export:restricted"]}, {})[0] == "allowed"

test_trust_at_threshold if verdict({"trust": 0.3}, {})[0] == "allowed"

test_trust_below if verdict({"trust": 0.29}, {})[0] == "trust"

test_trust_of_another_type if verdict({"trust": "high"}, {})[0] == "trust"

test_trust_null if verdict({"trust": null}, {})[0] == "trust"

cleared := {"subject": object.union(subject, {"level": 2})}

test_sensitivity_at_threshold if verdict({"sensitivity": 0.7}, {})[0] == "allowed"

test_sensitivity_above if verdict({"sensitivity": 0.71}, {})[0] == "sensitivity"

test_sensitivity_of_another_type if verdict({"sensitivity": "low"}, {})[0] == "sensitivity"

test_sensitivity_for_confidential if verdict({"sensitivity": 1}, cleared)[0] == "allowed"

test_expiry_ahead if verdict({"expires_at": (1000 * day) + 1}, {})[0] == "allowed"

test_expiry_reached if verdict({"expires_at": 1000 * day}, {})[0] == "expired"

test_expiry_of_another_type if verdict({"expires_at": "tomorrow"}, {})[0] == "expired"

test_validity_ahead if verdict({"valid_to": (1000 * day) + 1}, {})[0] == "allowed"

test_validity_reached if verdict({"valid_to": 1000 * day}, {})[0] == "no_longer_valid"

test_pii_path if verdict({"pii": true, "pii_flags": ["$.content.email"]}, {}) == ["allowed", ["$.content.email"]]

test_pii_without_path if verdict({"pii": true}, {}) == ["allowed", ["$.content"]]

test_pii_with_a_flag_that_is_no_path if {
	verdict({"pii": true, "pii_flags": ["$.content.email", "phone"]}, {}) == ["allowed", ["$.content"]]
}

test_pii_reader if verdict({"pii": true, "pii_flags": ["$.content.email"]}, holder("pii_reader")) == ["allowed", []]

test_denied_item_has_no_redactions if verdict({"pii": true, "level": 3}, {}) == ["clearance", []]

test_write_up_is_allowed if verdict({"level": 3, "credentials": true}, {"action": "write"}) == ["allowed", []]

test_erase_needs_a_role if verdict({}, {"action": "erase"})[0] == "role"

test_eraser if verdict({"level": 3}, object.union(holder("eraser"), {"action": "erase"}))[0] == "allowed"

test_signer_erases_its_own if verdict({"signer": "planner"}, {"action": "erase"})[0] == "allowed"

test_nobody_is_called_unsigned if {
	verdict({}, {"action": "erase", "subject": object.union(subject, {"id": "unsigned"})})[0] == "role"
}

test_change_needs_a_role if verdict({"signer": "critic"}, {"action": "change"})[0] == "role"

test_editor_changes if verdict({"level": 3}, object.union(holder("editor"), {"action": "change"}))[0] == "allowed"

test_owner_changes if verdict({"signer": "planner"}, {"action": "change"})[0] == "allowed"

test_relabel_needs_another_role if {
	verdict({"signer": "critic"}, object.union(holder("editor"), {"action": "relabel"}))[0] == "role"
	verdict({"signer": "critic"}, object.union(holder("declassifier"), {"action": "relabel"}))[0] == "allowed"
	verdict({"signer": "planner"}, {"action": "relabel"})[0] == "allowed"
}

test_register_needs_a_role if {
	verdict({"signer": "planner"}, {"action": "register"})[0] == "role"
	verdict({"signer": "critic"}, object.union(holder("template_editor"), {"action": "register"}))[0] == "allowed"
}

test_follow_pack if verdict({"kind": "pack"}, {"action": "follow"})[0] == "allowed"

test_follow_decision if verdict({"kind": "decision"}, {"action": "follow"})[0] == "role"

test_auditor_follows_drop if verdict({"kind": "drop"}, object.union(holder("auditor"), {"action": "follow"}))[0] == "allowed"

test_hold_is_placed_and_released_by_roles_of_their_own if {
	verdict({}, object.union(holder("counsel"), {"action": "hold"})) == ["allowed", []]
	verdict({}, object.union(holder("hold_releaser"), {"action": "hold"}))[0] == "role"
	verdict({}, object.union(holder("hold_releaser"), {"action": "release"})) == ["allowed", []]
	verdict({}, object.union(holder("counsel"), {"action": "release"}))[0] == "role"
	verdict({"signer": "planner"}, {"action": "release"})[0] == "role"
}

test_hold_is_followed_by_who_governs_it if {
	every role in ["auditor", "counsel", "hold_releaser"] {
		verdict({"kind": "hold"}, object.union(holder(role), {"action": "follow"}))[0] == "allowed"
	}
	verdict({"kind": "hold"}, object.union(holder("eraser"), {"action": "follow"}))[0] == "role"
	verdict({"kind": "drop"}, object.union(holder("counsel"), {"action": "follow"}))[0] == "role"
}

test_auditor_does_not_follow_unknown_kind if {
	verdict({"kind": "secret"}, object.union(holder("auditor"), {"action": "follow"}))[0] == "role"
}

found := {"pii": true, "labels": ["level:internal", "pii:none", "detected:email", "detected:secret"]}

masked(manner, types) := {"pii": manner, "types": types}

test_detected_is_masked if verdict(found, {}) == ["allowed", [], masked("redact", ["email", "secret"])]

test_detected_for_a_reader_of_personal_data if {
	verdict(found, holder("pii_reader")) == ["allowed", [], masked("redact", ["secret"])]
}

test_detected_for_a_reader_of_credentials if {
	verdict(found, holder("credentials_reader")) == ["allowed", [], masked("redact", ["email"])]
}

test_detected_for_a_reader_of_pseudonyms if {
	verdict(found, holder("pseudonym_reader")) == ["allowed", [], masked("pseudonymise", ["email", "secret"])]
}

test_detected_does_not_lift_a_flag if {
	verdict(object.union(found, {"pii_flags": ["$.speaker"]}), {}) == ["allowed", ["$.speaker"], masked("redact", ["email", "secret"])]
	verdict(object.union(found, {"labels": ["pii:low", "detected:email"]}), {}) == ["allowed", ["$.content"], masked("redact", ["email"])]
}

test_flagged_for_a_reader_of_pseudonyms if {
	verdict({"pii": true, "pii_flags": ["$.content.a"]}, holder("pseudonym_reader")) == ["allowed", ["$.content.a"], {"pii": "pseudonymise"}]
}

test_extract if {
	verdict({"labels": ["extract:40", "extract:12"]}, {}) == ["allowed", [], {"summarise": 12}]
	verdict({"labels": ["extract:much"]}, {}) == ["allowed", [], {"summarise": 1}]
	verdict({"labels": ["extract:40"]}, holder("pii_reader")) == ["allowed", []]
}

test_nothing_is_owed_for_what_is_denied if {
	verdict(object.union(found, {"level": 3}), {}) == ["clearance", []]
}

test_act_as_role if verdict({"kind": "planner"}, {"action": "act"}) == ["allowed", []]

test_act_as_no_role if verdict({"kind": "king"}, {"action": "act"})[0] == "role"

tagged(tags) := {"labels": array.concat(["level:internal"], [concat(":", ["safety", tag]) | some tag in tags])}

test_use_of_a_safe_tool if verdict(tagged(["read_only"]), {"action": "use"}) == ["allowed", []]

test_use_of_a_guarded_tool if verdict(tagged(["read_only", "moves_money"]), {"action": "use"})[0] == "safety"

test_use_without_case if verdict(tagged(["Destructive"]), {"action": "use"})[0] == "safety"

test_use_of_an_untagged_tool if verdict({}, {"action": "use"})[0] == "safety_untagged"

test_tool_operator if {
	verdict(tagged(["destructive"]), object.union(holder("tool_operator"), {"action": "use"}))[0] == "allowed"
}

test_tool_operator_needs_a_tag if verdict({}, object.union(holder("tool_operator"), {"action": "use"}))[0] == "safety_untagged"

test_except_needs_a_role if verdict({"signer": "mara"}, {"action": "except"})[0] == "role"

test_except_by_approver if {
	verdict({"signer": "mara"}, object.union(holder("exception_approver"), {"action": "except"})) == ["allowed", []]
}

test_except_by_its_owner if {
	verdict({"signer": "planner"}, object.union(holder("exception_approver"), {"action": "except"}))[0] == "four_eyes"
}

test_except_by_its_owner_in_another_case if {
	verdict({"signer": "Planner"}, object.union(holder("exception_approver"), {"action": "except"}))[0] == "four_eyes"
}

test_except_without_owner if {
	asked := object.union(object.union(base, {"items": [object.remove(item, ["signer"])]}), object.union(holder("exception_approver"), {"action": "except"}))
	answer := policy.verdicts with input as asked
	answer[0][0] == "four_eyes"
}

test_revoke_by_owner if verdict({"signer": "planner"}, {"action": "revoke"})[0] == "allowed"

test_revoke_by_approver if verdict({"signer": "mara"}, object.union(holder("exception_approver"), {"action": "revoke"}))[0] == "allowed"

test_revoke_by_others if verdict({"signer": "mara"}, {"action": "revoke"})[0] == "role"

test_unknown_action if verdict({}, {"action": "steal"}) == ["action", []]

# A field that is missing denies.
test_missing_field_denies if {
	every field in ["level", "labels", "groups", "purposes", "credentials", "trust", "expires_at", "valid_to"] {
		answer := policy.verdicts with input as object.union(base, {"items": [object.remove(item, [field])]})
		answer[0][0] != "allowed"
	}
}

test_missing_kind_denies if {
	every action in ["follow", "act"] {
		asked := object.union(object.union(base, {"items": [object.remove(item, ["kind"])]}), object.union(holder("auditor"), {"action": action}))
		answer := policy.verdicts with input as asked
		answer == [["role", []]]
	}
}

test_missing_pii_redacts if {
	answer := policy.verdicts with input as object.union(base, {"items": [object.remove(item, ["pii", "pii_flags"])]})
	answer[0] == ["allowed", ["$.content"]]
}

test_missing_labels_deny_every_action if {
	every action in all_actions {
		answer := policy.verdicts with input as object.union(
			base,
			{"action": action, "items": [object.remove(item, ["labels"])]},
		)
		answer == [["tenant", []]]
	}
}

attributes(action) := answer if answer := policy.attributes with input as {"action": action}

test_attributes_depend_on_action if {
	not "kind" in attributes("read")
	"kind" in attributes("follow")
	"signer" in attributes("erase")
	attributes("change") == attributes("erase")
	attributes("register") == {"labels"}
	attributes("write") == {"labels"}
	attributes("use") == {"labels"}
	attributes("except") == {"labels", "signer"}
}

test_cacheable if policy.cacheable

# Of what satchel.extra denies the built-in reason stands first, and the rest of its own order.
extra(deny, items) := [v[0] | some v in answer] if {
	answer := policy.verdicts with input as object.union(base, {"items": items}) with data.satchel.extra.deny as deny
}

secret := object.union(item, {"level": 3})

test_extra_denies if extra({[1, "contractor"]}, [item, item, secret]) == ["allowed", "contractor", "clearance"]

test_extra_comes_last if extra({[0, "contractor"], [0, "audit"]}, [secret, item]) == ["clearance", "allowed"]

test_extra_in_order if extra({[0, "contractor"], [0, "audit"]}, [item]) == ["audit"]

test_extra_takes_the_redactions if {
	answer := policy.verdicts with input as object.union(base, {"items": [object.union(item, {"pii": true})]}) with data.satchel.extra.deny as {[0, "audit"]}
	answer == [["audit", []]]
}

test_extra_of_every_action if {
	every action in all_actions {
		answer := policy.verdicts with input as object.union(base, {"action": action}) with data.satchel.extra.deny as {[0, "audit"]}
		answer[0][0] != "allowed"
	}
}

test_extra_must_be_pairs if {
	every deny in [
		{["note-1", "audit"]}, {[1, "audit"]}, {[0, "allowed"]}, {[0, "policy_error"]}, {[0, "Two Words"]}, {"audit"},
		{[0, "audit", 1]}, {[0, 5]}, [[0, "audit"]], "audit", true, null,
	] {
		extra(deny, [item]) == []
	}
}

test_extra_without_deny if {
	answer := policy.verdicts with input as base with data.satchel.extra as {"attributes": {"level"}}
	answer == []
}

test_spared_reasons_do_not_count if {
	extra({[0, "contractor"]}, [object.union(item, {"spared": ["contractor"]})]) == ["allowed"]
	extra({[0, "contractor"]}, [object.union(secret, {"spared": ["clearance"]})]) == ["contractor"]
	verdict({"level": 3, "spared": ["clearance"]}, {})[0] == "allowed"
}

test_nothing_spares_tenant_and_action if {
	verdict({"labels": ["tenant:other"], "spared": ["tenant"]}, {})[0] == "tenant"
	verdict({"spared": ["action"]}, {"action": "steal"})[0] == "action"
}
