package schemas

import (
	"crypto/sha256"
	"encoding/hex"
)

// RoleRequest asks ctx.v1.<tenant>.role.<role> for one step of the walk planner →
// retriever → verifier → synthesizer → verifier → sentinel. A role may be given the
// fields of its whitelist alone.
type RoleRequest struct {
	From        *Agent        `json:"from,omitempty"`         // who asks
	RequestID   string        `json:"request_id,omitempty"`   // of the run; made when empty
	Task        string        `json:"task"`                   // what is to be done
	Session     string        `json:"session,omitempty"`      // session of the run
	TZ          string        `json:"tz,omitempty"`           // time zone whose days the task means, as Asia/Tokyo or +09:00; default the setting
	Purpose     string        `json:"purpose,omitempty"`      // what the data is for, seen by policy
	TokenBudget int           `json:"token_budget,omitempty"` // of the context; default 2000
	MinPosition int64         `json:"min_position,omitempty"` // log position the indexes must have reached
	Expose      []string      `json:"expose,omitempty"`       // fields wanted in the reply's state; empty: the whole whitelist
	Plan        *RolePlan     `json:"plan,omitempty"`         // from the planner
	PackID      string        `json:"pack_id,omitempty"`      // context to work on, from the retriever
	Withheld    []string      `json:"withheld,omitempty"`     // items of the pack that the verifier keeps from the model
	Answer      *RoleAnswer   `json:"answer,omitempty"`       // from the synthesizer, to be verified
	State       *RuntimeState `json:"state,omitempty"`        // what the role may see, for a player in another process
}

// RoleReply answers a RoleRequest.
type RoleReply struct {
	Role         string        `json:"role"`                   // who worked
	RequestID    string        `json:"request_id"`             // of the run
	Next         string        `json:"next,omitempty"`         // the role to hand over to, empty at the end
	Plan         *RolePlan     `json:"plan,omitempty"`         // the planner's
	PackID       string        `json:"pack_id,omitempty"`      // of the context it worked on
	Answer       *RoleAnswer   `json:"answer,omitempty"`       // the synthesizer's
	Verification *Verification `json:"verification,omitempty"` // the verifier's
	Findings     []Finding     `json:"findings,omitempty"`     // the sentinel's
	State        *RuntimeState `json:"state,omitempty"`        // of the run, with the role's exposed fields
	Position     int64         `json:"position,omitempty"`     // log position of the handover
	Warnings     []string      `json:"warnings"`               // what it could not do
}

// RunRequest asks ctx.v1.<tenant>.run for the whole walk.
type RunRequest struct {
	From        *Agent `json:"from,omitempty"`         // who asks
	RequestID   string `json:"request_id,omitempty"`   // of the run; made when empty
	Task        string `json:"task"`                   // the question, or what is to be done
	Session     string `json:"session,omitempty"`      // session of the run
	TZ          string `json:"tz,omitempty"`           // time zone whose days the task means, as Asia/Tokyo or +09:00; default the setting
	Purpose     string `json:"purpose,omitempty"`      // what the data is for, seen by policy
	TokenBudget int    `json:"token_budget,omitempty"` // of the context; default 2000
	MinPosition int64  `json:"min_position,omitempty"` // log position the indexes must have reached
}

// RunReply answers a RunRequest: the verified answer, and what each role did.
type RunReply struct {
	RequestID string            `json:"request_id"`        // names the run in the ledger
	PackID    string            `json:"pack_id,omitempty"` // the context it was made of
	Answer    *RoleAnswer       `json:"answer,omitempty"`  // verified; none when nothing supports one
	Checks    []Check           `json:"checks"`            // of the verifier, both times
	Withheld  []string          `json:"withheld"`          // items kept from the model
	Findings  []Finding         `json:"findings"`          // of the sentinel
	Handovers []Handover        `json:"handovers"`         // as they stand in the log, in order
	Positions []int64           `json:"positions"`         // of the handovers
	Metrics   TokenCostEnvelope `json:"metrics"`           // what it took
	Warnings  []string          `json:"warnings"`          // what was late, failed or capped
}

// RolePlan is how a task is taken apart.
type RolePlan struct {
	Steps       []PlanStep `json:"steps"`                  // in order
	TokenBudget int        `json:"token_budget,omitempty"` // of the context
}

// PlanStep is one question of a plan.
type PlanStep struct {
	ID       string `json:"id"`       // within the plan
	Question string `json:"question"` // what it asks
}

// RoleAnswer is an answer with a citation for every sentence.
type RoleAnswer struct {
	Text       string           `json:"text"`                 // the sentences, with [n]; further lines of one are indented, and what looks like [n] in it has round brackets
	PackID     string           `json:"pack_id"`              // the context it was made of
	Sentences  []AnswerSentence `json:"sentences"`            // in order
	Unanswered []string         `json:"unanswered,omitempty"` // steps that nothing in the context answers
	Invocation ModelInvocation  `json:"invocation"`           // what made it
}

// AnswerSentence is one sentence of an answer.
type AnswerSentence struct {
	Text      string     `json:"text"`              // without the citation marks
	Speaker   string     `json:"speaker,omitempty"` // who said it, when it is a quotation
	Step      string     `json:"step,omitempty"`    // the plan's step it answers
	Citations []Citation `json:"citations"`         // at least one
}

// Citation points from a sentence to what supports it.
type Citation struct {
	Number     int    `json:"number"`          // as the text has it, from 1
	ItemID     string `json:"item_id"`         // an item of the pack
	ContentRef string `json:"content_ref"`     // "log:<position>"
	Where      string `json:"where,omitempty"` // path and line, or commit, date and author, as the pack has them
	Span       *Span  `json:"span,omitempty"`  // bytes of the item's text as shown; nil: the whole item
	SHA256     string `json:"sha256"`          // hex, of the cited bytes
}

// ModelInvocation says by hashes what was asked of which model. Each hash is hex
// SHA-256: of the model's name, of the parameters as sent, of the payload byte for byte.
// The log has it as Logged returns it.
type ModelInvocation struct {
	Salt             string `json:"salt,omitempty"`          // hex, 32 random bytes; beside the answer alone, not in the log
	Model            string `json:"model"`                   // as asked for; extractive/1 without a model
	ModelSHA256      string `json:"model_sha256"`            // of the model's name
	ParametersSHA256 string `json:"parameters_sha256"`       // of the parameters, as JSON
	PayloadSHA256    string `json:"payload_sha256"`          // of everything the model was shown
	AnswerSHA256     string `json:"answer_sha256,omitempty"` // of what it said
	PromptTokens     int    `json:"prompt_tokens"`           // shown
	AnswerTokens     int    `json:"answer_tokens"`           // said
}

// Logged returns the invocation as the log and the ledger have it: without the salt, and with hex
// SHA-256(salt ‖ hash) for each hash. What is no hash becomes "".
func (m *ModelInvocation) Logged(salt []byte) ModelInvocation {
	out := *m
	out.Salt = ""
	for _, sum := range []*string{&out.ModelSHA256, &out.ParametersSHA256, &out.PayloadSHA256, &out.AnswerSHA256} {
		raw, err := hex.DecodeString(*sum)
		if err != nil || len(raw) != sha256.Size {
			*sum = ""
			continue
		}
		*sum = SaltedSHA256(salt, raw)
	}
	return out
}

// Verification is the verifier's word on a context or on an answer.
type Verification struct {
	OK       bool     `json:"ok"`       // what was checked may go on
	Stage    string   `json:"stage"`    // context or answer
	Checks   []Check  `json:"checks"`   // in a fixed order
	Withheld []string `json:"withheld"` // items that must not reach the model
}

// Check is one of the verifier's checks.
type Check struct {
	Name    string `json:"name"`             // labels, tools, budget, citations, support, redactions
	OK      bool   `json:"ok"`               // it holds
	Checked int    `json:"checked"`          // how many things were looked at
	Failed  int    `json:"failed,omitempty"` // how many of them did not hold
	Detail  string `json:"detail,omitempty"` // in words, without content
}

// The anomalies that the sentinel knows.
const (
	AnomalyBudgetCreep     = "budget_creep"
	AnomalyRelevanceDrop   = "relevance_drop"
	AnomalyWriterFlood     = "writer_flood"
	AnomalyRepeatedDenials = "repeated_denials"
	AnomalyInjection       = "injection"
	AnomalyContextRot      = "context_rot"
)

// Anomalies lists the names of the anomalies.
func Anomalies() []string {
	return []string{AnomalyBudgetCreep, AnomalyRelevanceDrop, AnomalyWriterFlood, AnomalyRepeatedDenials, AnomalyInjection, AnomalyContextRot}
}

// Finding is an anomaly the sentinel saw.
type Finding struct {
	Anomaly string  `json:"anomaly"`          // budget_creep, relevance_drop, writer_flood, repeated_denials, injection or context_rot
	Subject string  `json:"subject"`          // the session, principal or writer it is about
	Value   float64 `json:"value"`            // what was measured
	Limit   float64 `json:"limit"`            // where it begins to be an anomaly
	Detail  string  `json:"detail,omitempty"` // in words, without content
}
