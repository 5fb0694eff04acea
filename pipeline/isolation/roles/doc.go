// Package roles walks a task through five roles, each with its own view and its own
// verdict of policy: planner → retriever → verifier → synthesizer → verifier → sentinel.
//
//	planner      takes the task apart                     sees task, token_budget
//	retriever    has the context assembled                sees task, token_budget, plan
//	verifier     checks the context, later the answer     sees pack, labels, tools, answer
//	synthesizer  answers with citations                   sees task, plan, snippets
//	sentinel     watches runs, writers and principals     sees metrics, findings
//
// It lives beside isolation and below the engine, which it uses through an interface of
// one method. It promises:
//
//   - A role gets the fields of its whitelist. A message that holds another field, and a
//     wish for one, is refused with policy_denied.
//   - A run belongs to the principal of its first hand-over. Nobody else can add to it, take
//     it up or begin it again.
//   - Policy decides, under the action act, who may take a role, each time.
//   - Each hand-over is an entry of the log, role.handed_over, committed before the next
//     role begins. Its data has ids, figures, verdicts and hashes; what was handed over is
//     attached, and goes when an item it shows is erased.
//   - Nothing leaves that Satchel's own verifier has not passed: every sentence cites an
//     item that was shown, the citation's bytes are those that were shown, policy still
//     allows the item, what is said stands in what is cited, no tool is named that policy
//     does not let be used, and nothing personal appears that the context did not show.
//   - What a model is asked is the synthesizer's [isolation.View], which can hold nothing
//     else than the task, the plan and the snippets; model, parameters and payload are in
//     the log by SHA-256.
//
// Whoever plays a role elsewhere is a [RemoteRole]; what it answers is checked like a model's
// answer. A Runner is safe for concurrent use; it keeps nothing of a run.
package roles
