package write

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/types"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// body is what Prepare needs of an event's data.
type body struct {
	tenant  string
	subject string
	several bool                // the event is about several memories
	item    *schemas.MemoryItem // for memory.recorded
	touches []Touch
}

// Touch names an item that an event changes when the item exists.
type Touch struct {
	ID      string
	Pointer string // where the event names it
}

// listTouches lists the item of an event first, then the items that its links hide.
func listTouches(id, pointer string, links []schemas.Link) []Touch {
	touches := []Touch{{id, pointer}}
	for i, l := range links {
		if l.Rel == schemas.RelSupersedes {
			touches = append(touches, Touch{l.To, "/data/links/" + strconv.Itoa(i) + "/to"})
		}
	}
	return touches
}

func decodeBody(eventType string, data []byte) (body, []schemas.Issue) {
	switch eventType {
	case schemas.TypeMemoryRecorded:
		m, issues := schemas.DecodeMemoryItem(data)
		return body{tenant: m.Scope.Tenant, subject: m.ID, item: &m, touches: listTouches(m.ID, "/data/id", m.Links)}, issues
	case schemas.TypeMemoryLinked:
		v, issues := schemas.DecodeMemoryLinked(data)
		return body{tenant: v.Scope.Tenant, subject: v.From, touches: listTouches(v.From, "/data/from", v.Links)}, issues
	case schemas.TypeMemorySuperseded:
		v, issues := schemas.DecodeMemorySuperseded(data)
		return body{tenant: v.Scope.Tenant, subject: v.Item, touches: listTouches(v.Item, "/data/item", nil)}, issues
	case schemas.TypeMemoryAccessed:
		v, issues := schemas.DecodeMemoryAccessed(data)
		return body{tenant: v.Scope.Tenant, subject: findFirstID(v.Items), several: true}, issues
	}
	v, issues := schemas.DecodeMemoryErased(data)
	const ours = "is written by the worker and must be left out"
	if v.Receipt != nil {
		issues = append(issues, schemas.Issue{Pointer: "/receipt", Message: ours})
	}
	if v.Original != nil {
		issues = append(issues, schemas.Issue{Pointer: "/original", Message: ours})
	}
	return body{tenant: v.Scope.Tenant, subject: findFirstID(v.Items), several: true}, issues
}

func findFirstID(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// formatExtension writes a typed CloudEvents value in its canonical text.
func formatExtension(value any) string {
	s, err := types.Format(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return s
}

// Item reads the item of a memory.recorded entry with what Prepare found out applied:
// the checksum when the item has none, the verified signer, and a label for each type of
// personal data that was found.
func Item(e eventlog.Entry) (schemas.MemoryItem, error) {
	var m schemas.MemoryItem
	if err := schemas.UnmarshalMemoryItem(e.Data, &m); err != nil {
		return m, fmt.Errorf("read item of position %d: %w", e.Position, err)
	}
	if m.Provenance.Checksum == "" {
		m.Provenance.Checksum = e.Extensions[schemas.ExtensionChecksum]
	}
	m.Signer = e.Extensions[schemas.ExtensionSigner]
	if m.Signer == "" {
		m.Signer = schemas.Unsigned
	}
	m.Provenance.Signer = m.Signer
	if found := e.Extensions[schemas.ExtensionDetected]; found != "" {
		for t := range strings.SplitSeq(found, ",") {
			if label := schemas.LabelDetected + ":" + t; !slices.Contains(m.SecurityLabel, label) {
				m.SecurityLabel = append(m.SecurityLabel, label)
			}
		}
	}
	return m, nil
}
