package schemas

// LedgerKinds lists the kinds of prov.v1.<tenant>.<kind>.<agent>.
func LedgerKinds() []LedgerKind {
	return []LedgerKind{LedgerMemory, LedgerPack, LedgerDrop, LedgerDecision, LedgerArtifact, LedgerHandover,
		LedgerException, LedgerHold, LedgerErasure, LedgerRefusal, LedgerCheckpoint}
}

// EventTypes lists every CloudEvent type, in the order of the contract.
func EventTypes() []string {
	return []string{TypeMemoryRecorded, TypeMemoryLinked, TypeMemorySuperseded, TypeMemoryAccessed, TypeMemoryErased,
		TypeContextPacked, TypeContextDropped, TypePolicyDecided, TypeRequestRefused, TypeRoleHandedOver,
		TypeArtifactStored, TypeArtifactOpened, TypeExceptionRegistered, TypeExceptionUsed, TypeExceptionEnded,
		TypeHoldPlaced, TypeHoldReleased, TypeLogCheckpointed}
}
