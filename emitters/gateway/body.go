package gateway

import "satchel/schemas"

// decodeBody reads a body as a request of the contract is read: a member that is unknown, spelt otherwise,
// given twice, null or of another type is refused, and so is every value that breaks a rule.
func decodeBody[T any](body []byte, read func([]byte) (T, []schemas.Issue)) (T, error) {
	v, issues := read(body)
	if err := schemas.Invalid(issues); err != nil {
		return v, err
	}
	return v, nil
}

// newItem is the body of remember: an item of which the client fills in what is missing.
type newItem schemas.MemoryItem

// Validate finds nothing wrong: the client validates the item that it has filled in.
func (*newItem) Validate() []schemas.Issue { return nil }

// correction is the body of correct.
type correction struct {
	Text   string `json:"text"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Validate holds the reason to the rule of memory.superseded. The client checks the rest.
func (c *correction) Validate() []schemas.Issue {
	return (&schemas.MemorySuperseded{Scope: anyScope, Item: "item", By: "by", Reason: c.Reason}).Validate()
}

// erasure is the body of forget.
type erasure struct {
	Items   []string `json:"items"`
	Reason  string   `json:"reason"`
	DryRun  bool     `json:"dry_run"`
	Erasure string   `json:"erasure"` // instead of items: id of one that is under way, to wait for
}

// Validate holds items and reason to the rules of memory.erased.
func (e *erasure) Validate() []schemas.Issue {
	switch {
	case e.Erasure == "":
	case len(e.Items) > 0:
		return []schemas.Issue{{Pointer: "/erasure", Message: "must not be given together with items"}}
	case !schemas.ValidID(e.Erasure):
		return []schemas.Issue{{Pointer: "/erasure", Message: "must be the id of an erasure"}}
	default:
		return nil
	}
	return (&schemas.MemoryErased{Scope: anyScope, Items: e.Items, Reason: e.Reason}).Validate()
}

// recovery is the body of recover.
type recovery struct {
	ItemIDs []string `json:"item_ids"`
}

// Validate holds the ids to the rules of a recover request.
func (r *recovery) Validate() []schemas.Issue {
	return (&schemas.RecoverRequest{PackID: "pack", ItemIDs: r.ItemIDs}).Validate()
}

// anyScope stands for the scope of a body, which is the token's.
var anyScope = schemas.MemoryScope{Tenant: "any"}
