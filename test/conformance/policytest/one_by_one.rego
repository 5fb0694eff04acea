# METADATA
# title: The built-in policy, one item at a time
# description: |
#   What policies/rego decides by sets of positions, as rules for one item: the slow and
#   plain form that the other is held to.
package cmo.policy

# An answer depends on input.now only through whether it has reached an item's
# expires_at and valid_to, so it may be kept until that changes.
cacheable := true

reading if input.action in {"read", "open"}

# What of an item each action looks at; items that agree on it share one answer.
attributes := {
	"level", "labels", "groups", "purposes", "pii", "pii_flags",
	"credentials", "trust", "sensitivity", "expires_at", "valid_to",
} if reading

attributes := {"labels"} if input.action == "write"

attributes := {"labels", "signer"} if input.action in {"erase", "change", "relabel"}

attributes := {"labels", "kind"} if input.action in {"follow", "act"}

attributes := {"labels"} if input.action in {"use", "register", "hold", "release"}

attributes := {"labels", "signer"} if input.action in {"except", "revoke"}

roles := {role | some role in input.subject.roles}

groups := {group | some group in input.subject.groups}

# Bounds on both sides: in Rego values of other types compare, too.
level := input.subject.level if {
	input.subject.level >= 0
	input.subject.level <= 3
}

own_tenant := concat(":", ["tenant", input.subject.tenant])

cleared if level >= 2

reads_pii if "pii_reader" in roles

reads_credentials if "credentials_reader" in roles

# Purposes under which data leaves the system it was given to.
exporting if purpose in {"export", "share", "training"}

purpose := lower(input.purpose)

least_trust := 0.3

most_sensitive := 0.7

open_ledger_kinds := [
	"artifact", "checkpoint", "erasure", "exception", "handover", "memory", "pack", "refusal",
]

ledger_readers := {
	"decision": {"auditor"},
	"drop": {"auditor"},
	"hold": {"auditor", "counsel", "hold_releaser"},
}

known_action if {
	input.action in {
		"read", "open", "write", "erase", "change", "relabel", "register",
		"follow", "act", "use", "except", "revoke", "hold", "release",
	}
}

agent_roles := {"planner", "retriever", "verifier", "synthesizer", "sentinel"}

# What a tool with one of these safety tags does cannot be taken back.
guarded_tags := {"destructive", "irreversible", "moves_money", "external_effect", "needs_approval", "privileged"}

operates_tools if "tool_operator" in roles

approves_exceptions if "exception_approver" in roles

# verdicts[i] is [reason, redactions] or [reason, redactions, obligations] for input.items[i];
# the reason "allowed" alone allows.
verdicts := [outcome(reason, item) |
	some item in input.items
	reason := read_reason(item)
] if reading

verdicts := [[write_reason(item), []] | some item in input.items] if input.action == "write"

verdicts := [[owner_reason(item, "eraser"), []] | some item in input.items] if input.action == "erase"

verdicts := [[owner_reason(item, "editor"), []] | some item in input.items] if input.action == "change"

verdicts := [[owner_reason(item, "declassifier"), []] | some item in input.items] if input.action == "relabel"

verdicts := [[register_reason(item), []] | some item in input.items] if input.action == "register"

verdicts := [[follow_reason(item), []] | some item in input.items] if input.action == "follow"

verdicts := [[act_reason(item), []] | some item in input.items] if input.action == "act"

verdicts := [[use_reason(item), []] | some item in input.items] if input.action == "use"

verdicts := [[except_reason(item), []] | some item in input.items] if input.action == "except"

verdicts := [[revoke_reason(item), []] | some item in input.items] if input.action == "revoke"

verdicts := [[governing_reason(item, "counsel"), []] | some item in input.items] if input.action == "hold"

verdicts := [[governing_reason(item, "hold_releaser"), []] | some item in input.items] if input.action == "release"

verdicts := [["action", []] | some _ in input.items] if not known_action

# Negated helpers take the item: "not f(item.x)" is undefined, not true, without x.
foreign_tenant(item) if not labelled(item)

foreign_tenant(item) if {
	some label in item.labels
	startswith(label, "tenant:")
	label != own_tenant
}

labelled(item) if is_array(item.labels)

read_reason(item) := "tenant" if {
	foreign_tenant(item)
} else := "credentials" if {
	not item.credentials == false
	not reads_credentials
} else := "clearance" if {
	not within_clearance(item)
} else := "sensitivity" if {
	not cleared
	not insensitive(item)
} else := "groups" if {
	not item.groups == []
	not shares_group(item)
} else := "purpose" if {
	not item.purposes == []
	not serves_purpose(item)
} else := "export" if {
	exporting
	kept_in(item)
} else := "trust" if {
	not trusted(item)
} else := "expired" if {
	not lives(item)
} else := "no_longer_valid" if {
	not holds(item)
} else := "allowed"

insensitive(item) if {
	item.sensitivity >= 0
	item.sensitivity <= most_sensitive
}

# Whatever an export label says but that it is allowed keeps the item in.
kept_in(item) if {
	some label in item.labels
	startswith(label, "export:")
	label != "export:allowed"
}

within_clearance(item) if {
	item.level >= 0
	item.level <= level
}

trusted(item) if {
	item.trust >= least_trust
	item.trust <= 1
}

lives(item) if item.expires_at == 0

lives(item) if ahead(item.expires_at)

holds(item) if item.valid_to == 0

holds(item) if ahead(item.valid_to)

ahead(time) if {
	is_number(time)
	is_number(input.now)
	input.now < time
}

shares_group(item) if {
	some group in item.groups
	group in groups
}

serves_purpose(item) if {
	purpose != ""
	some named in item.purposes
	lower(named) == purpose
}

redactions(reason, item) := [] if {
	reason != "allowed"
} else := [] if {
	item.pii == false
} else := [] if {
	reads_pii
} else := [] if {
	detected_alone(item)
} else := paths(item)

# A flag that is no path says nothing about where the data is, so all content goes.
paths(item) := item.pii_flags if {
	count(item.pii_flags) > 0
	every flag in item.pii_flags {
		startswith(flag, "$.")
	}
} else := ["$.content"]

outcome(reason, item) := [reason, redactions(reason, item)] if {
	obligations(reason, item) == {}
} else := [reason, redactions(reason, item), obligations(reason, item)]

obligations(reason, item) := {} if {
	reason != "allowed"
} else := object.union(masking(item), extracting(item))

# What the detection at write found is masked where it stands, unless a role lifts it.
masking(item) := {"pii": manner, "types": sort(hidden(item))} if {
	count(hidden(item)) > 0
} else := {"pii": manner} if {
	manner == "pseudonymise"
	count(redactions("allowed", item)) > 0
} else := {}

default manner := "redact"

manner := "pseudonymise" if "pseudonym_reader" in roles

detected(item) := {trim_prefix(label, "detected:") |
	some label in item.labels
	startswith(label, "detected:")
}

hidden(item) := {type | some type in detected(item); not lifted(type)}

lifted("secret") if reads_credentials

lifted(type) if {
	type != "secret"
	reads_pii
}

# Nobody flagged the item: the detection alone says that it holds personal data.
detected_alone(item) if {
	item.pii_flags == []
	count(detected(item)) > 0
	every label in item.labels {
		not flagging(label)
	}
}

flagging(label) if {
	startswith(label, "pii:")
	label != "pii:none"
}

# extract:N shows at most N tokens of the item.
extracting(item) := {"summarise": min(limits)} if {
	not reads_pii
	limits := {tokens |
		some label in item.labels
		startswith(label, "extract:")
		tokens := extract_tokens(trim_prefix(label, "extract:"))
	}
	count(limits) > 0
} else := {}

extract_tokens(text) := tokens if {
	regex.match(`^[1-9][0-9]{0,5}$`, text)
	tokens := to_number(text)
} else := 1

write_reason(item) := "tenant" if {
	foreign_tenant(item)
} else := "allowed"

register_reason(item) := "tenant" if {
	foreign_tenant(item)
} else := "allowed" if {
	"template_editor" in roles
} else := "role"

governing_reason(item, role) := "tenant" if {
	foreign_tenant(item)
} else := "allowed" if {
	role in roles
} else := "role"

# The owner of a version is given as its signer.
owner_reason(item, role) := "tenant" if {
	foreign_tenant(item)
} else := "allowed" if {
	role in roles
} else := "allowed" if {
	item.signer == input.subject.id
	not item.signer in {"", "unsigned"}
} else := "role"

follow_reason(item) := "tenant" if {
	foreign_tenant(item)
} else := "allowed" if {
	item.kind in open_ledger_kinds
} else := "allowed" if {
	some role in ledger_readers[item.kind]
	role in roles
} else := "role"

# Whoever may ask at all may take a role; a bundle of one's own can say who may take which.
act_reason(item) := "tenant" if {
	foreign_tenant(item)
} else := "role" if {
	not named_role(item)
} else := "allowed"

named_role(item) if item.kind in agent_roles

use_reason(item) := "tenant" if {
	foreign_tenant(item)
} else := "safety_untagged" if {
	safety_tags(item) == set()
} else := "allowed" if {
	operates_tools
} else := "safety" if {
	safety_tags(item) & guarded_tags != set()
} else := "allowed"

safety_tags(item) := {lower(trim_prefix(label, "safety:")) |
	some label in item.labels
	startswith(label, "safety:")
}

# For an exception the item's signer is its owner, who does not approve it as well.
except_reason(item) := "tenant" if {
	foreign_tenant(item)
} else := "role" if {
	not approves_exceptions
} else := "four_eyes" if {
	not owned_by_another(item)
} else := "allowed"

owned_by_another(item) if lower(item.signer) != lower(input.subject.id)

revoke_reason(item) := "tenant" if {
	foreign_tenant(item)
} else := "allowed" if {
	approves_exceptions
} else := "allowed" if {
	item.signer == input.subject.id
} else := "role"
