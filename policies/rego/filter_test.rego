package cmo.policy_test

import data.cmo.policy

filter(members) := answer if answer := policy.filter with input as object.union(object.remove(base, ["items", "now"]), members)

has(answer, condition) if condition in answer.conditions

test_read_filter if {
	answer := filter({})
	answer.match == "where"
	has(answer, {"field": "level", "op": "at_most", "number": 1})
	has(answer, {"field": "groups", "op": "empty_or_in", "values": ["dev"]})
	has(answer, {"field": "purposes", "op": "empty_or_in", "values": ["support"]})
	has(answer, {"field": "trust", "op": "at_least", "number": 0.3})
	has(answer, {"field": "credentials", "op": "at_most", "number": 0})
	has(answer, {"field": "sensitivity", "op": "at_most", "number": 0.7})
	count(answer.conditions) == 6
}

test_read_filter_without_purpose if has(filter({"purpose": ""}), {"field": "purposes", "op": "empty_or_in", "values": []})

test_read_filter_for_export if {
	every purpose in ["export", "Export", "TRAINING"] {
		has(filter({"purpose": purpose}), {"field": "labels", "op": "not_in", "values": ["export:restricted"]})
	}
}

test_read_filter_without_case if has(filter({"purpose": "SUPPORT"}), {"field": "purposes", "op": "empty_or_in", "values": ["support"]})

test_read_filter_of_credentials_reader if count(filter(holder("credentials_reader")).conditions) == 5

test_read_filter_of_cleared if count(filter(cleared).conditions) == 5

test_filter_of_malformed_subject if filter({"subject": object.union(subject, {"level": "restricted"})}) == {"match": "none"}

test_write_filter if {
	every action in ["write", "change", "relabel", "register"] {
		filter({"action": action}) == {"match": "all"}
	}
}

test_erase_filter if filter({"action": "erase"}).conditions == [{"field": "signer", "op": "in", "values": ["planner"]}]

test_erase_filter_of_eraser if filter(object.union(holder("eraser"), {"action": "erase"})) == {"match": "all"}

test_follow_filter if not "drop" in filter({"action": "follow"}).conditions[0].values

test_follow_filter_of_auditor if "drop" in filter(object.union(holder("auditor"), {"action": "follow"})).conditions[0].values

test_filter_of_unknown_action if filter({"action": "steal"}) == {"match": "none"}
