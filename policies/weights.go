package policies

import "satchel/schemas"

// Trust that is granted to a principal where the registry says nothing, and where there is none.
const (
	agentTrust    = .7
	anybodysTrust = schemas.DefaultTrust
	greatestTrust = 1
)
