// Package remote is the policy decision point on an OPA server, over its REST Data
// API.
//
// # What is asked
//
//	POST /v1/data/cmo/context        one item: {"specialist", "item"}
//	POST /v1/data/cmo/context_batch  many items: {"specialist", "items"}
//	POST /v1/data/cmo/context_filter what stores can evaluate: {"specialist"}
//
// each as the member input, beside action, purpose and now (nanoseconds since 1970):
//
//	"specialist": {"type", "id", "tenant", "securityLevel", "authorizedGroups", "roles"}
//	"item": {"id", "content": {}, "metadata": {"kind", "type", "category", "session",
//	  "level", "labels", "restrictedToGroups", "purposes", "containsPII", "piiFields",
//	  "hasCredentials", "trust", "sensitivity", "signer", "created_at", "expires_at", "valid_to",
//	  "confidence", "policy_tags", "project", "source_uri", "speaker"}}
//
// Where an exception has reasons not count, the input has "spared": true and the metadata of
// such an item "spared": [reason, …].
//
// Levels are public, internal, confidential or restricted, unknown for any other; times
// are nanoseconds, 0 for none. The content of an item never leaves the process: content
// is there for the shape and always empty.
//
// # What has to be answered
//
//	{"allow": bool, "redact": bool, "redactedFields": ["$.…"], "reason": "snake_case"}
//
// for the item, or {"decisions": […]} of them, one for each item in order. allow MUST be
// there, redact too when allow is true, and redactedFields when redact is. Paths that
// are named are redacted whatever redact says. reason is optional: "allowed" is for
// what is allowed and for nothing else, "denied" stands for none. No object anywhere in an
// answer may have two members of one name.
//
// [PDP.Probe] finds out whether the server has the batch and the filter; without the
// batch, items are asked for one by one, in parallel. A document that is not there is looked
// for again after Config.Cooldown: a server that starts answers {} before it has its bundle,
// and items that it has no document for are denied meanwhile. Without the filter all known
// actions match all, as every item is decided on anyway and the stores hold each
// request to its tenant; a filter that is there MUST NOT hide what is allowed.
//
// # When it is not answered
//
// A server that is down or slow, another status than 200, a redirection, an answer that
// is too long, no JSON, half an answer, one too many or one that says two things deny every resource of the
// request with the reason policies.ReasonError and an error that is
// policies.ErrUnavailable. After Config.Failures of these in a row the server is left
// alone for Config.Cooldown; then one request tries it again.
//
// # The cache
//
// A verdict is kept for Config.CacheTTL under everything the policy was shown: who asks
// for what and why, and the whole item. The time is the exception: what counts is which
// of the item's times it has reached, and that the verdict is not older than the TTL by
// the request's time and by the clock. All verdicts go when an answer comes with
// another revision. The revision is what the server's provenance says of its bundles,
// else the member revision of the answer; a server with neither is "unversioned", and
// its changes are seen after the TTL.
package remote
