package schemas

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnknownSchema is returned by JSONSchema for a name that is not in Names.
var ErrUnknownSchema = errors.New("no such schema")

//go:embed json/*.json
var schemaFiles embed.FS

//go:embed asyncapi.json
var asyncAPI []byte

// Names lists the JSON Schemas, one a wire document, sorted.
func Names() []string {
	entries, err := schemaFiles.ReadDir("json")
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".json")
	}
	slices.Sort(names)
	return names
}

// JSONSchema returns the JSON Schema (2020-12) of a wire document.
func JSONSchema(name string) ([]byte, error) {
	data, err := schemaFiles.ReadFile("json/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("read schema %q: %w", name, ErrUnknownSchema)
	}
	return data, nil
}

// AsyncAPI returns the AsyncAPI 3 document of every subject.
func AsyncAPI() []byte { return append([]byte(nil), asyncAPI...) }

// SchemaURI returns the $id of the schema called name.
func SchemaURI(name string) string { return "urn:satchel:schema:" + name + ":v1" }

// SchemaName returns the name of the schema of an event type's data, "" for an
// unknown type.
func SchemaName(eventType string) string { return eventTypes[eventType].schema }

// DataSchema returns the dataschema attribute of an event type: the $id of the JSON
// Schema of its data, "" for an unknown type.
func DataSchema(eventType string) string {
	if name := SchemaName(eventType); name != "" {
		return SchemaURI(name)
	}
	return ""
}
