package jetstream

import (
	"fmt"
	"strings"
)

// Subjects that carry messages between Satchel and its clients' accounts. No client may name
// one of them.
const (
	// InternalPrefix begins all of them.
	InternalPrefix = "_SATCHEL.v1."

	// IdentifiedPrefix begins a request of a principal that NATS knows:
	// _SATCHEL.v1.as.<id>.<subject>. The service takes the publisher for that principal, so only
	// the import of the principal's account may publish there.
	IdentifiedPrefix = InternalPrefix + "as."

	// OfferPrefix begins the subjects on which Satchel reaches the inboxes of a principal:
	// _SATCHEL.v1.to.<tenant>.<id>.<inbox>.
	OfferPrefix = InternalPrefix + "to."
)

// principalOf splits a request's subject into the principal that NATS vouches for, "" for
// none, and the subject that the principal used.
func principalOf(subject string) (id, used string) {
	rest, ok := strings.CutPrefix(subject, IdentifiedPrefix)
	if !ok {
		return "", subject
	}
	id, used, _ = strings.Cut(rest, ".")
	return id, used
}

// offerSubject returns the subject on which Satchel reaches an inbox of the caller.
func (c Call) offerSubject(inbox string) (string, error) {
	own := strings.HasPrefix(inbox, ownInboxes) && !strings.HasPrefix(inbox, InternalPrefix) && c.Principal == ""
	if !strings.HasPrefix(inbox, inboxes) && !own || strings.ContainsAny(inbox, "*> \t\r\n") {
		return "", fmt.Errorf("fetch content: %w: it is not offered on an inbox", ErrUpload)
	}
	if c.Principal == "" {
		return inbox, nil
	}
	return OfferPrefix + c.Tenant + "." + c.Principal + "." + inbox, nil
}
