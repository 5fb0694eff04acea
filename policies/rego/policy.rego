# METADATA
# title: Satchel's built-in policy
# description: |
#   The batch decision over input.items and the filter that stores can evaluate.
#   Every check is a set of positions in input.items, found in one pass over all items,
#   which costs a third of asking item by item. It is written so that a missing or
#   malformed field denies.
#   The input is described in package policies (input.go), the rules in its doc.go.
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

attributes := {"labels", "signer"} if input.action in object.keys(lifting_role)

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

own_tenant := {concat(":", ["tenant", tenant]) | tenant := input.subject.tenant}

cleared if level >= 2

reads_pii if "pii_reader" in roles

reads_credentials if "credentials_reader" in roles

# Purposes under which data leaves the system it was given to.
exporting if purpose in {"export", "share", "training"}

purpose := lower(input.purpose)

least_trust := 0.3

# Above it, an item is for confidential and restricted subjects alone.
most_sensitive := 0.7

open_ledger_kinds := [
	"artifact", "checkpoint", "erasure", "exception", "handover", "memory", "pack", "refusal",
]

# The roles that may follow the other kinds.
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

# What belongs to its owner, unless the subject holds this role.
lifting_role := {"erase": "eraser", "change": "editor", "relabel": "declassifier"}

# What nobody may do without this role.
required_role := {"register": "template_editor", "hold": "counsel", "release": "hold_releaser"}

agent_roles := {"planner", "retriever", "verifier", "synthesizer", "sentinel"}

# What a tool with one of these safety tags does cannot be taken back.
guarded_tags := {"destructive", "irreversible", "moves_money", "external_effect", "needs_approval", "privileged"}

operates_tools if "tool_operator" in roles

approves_exceptions if "exception_approver" in roles

# verdicts[i] is [reason, redactions] or [reason, redactions, obligations] for input.items[i];
# the reason "allowed" alone allows.
verdicts := [verdict |
	all := answers
	some i, _ in input.items
	verdict := all[i]
]

# The answers by position. Of two for one position the later counts, so the refusal that
# comes first in denials is the last here. A rule that has no value leaves no answer at all:
# in a comprehension it would look like one that refuses nothing.
answers := object.union_n(array.concat([allowed, redacted, obliged], array.reverse(refusals))) if {
	is_array(denials)
	is_object(redactions)
	is_object(obligations)
}

allowed := {i: ["allowed", []] | some i, _ in input.items}

redacted := {i: ["allowed", paths] | some i, paths in redactions}

obliged := {i: ["allowed", object.get(redactions, i, []), duties] | some i, duties in obligations}

refusals := [{i: answer | some i in where} |
	some [reason, all] in denials
	where := all - object.get(spared, reason, set())
	answer := [reason, []]
]

# An item is decided on as if the reasons in its member spared did not concern it. Governed
# exceptions ask so; nothing lifts the tenant or an unknown action.
spared := {reason: where |
	some reason in ({r | r := input.items[_].spared[_]} - {"tenant", "action"})
	where := {i | input.items[i].spared[_] == reason}
}

# The first reason of an item stands: one of these rules, else one of the package satchel.extra.
denials := array.concat(own_denials, extra_denials)

extra_denials := [] if not data.satchel.extra

# What satchel.extra denies, as pairs of a position and a reason. A pair that is neither, or
# says "allowed", leaves no denials, and so no verdicts.
extra_denials := [[reason, where] |
	some reason in {reason | some [_, reason] in data.satchel.extra.deny}
	where := {i | data.satchel.extra.deny[[i, reason]]}
] if {
	is_set(data.satchel.extra.deny)
	every pair in data.satchel.extra.deny {
		[i, reason] := pair
		i in positions
		regex.match(`^[a-z0-9_]{1,64}$`, reason)
		not reason in {"allowed", "policy_error", "exception"}
	}
}

# The reasons of each action and the positions that each refuses. Without one of these sets
# there are no denials, and so no verdicts.
own_denials := [
	["tenant", refused.tenant],
	["credentials", refused.credentials],
	["clearance", refused.clearance],
	["sensitivity", refused.sensitivity],
	["groups", refused.groups],
	["purpose", refused.purpose],
	["export", refused.export],
	["trust", refused.trust],
	["expired", refused.expired],
	["no_longer_valid", refused.no_longer_valid],
] if reading

own_denials := [["tenant", refused.tenant]] if input.action == "write"

own_denials := [["tenant", refused.tenant], ["role", refused.role]] if {
	input.action in {"erase", "change", "relabel", "register", "follow", "act", "revoke", "hold", "release"}
}

own_denials := [
	["tenant", refused.tenant],
	["safety_untagged", refused.safety_untagged],
	["safety", refused.safety],
] if input.action == "use"

own_denials := [
	["tenant", refused.tenant],
	["role", refused.role],
	["four_eyes", refused.four_eyes],
] if input.action == "except"

own_denials := [["action", refused.action]] if not known_action

refused["action"] := positions

positions := {i | some i, _ in input.items}

# The labels of all items but the subject's own tenant.
labels := {label | label := input.items[_].labels[_]} - own_tenant

# Those that begin with prefix. It looks at each only when one of them does.
labels_with(prefix) := set() if {
	strings.any_prefix_match(labels, prefix) == false
} else := {label | some label in labels; startswith(label, prefix)} if is_set(labels)

# The positions of the items that have one of marks.
bearing(marks) := {i |
	marks != set()
	marks[input.items[i].labels[_]]
}

refused["tenant"] := unlabelled | bearing(labels_with("tenant:"))

unlabelled := unlisted - {i |
	some i in unlisted
	is_array(input.items[i].labels)
}

# Lists alone have a first member, so most need no second look.
unlisted := positions - {i | input.items[i].labels[0]}

refused["credentials"] := set() if reads_credentials

refused["credentials"] := positions - {i | input.items[i].credentials == false} if not reads_credentials

refused["clearance"] := positions - {i |
	some n in numbers.range(0, level)
	input.items[i].level == n
}

refused["sensitivity"] := set() if cleared

refused["sensitivity"] := positions - {i |
	most := most_sensitive
	its := input.items[i].sensitivity
	0 <= its
	its <= most
} if not cleared

refused["groups"] := (positions - {i | input.items[i].groups == []}) - {i |
	mine := groups
	mine[input.items[i].groups[_]]
}

refused["purpose"] := (positions - {i | input.items[i].purposes == []}) - {i |
	its := purpose
	its != ""
	lower(input.items[i].purposes[_]) == its
}

# Whatever an export label says but that it is allowed keeps the item in.
refused["export"] := bearing(labels_with("export:") - {"export:allowed"}) if exporting

refused["export"] := set() if not exporting

refused["trust"] := positions - {i |
	least := least_trust
	its := input.items[i].trust
	least <= its
	its <= 1
}

refused["expired"] := expiring - {i |
	is_number(input.now)
	some i in expiring
	its := input.items[i].expires_at
	is_number(its)
	input.now < its
}

expiring := positions - {i | input.items[i].expires_at == 0}

refused["no_longer_valid"] := ending - {i |
	is_number(input.now)
	some i in ending
	its := input.items[i].valid_to
	is_number(its)
	input.now < its
}

ending := positions - {i | input.items[i].valid_to == 0}

refused["role"] := set() if lifting_role[input.action] in roles

# The owner of a version is given as its signer.
refused["role"] := positions - {i |
	not input.subject.id in {"", "unsigned"}
	input.items[i].signer == input.subject.id
} if {
	role := lifting_role[input.action]
	not role in roles
}

refused["role"] := set() if required_role[input.action] in roles

refused["role"] := positions if {
	role := required_role[input.action]
	not role in roles
}

refused["role"] := positions - {i | input.items[i].kind in followed} if input.action == "follow"

# Whoever may ask at all may take a role; a bundle of one's own can say who may take which.
refused["role"] := positions - {i | input.items[i].kind in agent_roles} if input.action == "act"

refused["role"] := positions if {
	input.action == "except"
	not approves_exceptions
}

refused["role"] := positions - {i | input.items[i].signer == input.subject.id} if {
	input.action == "revoke"
	not approves_exceptions
}

refused["role"] := set() if {
	input.action in {"except", "revoke"}
	approves_exceptions
}

refused["safety_untagged"] := positions - bearing(labels_with("safety:"))

refused["safety"] := set() if operates_tools

refused["safety"] := bearing({label |
	some label in labels_with("safety:")
	lower(trim_prefix(label, "safety:")) in guarded_tags
}) if not operates_tools

# For an exception the item's signer is its owner, who does not approve it as well.
refused["four_eyes"] := positions - {i | lower(input.items[i].signer) != lower(input.subject.id)}

redactions := {} if not reading

# The paths to remove, by position. A flag that is no path says nothing about where the
# data is, so all content goes.
redactions := object.union(
	{i: ["$.content"] | some i in personal},
	{i: input.items[i].pii_flags | some i in (flagged - vaguely_flagged)},
) if {
	reading
	is_set(personal)
}

personal := set() if reads_pii

personal := (positions - {i | input.items[i].pii == false}) - detected_alone if not reads_pii

flagged := {i |
	some i in personal
	input.items[i].pii_flags[0]
}

vaguely_flagged := {i |
	some i in flagged
	some flag in input.items[i].pii_flags
	not startswith(flag, "$.")
}

# Nobody flagged the item: the detection alone says that it holds personal data.
detected_alone := {i |
	some i in bearing(labels_with("detected:"))
	input.items[i].pii_flags == []
	not i in bearing(labels_with("pii:") - {"pii:none"})
}

obligations := {} if not reading

obligations := object.union_n([pseudonymised, masked, summarised]) if {
	reading
	is_object(hidden)
	is_object(limits)
}

default manner := "redact"

manner := "pseudonymise" if "pseudonym_reader" in roles

pseudonymised := {i: {"pii": how} |
	how := manner
	how == "pseudonymise"
	some i, _ in redactions
}

# What the detection at write found is masked where it stands, unless a role lifts it.
masked := {i: {"pii": how, "types": types} |
	type_of := hidden
	type_of != {}
	how := manner
	some i in bearing(object.keys(type_of))
	types := sort({type | type := type_of[input.items[i].labels[_]]})
}

hidden := {label: type |
	some label in labels_with("detected:")
	type := trim_prefix(label, "detected:")
	not lifted(type)
}

lifted("secret") if reads_credentials

lifted(type) if {
	type != "secret"
	reads_pii
}

# extract:N shows at most N tokens of the item.
summarised := {i: {"summarise": least} |
	limit_of := limits
	limit_of != {}
	some i in bearing(object.keys(limit_of))
	least := min({tokens | tokens := limit_of[input.items[i].labels[_]]})
}

limits := {label: tokens |
	some label in labels_with("extract:")
	not reads_pii
	tokens := extract_tokens(trim_prefix(label, "extract:"))
}

extract_tokens(text) := tokens if {
	regex.match(`^[1-9][0-9]{0,5}$`, text)
	tokens := to_number(text)
} else := 1
