package schemas

import (
	"strconv"
	"strings"
)

// Code is the machine-readable kind of a refused request.
type Code string

// The codes. HTTPStatus gives the number sent as Nats-Service-Error-Code.
const (
	CodeValidation         Code = "validation_error"     // the request is not as it must be; problems lists the failing fields
	CodeInvalidContextType Code = "invalid_context_type" // the message is no context request
	CodeTemplateNotFound   Code = "template_not_found"   // there is no such template; available lists those there are
	CodeEmbedding          Code = "embedding_error"      // the query could not be embedded
	CodeSearch             Code = "search_error"         // a search failed
	CodeStorage            Code = "storage_error"        // a store or the log cannot be read or written at present
	CodePolicyDenied       Code = "policy_denied"        // policy or the principal registry does not allow it; with undecided, policy gave no verdict: try again
	CodeCompaction         Code = "compaction_error"     // the account of a compacted pack does not hold
	CodeOverloaded         Code = "overloaded"           // no place is free, or a quota is used up: nothing was done, try again after retry_after
	CodeDeadlineExceeded   Code = "deadline_exceeded"    // the caller's time ran out
	CodeNotFound           Code = "not_found"            // there is no such entry, pack, exception or erasure
	CodeConflict           Code = "conflict"             // source and id were used for another event (id_reuse), or for one that was erased
	CodeUnauthenticated    Code = "unauthenticated"      // the caller did not prove its identity
	CodeInsufficientScope  Code = "insufficient_scope"   // the caller's token does not allow the operation
	CodeTooLarge           Code = "too_large"            // the event or the artifact is over the size limit
	CodeUnderWay           Code = "under_way"            // an erasure is not finished: wait for it by its id, erasure; missing says what it waits for
)

// HTTPStatus returns the numeric service error code of c.
func (c Code) HTTPStatus() int {
	switch c {
	case CodeUnderWay:
		return 202
	case CodeValidation, CodeInvalidContextType:
		return 400
	case CodeUnauthenticated:
		return 401
	case CodePolicyDenied, CodeInsufficientScope:
		return 403
	case CodeTemplateNotFound, CodeNotFound:
		return 404
	case CodeConflict:
		return 409
	case CodeTooLarge:
		return 413
	case CodeOverloaded:
		return 429
	case CodeDeadlineExceeded:
		return 504
	case CodeStorage:
		return 503
	}
	return 500
}

// IsCallersMistake reports whether the request was wrong, not the service: it fails again when
// it is sent again. A refusal for lack of a free place (429) is none.
func (c Code) IsCallersMistake() bool {
	status := c.HTTPStatus()
	return status >= 400 && status < 500 && status != 429
}

// Error is the typed body of a refused request. It never holds content, a secret
// or an internal path.
type Error struct {
	Code      Code     `json:"code"`
	Message   string   `json:"message"`
	Field     string   `json:"field,omitempty"`     // JSON pointer of the first failing field
	Problems  []Issue  `json:"problems,omitempty"`  // the failing fields, for validation errors; at most 64
	Available []string `json:"available,omitempty"` // what there is, for template_not_found
	Holds     []string `json:"holds,omitempty"`     // ids of the legal holds for which an erasure is refused
	Erasure   string   `json:"erasure,omitempty"`   // id to wait with for the receipt of an erasure, for under_way
	Missing   []string `json:"missing,omitempty"`   // what an erasure that is under way waits for, as far as is known
	// RetryAfter is in how many seconds another try makes sense, for overloaded; 0: the caller chooses.
	RetryAfter int  `json:"retry_after,omitempty"`
	Undecided  bool `json:"undecided,omitempty"` // policy gave no verdict: the service failed, though the code is policy_denied; try again
}

// IsCallersMistake reports whether the request was wrong, not the service. See [Code.IsCallersMistake].
func (e *Error) IsCallersMistake() bool { return !e.Undecided && e.Code.IsCallersMistake() }

// Error returns the code and the message.
func (e *Error) Error() string {
	if e.Field != "" {
		return string(e.Code) + ": " + e.Field + ": " + e.Message
	}
	return string(e.Code) + ": " + e.Message
}

// Issue is one thing wrong with a document.
type Issue struct {
	Pointer string `json:"pointer"` // JSON pointer, "" for the whole document
	Message string `json:"message"`
	More    int    `json:"more,omitempty"` // on the last of a list: how many problems it does not name
}

// MaxProblems is how many problems a refusal lists at most.
const MaxProblems = 64

// maxProblem is how many bytes of a pointer and of a message are kept.
const maxProblem = 2 << 10

// Bounded returns at most MaxProblems of issues, none of them long. The last one says how many more there are.
func Bounded(issues []Issue) []Issue {
	if len(issues) == 0 {
		return nil
	}
	kept := make([]Issue, 0, min(len(issues), MaxProblems))
	total := 0
	for _, i := range issues {
		total += max(i.More, 1)
		if i.More == 0 && len(kept) < MaxProblems {
			kept = append(kept, Issue{Pointer: clipText(i.Pointer), Message: clipText(i.Message)})
		}
	}
	if total == len(kept) {
		return kept
	}
	kept = kept[:min(len(kept), MaxProblems-1)]
	return append(kept, moreIssues("", total-len(kept)))
}

// moreIssues stands for n problems that a list does not name.
func moreIssues(pointer string, n int) Issue {
	return Issue{Pointer: pointer, Message: "and " + strconv.Itoa(n) + " more problems", More: n}
}

// clipText cuts what is longer than maxProblem bytes.
func clipText(s string) string {
	if len(s) <= maxProblem {
		return s
	}
	return strings.ToValidUTF8(s[:maxProblem], "") + "…"
}

// Invalid returns a validation error over issues, or nil when there are none. See [Bounded].
func Invalid(issues []Issue) *Error {
	if len(issues) == 0 {
		return nil
	}
	issues = Bounded(issues)
	return &Error{Code: CodeValidation, Message: issues[0].Message, Field: issues[0].Pointer, Problems: issues}
}
