package worker

import "satchel/worker/transport"

// The names of package transport, which the jetstream package implements.
type (
	Message         = transport.Message
	StreamState     = transport.StreamState
	Inbox           = transport.Inbox
	Membership      = transport.Membership
	Rejected        = transport.Rejected
	DeadLetters     = transport.DeadLetters
	LedgerMessage   = transport.LedgerMessage
	Ledger          = transport.Ledger
	Outbox          = transport.Outbox
	Copy            = transport.Copy
	StreamScrubber  = transport.StreamScrubber
	Scrubbed        = transport.Scrubbed
	Artifacts       = transport.Artifacts
	ArtifactSweeper = transport.ArtifactSweeper
)

// The errors of package transport.
var (
	ErrNoArtifact       = transport.ErrNoArtifact
	ErrArtifactTooLarge = transport.ErrArtifactTooLarge
	ErrArtifactEmpty    = transport.ErrArtifactEmpty
)
