// Package hold is the registry of legal holds: nobody can erase the items that a hold covers until it is released.
//
// A [Registry] reads a tenant's holds from its log: hold.placed, hold.released. It keeps nothing in
// memory, so every process knows a hold as soon as it is in the log. It promises:
//
//   - Who may place and who may release a hold are two decisions of policy (actions hold and release),
//     and without an answer nobody may. The decision is in the log with the act.
//   - A hold names items, a session, a label or an agent. An item is held when any version of it that
//     the log has the content of is covered, also one that was recorded after the hold was placed.
//   - A hold has no end but its release. No exception lifts it.
//
// Who erases MUST ask [Registry.All] and [Holds.Over], and MUST append the erasure on the condition [Unless].
package hold
