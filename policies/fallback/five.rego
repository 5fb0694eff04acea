# METADATA
# title: The five local rules
# description: |
#   What a slicer may decide by when its policy server is unavailable: sensitivity,
#   personal data, credentials, trust and groups, and nothing else. They are for what
#   is read or opened; every other action is denied. The input is that of package
#   policies; a missing or malformed field denies.
package cmo.policy

cacheable := true

attributes := {"sensitivity", "pii", "pii_flags", "credentials", "trust", "groups"}

reading if input.action in {"read", "open"}

groups := {group | some group in input.subject.groups}

most_sensitive := 0.7

least_trust := 0.3

# Whoever is not known to be confidential or restricted counts as public.
cleared if {
	input.subject.level >= 2
	input.subject.level <= 3
}

verdicts := [[reason, redactions(reason, item)] |
	some item in input.items
	reason := read_reason(item)
] if reading

verdicts := [["action", []] | some _ in input.items] if not reading

# 1. Sensitive items are not for the public or internal; 3. credentials are for nobody;
# 4. items of little trust neither; 5. items of groups are for their groups.
read_reason(item) := "sensitivity" if {
	not cleared
	not insensitive(item)
} else := "credentials" if {
	not item.credentials == false
} else := "trust" if {
	not trusted(item)
} else := "groups" if {
	not item.groups == []
	not shares_group(item)
} else := "allowed"

insensitive(item) if {
	item.sensitivity >= 0
	item.sensitivity <= most_sensitive
}

trusted(item) if {
	item.trust >= least_trust
	item.trust <= 1
}

shares_group(item) if {
	some group in item.groups
	group in groups
}

# 2. Personal data is redacted: the fields that are marked, or all content.
redactions(reason, item) := [] if {
	reason != "allowed"
} else := [] if {
	item.pii == false
} else := item.pii_flags if {
	count(item.pii_flags) > 0
	every flag in item.pii_flags {
		startswith(flag, "$.")
	}
} else := ["$.content"]

default filter := {"match": "none"}

filter := {"match": "where", "conditions": array.concat(conditions, sensitivity_conditions)} if reading

conditions := [
	{"field": "credentials", "op": "at_most", "number": 0},
	{"field": "trust", "op": "at_least", "number": least_trust},
	{"field": "groups", "op": "empty_or_in", "values": sort(groups)},
]

sensitivity_conditions := [] if cleared

sensitivity_conditions := [{"field": "sensitivity", "op": "at_most", "number": most_sensitive}] if not cleared
