// Package opa is the policy decision point with Open Policy Agent as a library.
//
// A bundle is compiled once and evaluated at most once per request, for all resources
// together. Resources that agree on what the bundle looks at share one verdict; their
// inputs are kept as parsed OPA values, and so are verdicts when the bundle says that they
// may be: who asks, what it looks at and which of the item's times are past is the key. All of that belongs to one revision and goes with it.
//
// A bundle defines in package cmo.policy
//
//	verdicts    for input {action, items, now, purpose, subject}: an array that holds
//	            [reason, [json path, …]] for input.items[i] at i; "allowed" alone allows
//	filter      for the same input without items and now:
//	            {"match": "none" | "all"} or {"match": "where", "conditions": [
//	            {"field", "op", "values" | "number"}, …]} in the terms of schemas.Filter;
//	            it MUST NOT hide what verdicts allows
//	attributes  optional, may depend on input.action: the names of the item fields that
//	            verdicts reads; without it every field of every item is passed
//	cacheable   optional; true when an answer depends on input.now only through whether
//	            it has reached the item's expires_at and valid_to
//
// Builtins that reach the network, the environment or chance are refused, so an answer
// depends on bundle and input alone. Whatever goes wrong (an evaluation error, an
// undefined or malformed answer, a cancelled context) denies every resource with the
// reason "policy_error" and returns an error that is policies.ErrUnavailable.
package opa
