package schemas

// Code is the machine-readable kind of a refused request.
type Code string

// The codes. HTTPStatus gives the number sent as Nats-Service-Error-Code.
const (
	CodeValidation         Code = "validation_error"
	CodeInvalidContextType Code = "invalid_context_type"
	CodeTemplateNotFound   Code = "template_not_found"
	CodeEmbedding          Code = "embedding_error"
	CodeSearch             Code = "search_error"
	CodeStorage            Code = "storage_error"
	CodePolicyDenied       Code = "policy_denied"
	CodeCompaction         Code = "compaction_error"
	CodeOverloaded         Code = "overloaded"
	CodeDeadlineExceeded   Code = "deadline_exceeded"
)

// HTTPStatus returns the numeric service error code of c.
func (c Code) HTTPStatus() int {
	switch c {
	case CodeValidation, CodeInvalidContextType:
		return 400
	case CodePolicyDenied:
		return 403
	case CodeTemplateNotFound:
		return 404
	case CodeOverloaded:
		return 429
	case CodeDeadlineExceeded:
		return 504
	case CodeStorage:
		return 503
	}
	return 500
}

// Error is the typed body of a refused request. It never holds content, a secret
// or an internal path.
type Error struct {
	Code      Code     `json:"code"`
	Message   string   `json:"message"`
	Field     string   `json:"field,omitempty"`     // JSON pointer of the first failing field
	Problems  []Issue  `json:"problems,omitempty"`  // every failing field, for validation errors
	Available []string `json:"available,omitempty"` // what there is, for template_not_found
}

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
}

// Invalid returns a validation error over issues, or nil when there are none.
func Invalid(issues []Issue) *Error {
	if len(issues) == 0 {
		return nil
	}
	return &Error{Code: CodeValidation, Message: issues[0].Message, Field: issues[0].Pointer, Problems: issues}
}
