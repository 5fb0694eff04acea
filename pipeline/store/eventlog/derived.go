package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"satchel/schemas"
)

// Derived is bytes made from items, with the ids of these items. A draft takes such bytes in
// no other form, so an erasure of an item finds them. The zero value is no bytes at all.
type Derived struct {
	refs []string
	data []byte
	sum  [sha256.Size]byte
}

// Derive returns data, made from the items refs. The caller MUST name every item whose content
// data repeats, and MUST NOT change either slice afterwards. nil data makes the zero Derived.
func Derive(refs []string, data []byte) Derived {
	if data == nil {
		return Derived{}
	}
	return Derived{refs: refs, data: data, sum: sha256.Sum256(data)}
}

// Bytes returns the data, nil for the zero Derived.
func (d Derived) Bytes() []byte { return d.data }

// Refs returns the ids of the items.
func (d Derived) Refs() []string { return d.refs }

// Hex returns the data's SHA-256 in lower-case hex.
func (d Derived) Hex() string { return hex.EncodeToString(d.sum[:]) }

// checkRefs returns an error unless every ref can be stored.
func (d Derived) checkRefs() error {
	for _, ref := range d.refs {
		if ref == "" || !isText(ref) {
			return fmt.Errorf("%w: a ref is not text", ErrInvalid)
		}
	}
	return nil
}

// isSummary reports whether a draft is an item that Satchel made of others.
func isSummary(d *Draft) bool {
	return d.Type == schemas.TypeMemoryRecorded && d.Source == schemas.SourceCompaction
}

// checkItem returns an error unless a draft's Item names its refs as an erasure looks for them:
// by derived_from links.
func checkItem(d *Draft) error {
	switch {
	case d.Item.data == nil && isSummary(d):
		return fmt.Errorf("%w: a summary without its items", ErrInvalid)
	case d.Item.data == nil:
		return nil
	case !isSummary(d) || d.Data != nil:
		return fmt.Errorf("%w: only a summary has an item made from others, and it has no other data", ErrInvalid)
	case len(d.Item.refs) == 0:
		return fmt.Errorf("%w: a summary of nothing", ErrInvalid)
	}
	var item schemas.MemoryItem
	if err := schemas.UnmarshalMemoryItem(d.Item.data, &item); err != nil {
		return fmt.Errorf("%w: a summary that is no item", ErrInvalid)
	}
	for _, ref := range d.Item.refs {
		if !slices.Contains(item.Links, schemas.Link{Rel: schemas.RelDerivedFrom, To: ref}) {
			return fmt.Errorf("%w: a summary without a link to one of its items", ErrInvalid)
		}
	}
	return d.Item.checkRefs()
}
