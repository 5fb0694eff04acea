// Package write is the first stage of the pipeline: it turns one CloudEvent that an
// agent published into a log draft, or says why it may not enter the log.
//
// Prepare checks the event's attributes, reads the data strictly (package schemas),
// holds the payload's tenant against the subject's, verifies the signature, checks or
// computes the content's checksum, runs the redaction hook and looks for personal data
// and secrets. It is pure: the same
// event gives the same draft, so a redelivery is recognised by the log. The data
// bytes stay exactly as received unless the item was redacted.
//
// # Extensions of a draft
//
// A draft carries the event's extensions, datacontenttype and dataschema, and what
// this stage found out. Names that a publisher may not set are overwritten or dropped.
//
//	satchelkey       key id of the signature, as published
//	satchelsig       signature, base64url without padding, as published
//	satchelroles     roles claimed for an erasure, joined by ",", as published; those of
//	                 another event are in Prepared.Roles alone
//	satchellevel     clearance claimed, in Prepared.Level alone
//	satchelsigner    set here: the verified key id, or "unsigned"
//	satchelchecksum  set here for memory.recorded: "sha256:<hex>" of the content
//	satchelredacted  set here: JSON pointers that were redacted, joined by ","
//	satcheldetected  set here: types of personal data that were found, joined by ","
//
// Item reads an item back with these applied.
//
// # Signature
//
// Ed25519 by an nkey over schemas.SigningDigest. A signed event must carry its subject.
package write
