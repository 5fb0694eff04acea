package schemas

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Limits of artifacts.
const (
	MaxArtifact       = 256 << 20 // bytes of one artifact
	MaxArtifactWindow = 512 << 10 // bytes of one OpenReply
)

// ArtifactAttribute is the name under which an item's attributes hold an
// ArtifactAttributes.
const ArtifactAttribute = "artifact"

// ArtifactAttributes point from an item to heavy content that is kept outside the log:
// the item's content is an extract of it.
type ArtifactAttributes struct {
	Object    string `json:"object"`         // <tenant>/<sha256>
	SHA256    string `json:"sha256"`         // hex, of the bytes
	Size      int    `json:"size"`           // bytes
	MediaType string `json:"media_type"`     // text/plain, application/json, …
	Name      string `json:"name,omitempty"` // as a file would be called

	// Proof says that the agent who recorded the item has stored the bytes. Satchel makes
	// it when it stores them, for that agent alone; without it nothing is opened.
	Proof string `json:"proof,omitempty"`
}

// Artifact returns the heavy content that the item's content is an extract of, and false
// when there is none.
func (m *MemoryItem) Artifact() (ArtifactAttributes, bool) {
	if len(m.Attributes) == 0 || !strings.Contains(string(m.Attributes), `"`+ArtifactAttribute+`"`) {
		return ArtifactAttributes{}, false
	}
	var held struct {
		Artifact *ArtifactAttributes `json:"artifact"`
	}
	if json.Unmarshal(m.Attributes, &held) != nil || held.Artifact == nil {
		return ArtifactAttributes{}, false
	}
	return *held.Artifact, true
}

// ArtifactObject returns the name of the object that holds a tenant's content.
func ArtifactObject(tenant, sha256 string) string { return tenant + "/" + sha256 }

// checkArtifact checks the artifact among the attributes: it must be the tenant's own, under
// the name of its hash.
func (c *checker) checkArtifact(m *MemoryItem) {
	if !strings.Contains(string(m.Attributes), `"`+ArtifactAttribute+`"`) {
		return
	}
	const pointer = "/attributes/artifact"
	var held map[string]json.RawMessage
	if json.Unmarshal(m.Attributes, &held) != nil || len(held[ArtifactAttribute]) == 0 || held[ArtifactAttribute][0] != '{' {
		return // it is an attribute of another kind
	}
	var a ArtifactAttributes
	if json.Unmarshal(held[ArtifactAttribute], &a) != nil {
		c.addIssue(pointer, "must be an object with object, sha256, size and media_type")
		return
	}
	if !isHex(a.SHA256, 64, 64) {
		c.addIssue(pointer+"/sha256", "must be 64 hex digits in lower case")
	}
	if a.Object != ArtifactObject(m.Scope.Tenant, a.SHA256) {
		c.addIssue(pointer+"/object", "must be the tenant and the hash with a slash between them")
	}
	c.checkRange(pointer+"/size", int64(a.Size), 1, MaxArtifact)
	c.checkMediaType(pointer+"/media_type", a.MediaType)
	c.checkShort(pointer+"/name", a.Name, MaxName)
	c.checkShort(pointer+"/proof", a.Proof, MaxName)
}

// StoreRequest stores heavy content on art.v1.<tenant>.store. The service fetches it part
// by part from the subject it is offered on.
type StoreRequest struct {
	From      *Agent `json:"from,omitempty"`  // who asks
	Offer     string `json:"offer"`           // inbox on which the parts are to be had
	MediaType string `json:"media_type"`      // of the bytes
	Name      string `json:"name,omitempty"`  // as a file would be called
	Query     string `json:"query,omitempty"` // what a reader looks for, for the extract
}

// StoreReply answers a StoreRequest. An item with the extract as its content, Artifact as
// its attribute "artifact", and a label detected:TYPE for each of Detected makes the
// artifact one that can be found and opened.
type StoreReply struct {
	Artifact ArtifactAttributes `json:"artifact"` // where it is
	Extract  string             `json:"extract"`  // stands in its place
	Detected []string           `json:"detected"` // types of personal data in it
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *StoreRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkPresent("/offer", len(r.Offer))
	c.checkShort("/offer", r.Offer, MaxName)
	c.checkMediaType("/media_type", r.MediaType)
	c.checkShort("/name", r.Name, MaxName)
	c.checkSize("/query", r.Query, MaxQuery)
	return c.issues
}

func (c *checker) checkMediaType(pointer, t string) {
	foreign := strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || r > '~' })
	if t == "" || len(t) > MaxName || foreign {
		c.addIssue(pointer, "must be 1 to "+strconv.Itoa(MaxName)+" printable ASCII characters")
	}
}

// OpenRequest opens an artifact on art.v1.<tenant>.open. A window of it is answered; the
// whole is to be had by HTTP.
type OpenRequest struct {
	From   *Agent `json:"from,omitempty"`   // who asks; must be whom the handle was given to
	Handle string `json:"handle"`           // signed and short-lived
	Offset int    `json:"offset,omitempty"` // bytes of what is shown to leave out
	Length int    `json:"length,omitempty"` // bytes wanted; default and most: 524288
}

// OpenReply answers an OpenRequest.
type OpenReply struct {
	MediaType string `json:"media_type"`     // of the bytes
	Size      int    `json:"size"`           // bytes of the artifact
	SHA256    string `json:"sha256"`         // hex, of the artifact
	Masked    bool   `json:"masked"`         // masking of personal data was applied: Data need not be bytes of the artifact
	Offset    int    `json:"offset"`         // of Data in what is shown
	Data      []byte `json:"data,omitempty"` // base64
	More      bool   `json:"more"`           // there is more behind Data
	Position  int64  `json:"position"`       // log position of the opening
}

// RevokeRequest makes handles void on art.v1.<tenant>.revoke: one, by its holder, or all
// that were given out for an item, by whoever may erase the item.
type RevokeRequest struct {
	From   *Agent `json:"from,omitempty"`    // who asks
	Handle string `json:"handle,omitempty"`  // the handle
	ItemID string `json:"item_id,omitempty"` // or the item
}

// RevokeReply answers a RevokeRequest.
type RevokeReply struct {
	RevokedAt time.Time `json:"revoked_at"` // handles given out until then are void
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *OpenRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkPresent("/handle", len(r.Handle))
	c.checkCount("/handle", len(r.Handle), MaxURI, "bytes")
	c.checkRange("/offset", int64(r.Offset), 0, MaxArtifact)
	c.checkRange("/length", int64(r.Length), 0, MaxArtifactWindow)
	return c.issues
}

// Validate returns what is wrong with the request, nil when it may be served.
func (r *RevokeRequest) Validate() []Issue {
	var c checker
	c.checkAgent("/from", r.From)
	c.checkSize("/handle", r.Handle, MaxURI)
	c.checkOptionalID("/item_id", r.ItemID)
	if (r.Handle == "") == (r.ItemID == "") {
		c.addIssue("/handle", "give a handle or an item_id")
	}
	return c.issues
}
