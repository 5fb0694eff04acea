package schemas

// Event types, as CloudEvents "type". A type gets a new version only for a
// breaking change of its data.
const (
	TypeMemoryRecorded      = "io.satchel.memory.recorded.v1"
	TypeMemoryLinked        = "io.satchel.memory.linked.v1"
	TypeMemorySuperseded    = "io.satchel.memory.superseded.v1"
	TypeMemoryAccessed      = "io.satchel.memory.accessed.v1"
	TypeMemoryErased        = "io.satchel.memory.erased.v1"
	TypeContextPacked       = "io.satchel.context.packed.v1"
	TypeContextDropped      = "io.satchel.context.dropped.v1"
	TypePolicyDecided       = "io.satchel.policy.decided.v1"
	TypeRequestRefused      = "io.satchel.request.refused.v1"
	TypeRoleHandedOver      = "io.satchel.role.handed_over.v1"
	TypeArtifactStored      = "io.satchel.artifact.stored.v1"
	TypeArtifactOpened      = "io.satchel.artifact.opened.v1"
	TypeExceptionRegistered = "io.satchel.exception.registered.v1"
	TypeExceptionUsed       = "io.satchel.exception.used.v1"
	TypeExceptionEnded      = "io.satchel.exception.ended.v1"
	TypeHoldPlaced          = "io.satchel.hold.placed.v1"
	TypeHoldReleased        = "io.satchel.hold.released.v1"
	TypeLogCheckpointed     = "io.satchel.log.checkpointed.v1"
)

// CloudEvents sources of what the engine writes to the log: packs and all that goes with
// them, and the summaries that it makes.
const (
	SourceEngine     = "satchel://engine"
	SourceCompaction = SourceEngine + "/compaction"
)

// AgentSource returns the CloudEvents source that names an agent. No other agent may use it, nor
// one that begins with it and a slash.
func AgentSource(tenant, agent string) string { return "satchel://agents/" + tenant + "/" + agent }

// LedgerKind is the <kind> token of a ledger subject prov.v1.<tenant>.<kind>.<agent>.
type LedgerKind string

// The ledger kinds.
const (
	LedgerMemory     LedgerKind = "memory"
	LedgerPack       LedgerKind = "pack"
	LedgerDrop       LedgerKind = "drop"
	LedgerDecision   LedgerKind = "decision"
	LedgerArtifact   LedgerKind = "artifact"
	LedgerHandover   LedgerKind = "handover"
	LedgerException  LedgerKind = "exception"
	LedgerHold       LedgerKind = "hold"
	LedgerErasure    LedgerKind = "erasure"
	LedgerRefusal    LedgerKind = "refusal"
	LedgerCheckpoint LedgerKind = "checkpoint"
)

// eventTypes says of each event type under which ledger kind it is published, and by which schema its
// data is. It is only read.
var eventTypes = map[string]struct {
	kind   LedgerKind
	schema string
}{
	TypeMemoryRecorded:      {LedgerMemory, "memory-item"},
	TypeMemoryLinked:        {LedgerMemory, "memory-linked"},
	TypeMemorySuperseded:    {LedgerMemory, "memory-superseded"},
	TypeMemoryAccessed:      {LedgerMemory, "memory-accessed"},
	TypeMemoryErased:        {LedgerErasure, "memory-erased"},
	TypeContextPacked:       {LedgerPack, "context-pack"},
	TypeContextDropped:      {LedgerDrop, "drop-report"},
	TypePolicyDecided:       {LedgerDecision, "policy-decision"},
	TypeRequestRefused:      {LedgerRefusal, "refusal"},
	TypeRoleHandedOver:      {LedgerHandover, "handover"},
	TypeArtifactStored:      {LedgerArtifact, "artifact"},
	TypeArtifactOpened:      {LedgerArtifact, "artifact"},
	TypeExceptionRegistered: {LedgerException, "governed-exception"},
	TypeExceptionUsed:       {LedgerException, "governed-exception"},
	TypeExceptionEnded:      {LedgerException, "governed-exception"},
	TypeHoldPlaced:          {LedgerHold, "legal-hold"},
	TypeHoldReleased:        {LedgerHold, "legal-hold"},
	TypeLogCheckpointed:     {LedgerCheckpoint, "log-checkpoint"},
}

// LedgerKindOf returns the ledger kind an event type is published under, and
// false for a type that Satchel does not know.
func LedgerKindOf(eventType string) (LedgerKind, bool) {
	t, ok := eventTypes[eventType]
	return t.kind, ok
}

// MemoryEventTypes lists the types an agent may publish to the MEMORY stream.
// Everything else in the log is written by Satchel itself.
func MemoryEventTypes() []string {
	return []string{TypeMemoryRecorded, TypeMemoryLinked, TypeMemorySuperseded, TypeMemoryAccessed, TypeMemoryErased}
}

// MemoryLinked is the data of memory.linked: edges added to items that exist or will.
type MemoryLinked struct {
	Scope MemoryScope `json:"scope"`
	From  string      `json:"from"`
	Links []Link      `json:"links"`
}

// MemorySuperseded is the data of memory.superseded: Item is no longer current, By replaces it.
type MemorySuperseded struct {
	Scope  MemoryScope `json:"scope"`
	Item   string      `json:"item"`
	By     string      `json:"by"`
	Reason string      `json:"reason,omitempty"`
}

// MemoryAccessed is the data of memory.accessed: the items an agent used outside a pack.
type MemoryAccessed struct {
	Scope MemoryScope `json:"scope"`
	Items []string    `json:"items"`
}

// MemoryErased is the data of memory.erased. As published by an agent it asks for
// the erasure; as it stands in the log it is the record of it, with the receipt.
type MemoryErased struct {
	Scope    MemoryScope      `json:"scope"`
	Items    []string         `json:"items"`
	Reason   string           `json:"reason,omitempty"`
	Original *ErasureOriginal `json:"original,omitempty"`
	Receipt  *ErasureReceipt  `json:"receipt,omitempty"`

	ReasonSHA256 string `json:"reason_sha256,omitempty"` // in the log, in place of the reason: hex, of what is attached
}

// ErasureOriginal names the entry of an erasure that the log lost and has again: it was restored
// from a copy that is older than the erasure.
type ErasureOriginal struct {
	Source   string `json:"source"`   // of the erasure's event
	ID       string `json:"id"`       // of the erasure's event
	Position int64  `json:"position"` // of its entry in the log that was lost
	Leaf     string `json:"leaf"`     // hex, of that entry
}
