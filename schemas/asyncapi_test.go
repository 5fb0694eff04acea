package schemas

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asyncDocument builds the AsyncAPI 3 document from the table of subjects.
func asyncDocument() object {
	a := asyncBuilder{channels: object{}, operations: object{}, messages: object{}}
	for _, s := range Subjects() {
		a.subject(s)
	}
	return object{
		"asyncapi": "3.0.0",
		"id":       "urn:satchel:asyncapi:v1",
		"info": object{
			"title": "Satchel", "version": "1.0.0",
			"description": "Governed memory and context for AI agents on NATS. " + generatedBy,
			"license":     object{"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		"defaultContentType": "application/json",
		"servers": object{"nats": object{"host": "127.0.0.1:4222", "protocol": "nats",
			"description": "The embedded server, or the cluster of NATS_URL."}},
		"channels": a.channels, "operations": a.operations,
		"components": object{
			"messages": a.messages,
			"parameters": object{
				"tenant": object{"description": "Tenant; must equal the payload's. " + tokenPattern},
				"agent":  object{"description": "Who publishes. " + tokenPattern},
				"reason": object{"description": "Why the event was rejected: malformed, oversized, unlabelled, wrong_tenant, unknown_type, bad_signature, bad_id, id_reuse, …"},
			},
			"messageTraits": object{"cloudEvent": object{
				"description": "A CloudEvent 1.0 in the NATS binding: binary mode with ce- headers, or structured mode.",
				"headers": object{"type": "object", "properties": object{
					"ce-specversion":  object{"type": "string", "const": "1.0"},
					"ce-type":         object{"type": "string", "enum": EventTypes()},
					"ce-source":       object{"type": "string"},
					"ce-id":           object{"type": "string", "pattern": idPattern},
					"ce-subject":      object{"type": "string"},
					"ce-time":         object{"type": "string", "format": "date-time"},
					"ce-dataschema":   object{"type": "string", "format": "uri"},
					"ce-traceparent":  object{"type": "string"},
					"ce-satchelkey":   object{"type": "string", "description": "Key id of the signature"},
					"ce-satchelsig":   object{"type": "string", "description": "Ed25519 signature, base64url without padding"},
					"ce-satchelroles": object{"type": "string", "description": "Roles that the agent claims for a change or an erasure, joined by commas; a registry grants none beside its own"},
					"ce-satchellevel": object{"type": "string", "enum": []string{"public", "internal", "confidential", "restricted"}, "description": "Clearance that the agent claims: the event changes and erases nothing above it"},
				}},
			}},
		},
	}
}

type asyncBuilder struct{ channels, operations, messages object }

func (a asyncBuilder) subject(s Subject) {
	channel := object{"address": s.Address, "description": s.Summary, "messages": object{}, "parameters": parameters(s.Address)}
	a.channels[s.Name] = channel
	if s.Kind == SubjectRequest {
		a.request(s, channel["messages"].(object))
		return
	}
	channel["description"] = s.Summary + " JetStream stream " + s.Stream + "."
	action := "send"
	if s.Stream == "MEMORY" {
		action = "receive"
	}
	for _, t := range s.Types {
		a.message(channel["messages"].(object), SchemaName(t)+"."+lastVerb(t), SchemaName(t), t)
	}
	if len(s.Types) == 0 {
		a.message(channel["messages"].(object), "rejectedEvent", "", "")
	}
	a.operations[s.Name] = object{"action": action, "channel": ref("channels", s.Name), "summary": s.Summary, "messages": messageRefs(s.Name, channel)}
}

func (a asyncBuilder) request(s Subject, messages object) {
	a.message(messages, nameOr(s.Request, "empty"), s.Request, "")
	operation := object{"action": "receive", "channel": ref("channels", s.Name), "summary": s.Summary,
		"messages": []any{ref("channels", s.Name, "messages", nameOr(s.Request, "empty"))}}
	reply := s.Name + "Reply"
	replies := object{}
	a.message(replies, s.Reply, s.Reply, "")
	a.message(replies, "error", "error", "")
	a.channels[reply] = object{"address": nil, "description": "The requester's inbox. An error carries Nats-Service-Error-Code.", "messages": replies}
	operation["reply"] = object{"channel": ref("channels", reply), "address": object{"location": "$message.header#/reply"},
		"messages": messageRefs(reply, a.channels[reply].(object))}
	a.operations[s.Name] = operation
}

func nameOr(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

func (a asyncBuilder) message(channel object, name, schema, eventType string) {
	channel[name] = ref("components", "messages", name)
	m := object{"name": name, "title": nameOr(eventType, name)}
	switch {
	case schema != "":
		m["payload"] = object{"schemaFormat": "application/schema+json;version=draft-2020-12", "schema": object{"$ref": "json/" + schema + ".json"}}
	case name == "empty":
		m["summary"] = "No body."
	default:
		m["summary"] = "The event as it was published, with the cause in headers."
	}
	if eventType != "" {
		m["traits"] = []any{ref("components", "messageTraits", "cloudEvent")}
	}
	a.messages[name] = m
}

func lastVerb(eventType string) string {
	parts := strings.Split(eventType, ".")
	return parts[len(parts)-2]
}

func ref(path ...string) object { return object{"$ref": "#/" + strings.Join(path, "/")} }

func messageRefs(channel string, c object) []any {
	names := []string{}
	for name := range c["messages"].(object) {
		names = append(names, name)
	}
	slices.Sort(names)
	refs := make([]any, len(names))
	for i, name := range names {
		refs[i] = ref("channels", channel, "messages", name)
	}
	return refs
}

func parameters(address string) object {
	p := object{}
	for _, name := range []string{"tenant", "agent", "reason"} {
		if strings.Contains(address, "{"+name+"}") {
			p[name] = ref("components", "parameters", name)
		}
	}
	return p
}

// TestAsyncAPIAddresses holds the channels to the written table of subjects.
func TestAsyncAPIAddresses(t *testing.T) {
	t.Parallel()
	want := []string{"mem.v1.{tenant}.evt.{agent}", "mem.v1.{tenant}.put", "mem.v1.{tenant}.plan", "art.v1.{tenant}.open", "art.v1.{tenant}.revoke", "art.v1.{tenant}.store", "dlq.v1.{tenant}.{reason}"}
	for _, verb := range strings.Fields("request search build preview assemble premortem relevance explain compact recover items status run exception hold template") {
		want = append(want, "ctx.v1.{tenant}."+verb)
	}
	for _, role := range strings.Fields("planner retriever verifier synthesizer sentinel") {
		want = append(want, "ctx.v1.{tenant}.role."+role)
	}
	for _, verb := range strings.Fields("head prove receipt pack entries") {
		want = append(want, "log.v1.{tenant}."+verb)
	}
	for _, kind := range strings.Fields("memory pack drop decision artifact handover exception hold erasure refusal checkpoint") {
		want = append(want, "prov.v1.{tenant}."+kind+".{agent}")
	}
	var doc struct {
		Channels map[string]struct{ Address *string }
	}
	if err := json.Unmarshal(AsyncAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, c := range doc.Channels {
		if c.Address != nil {
			have = append(have, *c.Address)
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("channel addresses (-want +have):\n%s", diff)
	}
}

// TestAsyncAPIReferences follows every $ref inside the document and into the schemas.
func TestAsyncAPIReferences(t *testing.T) {
	t.Parallel()
	var root any
	if err := json.Unmarshal(AsyncAPI(), &root); err != nil {
		t.Fatal(err)
	}
	count := 0
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				visit(e)
			}
		case map[string]any:
			if target, ok := v["$ref"].(string); ok {
				count++
				resolve(t, root, target)
			}
			for _, e := range v {
				visit(e)
			}
		}
	}
	visit(root)
	if count < 100 {
		t.Errorf("followed %d references, expected more", count)
	}
}

func resolve(t *testing.T, root any, target string) {
	t.Helper()
	path, inside := strings.CutPrefix(target, "#/")
	if !inside {
		if _, err := os.Stat(filepath.FromSlash(target)); err != nil {
			t.Errorf("reference %q: %v", target, err)
		}
		return
	}
	at := root
	for _, name := range strings.Split(path, "/") {
		m, ok := at.(map[string]any)
		if !ok || m[name] == nil {
			t.Errorf("reference %q does not resolve", target)
			return
		}
		at = m[name]
	}
}

func TestEveryEventTypeHasASchema(t *testing.T) {
	t.Parallel()
	for _, eventType := range EventTypes() {
		if _, err := JSONSchema(SchemaName(eventType)); err != nil {
			t.Errorf("%s: %v", eventType, err)
		}
		if DataSchema(eventType) == "" {
			t.Errorf("%s has no dataschema", eventType)
		}
		if _, ok := LedgerKindOf(eventType); !ok {
			t.Errorf("%s has no ledger kind", eventType)
		}
	}
	if DataSchema("io.satchel.nothing.v1") != "" {
		t.Error("an unknown type has a dataschema")
	}
	for _, s := range Subjects() {
		for _, name := range []string{s.Request, s.Reply} {
			if name != "" && !slices.Contains(Names(), name) {
				t.Errorf("subject %s names schema %q, which is none", s.Address, name)
			}
		}
	}
}
