package cmo.policy

# filter is what of the policy stores can evaluate: {"match": "none" | "all"} or
# {"match": "where", "conditions": [{field, op, values | number}, …]}, all of which
# must hold. It may let through more than verdicts allows, never less.
default filter := {"match": "none"}

filter := {"match": "where", "conditions": array.flatten([read_conditions, credential_conditions, sensitivity_conditions, export_conditions, extra_conditions])} if {
	reading
	level >= 0
}

# The signer that a store keeps is not the owner that change and relabel are asked about.
filter := {"match": "all"} if {
	input.action in {"write", "change", "relabel", "register", "act", "use", "except", "revoke", "hold", "release"}
}

filter := {"match": "all"} if {
	input.action == "erase"
	"eraser" in roles
}

filter := {"match": "where", "conditions": [{"field": "signer", "op": "in", "values": [input.subject.id]}]} if {
	input.action == "erase"
	not "eraser" in roles
}

filter := {"match": "where", "conditions": [{"field": "kind", "op": "in", "values": followed}]} if {
	input.action == "follow"
}

read_conditions := [
	{"field": "level", "op": "at_most", "number": level},
	{"field": "groups", "op": "empty_or_in", "values": sort(groups)},
	{"field": "purposes", "op": "empty_or_in", "values": named_purposes},
	{"field": "trust", "op": "at_least", "number": least_trust},
]

named_purposes := [purpose | purpose != ""]

credential_conditions := [] if reads_credentials

credential_conditions := [{"field": "credentials", "op": "at_most", "number": 0}] if not reads_credentials

sensitivity_conditions := [] if cleared

sensitivity_conditions := [{"field": "sensitivity", "op": "at_most", "number": most_sensitive}] if not cleared

export_conditions := [{"field": "labels", "op": "not_in", "values": ["export:restricted"]}] if exporting

export_conditions := [] if not exporting

# What satchel.extra says of its own denials in conditions: an item that fails one is as if it were
# not there, and moves nothing.
extra_conditions := [] if not data.satchel.extra.conditions

extra_conditions := [condition | some condition in data.satchel.extra.conditions]

followed := array.concat([kind | some kind, readers in ledger_readers; readers & roles != set()], open_ledger_kinds)
