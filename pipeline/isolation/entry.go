package isolation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// ArtifactSource is the source of the log entries that Satchel itself writes about artifacts.
const ArtifactSource = "satchel://engine/artifacts"

// agent is the agent of those entries.
const agent = "satchel"

// ArtifactSubject returns the subject of the entries about the artifact with a hex SHA-256.
func ArtifactSubject(sha256 string) string { return "sha256:" + sha256 }

// ArtifactEntry returns an entry that Satchel itself writes about an artifact. It fails for data that is no
// JSON.
func ArtifactEntry(tenant, eventType, id, subject string, at time.Time, data any) (eventlog.Draft, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return eventlog.Draft{}, fmt.Errorf("encode %s: %w", eventType, err)
	}
	ext := map[string]string{"datacontenttype": "application/json"}
	if schema := schemas.DataSchema(eventType); schema != "" {
		ext["dataschema"] = schema
	}
	return eventlog.Draft{Tenant: tenant, Agent: agent, Type: eventType, Source: ArtifactSource, ID: id, Subject: subject,
		Time: at, Data: raw, Extensions: ext}, nil
}

// StoredArtifact returns the artifact.stored entry that goes with a memory.recorded, and false
// when the item has no artifact. The same event always gives the same entry.
func StoredArtifact(d *eventlog.Draft) (eventlog.Draft, bool, error) {
	if d.Type != schemas.TypeMemoryRecorded || !bytes.Contains(d.Data, []byte(`"`+schemas.ArtifactAttribute+`"`)) {
		return eventlog.Draft{}, false, nil
	}
	var m schemas.MemoryItem
	if err := schemas.UnmarshalMemoryItem(d.Data, &m); err != nil {
		return eventlog.Draft{}, false, fmt.Errorf("read item: %w", err)
	}
	a, ok := m.Artifact()
	if !ok {
		return eventlog.Draft{}, false, nil
	}
	sum := sha256.Sum256([]byte(d.Source + "\x00" + d.ID))
	id := "stored-" + hex.EncodeToString(sum[:16])
	entry, err := ArtifactEntry(d.Tenant, schemas.TypeArtifactStored, id, ArtifactSubject(a.SHA256), d.Time, &schemas.Artifact{
		ID: ArtifactSubject(a.SHA256), Ref: schemas.ArtifactRef{Object: a.Object, SHA256: a.SHA256, Size: a.Size},
		MediaType: a.MediaType, ItemID: m.ID, Principal: d.Agent, CreatedAt: d.Time.UTC()})
	return entry, err == nil, err
}
