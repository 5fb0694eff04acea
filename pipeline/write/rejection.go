package write

import "satchel/schemas"

// Reason is why an event may not enter the log; it is a token of the DLQ subject.
type Reason string

// The reasons. The last three are found when the log takes the event, not by Prepare.
const (
	Malformed    Reason = "malformed"     // is no valid CloudEvent, or its data is invalid
	Oversized    Reason = "oversized"     // is over a size limit
	Unlabelled   Reason = "unlabelled"    // has no security label
	WrongTenant  Reason = "wrong_tenant"  // names another tenant than its subject
	UnknownType  Reason = "unknown_type"  // is not a memory event
	BadSignature Reason = "bad_signature" // is unsigned where it must be signed, or its signature is wrong
	BadID        Reason = "bad_id"        // has an id outside `[A-Za-z0-9._:-]{1,128}`
	PersonalData Reason = "personal_data" // holds personal data or a secret, and `PII_ON_WRITE` is `refuse`; what is found is masked in the dead letter
	IDReuse      Reason = "id_reuse"      // reuses source and id of another event
	PolicyDenied Reason = "policy_denied" // asks for an erasure that its agent may not ask for, or changes an item that its agent may not change
	UnknownItem  Reason = "unknown_item"  // asks to erase items of which the log lacks some; its cause names these
)

// Rejection says why an event may not enter the log, to Prepare and to those who ask after it. It holds no content.
type Rejection struct {
	Reason  Reason
	Pointer string          // of the first failing field in the CloudEvent: /id, /data/security_label
	Cause   string          // in words
	Issues  []schemas.Issue // the failing fields, bounded
	Holds   []string        // ids of the legal holds for which an erasure is refused
}

// Error returns the reason, the pointer and the cause.
func (r *Rejection) Error() string {
	if r.Pointer == "" {
		return string(r.Reason) + ": " + r.Cause
	}
	return string(r.Reason) + ": " + r.Pointer + " " + r.Cause
}

// DLQReason returns the <reason> token of dlq.v1.<tenant>.<reason>.
func (r *Rejection) DLQReason() string {
	if !schemas.ValidToken(string(r.Reason)) {
		return string(Malformed)
	}
	return string(r.Reason)
}

func newRejection(reason Reason, pointer, cause string) *Rejection {
	return &Rejection{Reason: reason, Pointer: pointer, Cause: cause, Issues: []schemas.Issue{{Pointer: pointer, Message: cause}}}
}

// rejectData names every issue of the data, and the gravest reason among them.
func rejectData(issues []schemas.Issue, unlabelled bool) *Rejection {
	r := &Rejection{Reason: Malformed, Issues: make([]schemas.Issue, len(issues))}
	for i, issue := range issues {
		issue.Pointer = "/data" + issue.Pointer
		r.Issues[i] = issue
	}
	first := 0
	for i, issue := range issues {
		if reason := reasonOf(issue.Pointer, unlabelled); reason.rankReason() > r.Reason.rankReason() {
			r.Reason = reason
			first = i
		}
	}
	r.Pointer = r.Issues[first].Pointer
	r.Cause = r.Issues[first].Message
	r.Issues = schemas.Bounded(r.Issues)
	return r
}

func reasonOf(pointer string, unlabelled bool) Reason {
	switch pointer {
	case "/security_label":
		if unlabelled {
			return Unlabelled
		}
	case "/id", "/from", "/item", "/by":
		return BadID
	}
	return Malformed
}

func (r Reason) rankReason() int {
	switch r {
	case Unlabelled:
		return 2
	case BadID:
		return 1
	}
	return 0
}
