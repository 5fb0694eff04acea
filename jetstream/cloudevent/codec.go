// Package cloudevent reads and writes CloudEvents in NATS messages, as the CloudEvents NATS
// binding 1.0 says: in binary mode, with attributes as headers, and in structured mode, as one
// JSON text. The data bytes of an event are kept exactly. Errors name the attribute that is
// wrong and never quote content.
package cloudevent

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/nats-io/nats.go"

	"satchel/schemas"
)

// Mode is how a CloudEvent travels in a NATS message.
type Mode int

// The modes of the CloudEvents NATS binding 1.0.
const (
	Binary     Mode = iota // attributes as "ce-" headers, data as the body
	Structured             // the whole event as JSON, Content-Type application/cloudevents+json
)

// Sentinels of Decode. Each is wrapped with the attribute or member that failed,
// never with content.
var (
	ErrNotCloudEvent = errors.New("not a CloudEvent")
	ErrSpecVersion   = errors.New("specversion is not 1.0")
	ErrAttribute     = errors.New("bad CloudEvents attribute")
	ErrFormat        = errors.New("unsupported CloudEvents format")
)

// Names of the binding.
const (
	AttributePrefix = "ce-"                          // of the header of an attribute in binary mode
	ContentType     = "Content-Type"                 // the header with the media type
	StructuredType  = "application/cloudevents+json" // the media type of structured mode
	cloudEventsType = "application/cloudevents"
)

// Encode writes e as the NATS binding says. The data bytes are kept exactly. An
// event without id, source or type, or of another spec version, is refused.
func Encode(e event.Event, mode Mode) (nats.Header, []byte, error) {
	if e.Context == nil || e.SpecVersion() != event.CloudEventsVersionV1 {
		return nil, nil, fmt.Errorf("encode event: %w", ErrSpecVersion)
	}
	for _, required := range [][2]string{{"id", e.ID()}, {"source", e.Source()}, {"type", e.Type()}} {
		if required[1] == "" {
			return nil, nil, fmt.Errorf("encode event: %s is missing: %w", required[0], ErrAttribute)
		}
	}
	if mode == Structured {
		data, err := encodeStructured(e)
		if err != nil {
			return nil, nil, fmt.Errorf("encode event: %w", err)
		}
		return nats.Header{ContentType: {StructuredType}}, data, nil
	}
	attributes, err := attributesOf(e)
	if err != nil {
		return nil, nil, fmt.Errorf("encode event: %w", err)
	}
	header := make(nats.Header, len(attributes)+2)
	for _, a := range attributes {
		value, err := EscapeHeader(a.text)
		if err != nil {
			return nil, nil, fmt.Errorf("encode attribute %q: %w", a.name, err)
		}
		header[AttributePrefix+a.name] = []string{value}
	}
	return header, e.Data(), nil
}

// Decode reads a CloudEvent 1.0 in either mode. It accepts what other writers are
// known to send: header names in any case, values that are not percent-encoded, an
// unprefixed content type for datacontenttype, structured events without a content
// type. A header value that decodes to invalid UTF-8 is refused. The event's data
// shares memory with data.
func Decode(header nats.Header, data []byte) (event.Event, error) {
	e, err := decodeEvent(header, data)
	if err != nil {
		return event.Event{}, fmt.Errorf("decode event: %w", err)
	}
	return e, nil
}

func decodeEvent(header nats.Header, data []byte) (event.Event, error) {
	media, err := HeaderValue(header, ContentType)
	if err != nil {
		return event.Event{}, err
	}
	if HasPrefixFold(media, cloudEventsType) {
		base, _, _ := strings.Cut(media, ";")
		base = strings.TrimSpace(base)
		if strings.EqualFold(base, StructuredType) || strings.EqualFold(base, cloudEventsType) {
			return decodeStructured(data)
		}
		return event.Event{}, fmt.Errorf("content type %q: %w", Clip(base), ErrFormat)
	}
	var c event.EventContextV1
	var seen seenAttributes
	found := false
	for name, values := range header {
		if !HasPrefixFold(name, AttributePrefix) {
			continue
		}
		found = true
		if len(values) != 1 {
			return event.Event{}, fmt.Errorf("header %q is repeated: %w", Clip(name), ErrAttribute)
		}
		attribute := strings.ToLower(name[len(AttributePrefix):])
		value, err := UnescapeHeader(values[0])
		if err != nil {
			return event.Event{}, fmt.Errorf("header %q: %w", Clip(name), err)
		}
		if err := setAttribute(&c, &seen, attribute, value); err != nil {
			return event.Event{}, err
		}
	}
	if !found {
		if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
			return decodeStructured(data)
		}
		return event.Event{}, ErrNotCloudEvent
	}
	if !utf8.ValidString(media) {
		return event.Event{}, fmt.Errorf("content type is not UTF-8: %w", ErrAttribute)
	}
	if c.DataContentType == nil && media != "" {
		c.DataContentType = &media
	}
	return finishEvent(&c, &seen, data, false)
}

// finishEvent checks what must be there and joins attributes and data.
func finishEvent(c *event.EventContextV1, seen *seenAttributes, data []byte, base64 bool) (event.Event, error) {
	switch {
	case !seen.specversion:
		return event.Event{}, fmt.Errorf("specversion is missing: %w", ErrNotCloudEvent)
	case c.ID == "":
		return event.Event{}, fmt.Errorf("id is missing: %w", ErrAttribute)
	case !seen.source:
		return event.Event{}, fmt.Errorf("source is missing: %w", ErrAttribute)
	case c.Type == "":
		return event.Event{}, fmt.Errorf("type is missing: %w", ErrAttribute)
	}
	e := event.Event{Context: c, DataBase64: base64}
	if len(data) > 0 {
		e.DataEncoded = data
	}
	return e, nil
}

// seenAttributes tells a missing attribute from an empty one, and a repeated one.
type seenAttributes struct {
	id, source, typ, specversion bool
}

// setAttribute sets one attribute from its canonical string form.
func setAttribute(c *event.EventContextV1, seen *seenAttributes, name, value string) error {
	var repeated bool
	switch name {
	case "specversion":
		if value != event.CloudEventsVersionV1 {
			return ErrSpecVersion
		}
		repeated = seen.specversion
		seen.specversion = true
	case "id":
		repeated = seen.id
		seen.id = true
		c.ID = value
	case "type":
		repeated = seen.typ
		seen.typ = true
		c.Type = value
	case "source":
		ref := types.ParseURIRef(value)
		if ref == nil || value == "" {
			return fmt.Errorf("source is not a URI reference: %w", ErrAttribute)
		}
		repeated = seen.source
		seen.source = true
		c.Source = *ref
	case "subject":
		repeated = c.Subject != nil
		c.Subject = &value
	case "datacontenttype":
		repeated = c.DataContentType != nil
		c.DataContentType = &value
	case "time":
		stamp, err := schemas.ParseTime(value)
		if err != nil {
			return fmt.Errorf("time is not RFC 3339: %w", ErrAttribute)
		}
		repeated = c.Time != nil
		c.Time = &types.Timestamp{Time: stamp}
	case "dataschema":
		uri := types.ParseURI(value)
		if uri == nil || value == "" {
			return fmt.Errorf("dataschema is not a URI: %w", ErrAttribute)
		}
		repeated = c.DataSchema != nil
		c.DataSchema = uri
	default:
		return setExtension(c, name, value)
	}
	if repeated {
		return fmt.Errorf("attribute %q is repeated: %w", name, ErrAttribute)
	}
	return nil
}

func setExtension(c *event.EventContextV1, name string, value any) error {
	if !validAttributeName(name) {
		return fmt.Errorf("attribute name %q: %w", Clip(name), ErrAttribute)
	}
	if c.Extensions == nil {
		c.Extensions = make(map[string]any, 4)
	}
	if _, repeated := c.Extensions[name]; repeated {
		return fmt.Errorf("attribute %q is repeated: %w", name, ErrAttribute)
	}
	c.Extensions[name] = value
	return nil
}

// attribute is one context attribute: its canonical text, and for an extension its value.
type attribute struct {
	name string
	text string
	raw  any
}

// attributesOf lists the attributes of e, specversion first, extensions last.
func attributesOf(e event.Event) ([]attribute, error) {
	extensions := e.Extensions()
	list := make([]attribute, 0, 8+len(extensions))
	add := func(name, text string) { list = append(list, attribute{name: name, text: text, raw: text}) }
	add("specversion", e.SpecVersion())
	add("id", e.ID())
	add("source", e.Source())
	add("type", e.Type())
	if s := e.Subject(); s != "" {
		add("subject", s)
	}
	if t := e.Time(); !t.IsZero() {
		add("time", types.FormatTime(t))
	}
	if s := e.DataContentType(); s != "" {
		add("datacontenttype", s)
	}
	if s := e.DataSchema(); s != "" {
		add("dataschema", s)
	}
	for name, value := range extensions {
		if !validAttributeName(name) {
			return nil, fmt.Errorf("attribute name %q: %w", Clip(name), ErrAttribute)
		}
		text, err := types.Format(value)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, ErrAttribute)
		}
		list = append(list, attribute{name: name, text: text, raw: value})
	}
	return list, nil
}

// validAttributeName reports whether name is lower-case letters and digits.
func validAttributeName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return name != ""
}

// HeaderValue returns the one value of a header whose name may be in any case.
func HeaderValue(header nats.Header, name string) (string, error) {
	if values, ok := header[name]; ok && len(values) == 1 {
		return values[0], nil
	}
	for key, values := range header {
		if !strings.EqualFold(key, name) {
			continue
		}
		if len(values) != 1 {
			return "", fmt.Errorf("header %q is repeated: %w", Clip(key), ErrAttribute)
		}
		return values[0], nil
	}
	return "", nil
}

// HasPrefixFold reports whether s begins with prefix in any case.
func HasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// Clip keeps a text of a client short in an error.
func Clip(s string) string {
	if len(s) > 160 {
		return s[:160] + "…"
	}
	return s
}
