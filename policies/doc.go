// Package policies is the port of the policy decision point, and the principal registry.
//
// A [PDP] answers one request for all its resources, in order; an error, a missing
// answer or an unknown action means deny. Drivers live in subfolders and pass the suite
// in policytest: opa is Open Policy Agent as a library. The built-in policy is in
// rego. A [Registry] caps what a caller claims to be.
//
// # The input
//
// Every driver shows a policy the same JSON (AppendRequest), and InputHash names it:
//
//	{"action": …, "items": [{…}], "now": NS, "purpose": …,
//	 "subject": {"groups", "id", "kind", "level", "roles", "tenant"}}
//
// An item has the facets of schemas.Facets, id, pii_flags, created_at, expires_at and
// valid_to, and what else its writer said of it: confidence, policy_tags, project, source_uri and speaker; times are nanoseconds since 1970, 0 for none; levels are numbers, 0 public
// to 3 restricted; an item's purposes are in lower case, and that of the request as it
// was given, to be compared without case. An item may have spared, the reasons that are not to
// count. A bundle may say which of them it looks at, and is shown no more.
//
// # The built-in rules
//
// The first rule that denies gives the reason; "allowed" is the only reason that allows.
//
//	reason           actions     denied when
//	tenant           all         the item has a label tenant:X and X is not the subject's tenant
//	credentials      read, open  the item holds credentials; role credentials_reader lifts it
//	clearance        read, open  the item's level is above the subject's
//	sensitivity      read, open  sensitivity is above 0.7 and the subject's level below confidential
//	groups           read, open  the item names groups and the subject is in none of them
//	purpose          read, open  the item names purposes and the request's is not one of them
//	export           read, open  a label export:X other than export:allowed, for export, share or training
//	trust            read, open  trust is below 0.3
//	expired          read, open  now has reached expires_at
//	no_longer_valid  read, open  now has reached valid_to
//	source           read, open  it is a summary, and not all that it was made of is shown
//	role             erase       the subject is neither eraser nor the item's signer; of every
//	                             version of an item it is asked by itself
//	role             change      the subject is neither editor nor the owner, who is given as the
//	                             signer; asked of every version of an item that an event touches
//	role             relabel     the subject is neither declassifier nor the owner by its key,
//	                             given likewise; asked when an item would be protected less
//	role             register    the subject is no template_editor; the resource is a template
//	role             follow      the ledger kind is drop or decision and the subject is no auditor,
//	                             it is hold and the subject is no counsel or hold_releaser either,
//	                             or the kind is none of the ledger
//	role             act         the resource's kind is none of the agent roles
//	safety_untagged  use         the tool has no label safety:TAG
//	safety           use         the tool is destructive, irreversible, moves_money, external_effect,
//	                             needs_approval or privileged; role tool_operator lifts it
//	role             except      the subject is no exception_approver
//	four_eyes        except      the subject is the exception's owner
//	role             revoke      the subject is neither exception_approver nor the exception's owner
//	role             hold        the subject is no counsel
//	role             release     the subject is no hold_releaser
//	other            all         the package satchel.extra denies; these come last
//	action           other       the action is unknown
//	policy_error     all         the decision point failed; comes with an error
//
// For follow a resource stands for a ledger kind, for act for an agent role, given as its
// facet Kind; for except and revoke for a governed exception, its owner given as the facet
// Signer; for hold and release for a legal hold; for use for a tool, its safety tags given as labels
// safety:TAG. Writing up is allowed: a writer may label above its own clearance. What is read or opened and holds
// personal data has its PII flags redacted, the whole of $.content when a flag is not a
// JSON path or there is none; role pii_reader lifts it. What carries a label detected:TYPE
// has those findings masked where they stand (an obligation), under stable pseudonyms for
// role pseudonym_reader; pii_reader lifts it, for the type secret credentials_reader does.
// A label extract:N shows at most N tokens, unless role pii_reader is held.
//
// # The roles
//
//	pii_reader          sees personal data unredacted
//	pseudonym_reader    sees stable pseudonyms in place of personal data
//	credentials_reader  sees items that hold credentials
//	eraser              may erase any item of its tenant
//	editor              may change items of others, and replace templates of others
//	declassifier        may lower the labels of items that it may change
//	template_editor     may register templates
//	auditor             may follow drop reports and decisions
//	tool_operator       may use tools whose effect cannot be taken back
//	exception_approver  may register and revoke governed exceptions, not such as it owns
//	counsel             may place legal holds and follow them
//	hold_releaser       may release legal holds and follow them
package policies
