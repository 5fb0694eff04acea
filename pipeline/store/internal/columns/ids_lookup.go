package columns

// lanes is how many ids LookupAll looks up at a time: about as many as a core can wait
// for memory for.
const lanes = 32

// lane is one id on its way through lookup.
type lane struct {
	hash   uint64
	slot   uint64 // what is at the hash's place, then the first slot that may be the id's
	off    uint32 // into arena
	head   byte   // of the id, then of its entry: read only to have them fetched
	packed bool
	key    [16]byte // if packed
}

// LookupAll sets ords[i] to the ordinal of ids[i], as Lookup does, or to None when it is
// not there; ords MUST be as long as ids. What the ids wait for in memory they wait for
// together, so that many cost a quarter of as many calls of Lookup in a table that is not
// in the cache.
func (t *IDs) LookupAll(ids []string, ords []uint32) {
	ords = ords[:len(ids)]
	if t.live == 0 {
		for i := range ords {
			ords[i] = NoID
		}
		return
	}
	var buf [lanes]lane
	for len(ids) > 0 {
		n := min(lanes, len(ids))
		t.lookUpOrdinals(buf[:n], ids[:n], ords[:n])
		ids = ids[n:]
		ords = ords[n:]
	}
}

// lookUpOrdinals does LookupAll one memory access after another. Every loop is over loads that do
// not depend on each other, nor does a branch on what is being loaded.
func (t *IDs) lookUpOrdinals(ls []lane, ids []string, ords []uint32) {
	mask := uint64(len(t.slots) - 1)
	for i, id := range ids {
		if id != "" {
			ls[i].head = id[0]
		}
	}
	for i, id := range ids {
		l := &ls[i]
		l.packed = packUUID(&l.key, id)
		l.hash = t.computeIDHash(id, l.packed, &l.key)
	}
	for i := range ls {
		ls[i].slot = t.slots[ls[i].hash&mask]
	}
	for i := range ls {
		l := &ls[i]
		for at := l.hash & mask; l.slot != 0 && (l.slot>>32 != l.hash>>32 || l.slot == deleted); {
			at = (at + 1) & mask
			l.slot = t.slots[at]
		}
	}
	for i := range ls {
		if ls[i].slot != 0 {
			ls[i].off = t.offs[uint32(ls[i].slot)-1]
		}
	}
	for i := range ls {
		ls[i].head = t.arena[ls[i].off]
	}
	for i, id := range ids {
		l := &ls[i]
		ords[i] = NoID
		if l.slot == 0 {
			continue
		}
		ord := uint32(l.slot) - 1
		if t.isOrdinalKey(ord, id, l.packed, &l.key) {
			ords[i] = ord
		} else if ord, ok := t.findOrdinal(l.hash, id, l.packed, &l.key); ok {
			ords[i] = ord
		}
	}
}
