// Package exception is the registry of governed exceptions and the only way around
// policy.
//
// A [Registry] folds a tenant's exceptions from its log: exception.registered,
// exception.used, exception.ended. A [Guard] stands in front of the policy decision
// point and lets a live exception lift what it names. They promise:
//
//   - Who may register or revoke one is a decision of policy (actions except and
//     revoke), and without an answer nobody may. The decision is in the log with the
//     registration.
//   - An exception has an owner, principals, a path, a reason, an expiry and a rollback
//     trigger; none of them can be left out. The owner is a principal whom the registry
//     knows. It ends at its expiry, by revocation, or when its trigger fires, whichever
//     comes first, by the injected clock and by the log as it stands at the time of use.
//   - It lifts one reason of one action. The item is decided on again as if that one
//     reason did not concern it, so every other rule and every redaction holds. Nothing
//     lifts the tenant, an unknown action or a failed decision.
//   - No use without an entry: exception.used is committed before the verdict is
//     returned; when that fails the denial stands.
//
// # Triggers
//
// A rollback trigger is COUNTER>=N, counted since the registration, or COUNTER>=N/DURATION,
// counted over the last DURATION. The counters are folded from the tenant's log:
//
//	uses            of this exception
//	denials         verdicts with which policy denied an item
//	injections      items left out because they look like injected instructions
//	anomalies       findings of the sentinel; anomaly.NAME counts those of one name
//	NOUN.VERB       entries of that type, as request.refused or memory.erased
package exception
