// Package relevance is the pre-parser that decides, before anything is retrieved,
// which context nodes a turn needs. It is deterministic and does no I/O: the same
// mode, signals and configuration give the same decision.
//
// Seven layers run in this order:
//
//  1. template masks: nodes the mode's template does not reference are excluded hard
//  2. signal rules: nodes a turn does not need are excluded hard or soft
//  3. urgency: with classification.urgency "high" some nodes are included by force
//  4. soft recovery: soft-excluded nodes come back while the token headroom lasts
//  5. dependencies: what an included node needs is included
//  6. safety: some nodes are included by force under their conditions, and what they need
//  7. safeguard: more included nodes than the limit give a warning, and stay
//
// An unknown mode, a disabled or a broken configuration include everything; of a broken
// one no node is known, so these are the built-in nodes. The safeguard counts what an
// unknown mode includes; a gate that is disabled or broken counts nothing. A signal that
// the configuration does not know, or that is not what it says, gives a warning.
//
// A node gates kinds of items and retrievers (Config.Nodes), so that the engine can
// leave out whole retrievals: see Decision.NeedsKind, NeedsRetriever and Wants.
package relevance
