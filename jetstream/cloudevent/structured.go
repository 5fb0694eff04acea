package cloudevent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
)

// encodeStructured writes e in the CloudEvents JSON format. JSON data is embedded as
// it is, text as a string, everything else as data_base64.
func encodeStructured(e event.Event) ([]byte, error) {
	attributes, err := attributesOf(e)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, 256+len(e.DataEncoded))
	b = append(b, '{')
	for i, a := range attributes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, a.name...)
		b = append(b, '"', ':')
		switch v := a.raw.(type) {
		case bool:
			b = strconv.AppendBool(b, v)
		case int32:
			b = strconv.AppendInt(b, int64(v), 10)
		default:
			if !utf8.ValidString(a.text) {
				return nil, fmt.Errorf("attribute %q is not UTF-8: %w", a.name, ErrAttribute)
			}
			if b, err = appendString(b, a.text); err != nil {
				return nil, err
			}
		}
	}
	if len(e.DataEncoded) > 0 {
		if b, err = appendData(b, e); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendData(b []byte, e event.Event) ([]byte, error) {
	data := e.DataEncoded
	switch {
	case isJSONType(e.DataContentType()):
		if len(bytes.TrimSpace(data)) == len(data) && utf8.Valid(data) && !bytes.Equal(data, []byte("null")) && json.Valid(data) {
			return append(append(b, `,"data":`...), data...), nil
		}
	case !e.DataBase64 && utf8.Valid(data):
		return appendString(append(b, `,"data":`...), string(data))
	}
	b = append(b, `,"data_base64":"`...)
	return append(base64.StdEncoding.AppendEncode(b, data), '"'), nil
}

func appendString(b []byte, s string) ([]byte, error) {
	if !needsEscape(s) {
		return append(append(append(b, '"'), s...), '"'), nil
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return nil, fmt.Errorf("encode string: %w", err)
	}
	return append(b, bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))...), nil
}

// needsEscape reports whether a JSON string of the valid UTF-8 s has escapes.
func needsEscape(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0xe2 { // 0xe2 may start U+2028
			return true
		}
	}
	return false
}

// decodeStructured reads the CloudEvents JSON format. The members of the top level
// are found by one scan, so that data keeps its bytes and costs no decoding.
func decodeStructured(data []byte) (event.Event, error) {
	if !utf8.Valid(data) {
		return event.Event{}, fmt.Errorf("structured event is not UTF-8: %w", ErrNotCloudEvent)
	}
	if !json.Valid(data) {
		return event.Event{}, fmt.Errorf("structured event is not JSON: %w", ErrNotCloudEvent)
	}
	var c event.EventContextV1
	var seen seenAttributes
	var body, body64 []byte
	err := eachMember(data, func(name string, value []byte) error {
		switch {
		case name == "data" && body == nil:
			body = value
		case name == "data_base64" && body64 == nil:
			body64 = value
		case name == "data" || name == "data_base64":
			return fmt.Errorf("member %q is repeated: %w", name, ErrAttribute)
		case !bytes.Equal(value, []byte("null")):
			return setMember(&c, &seen, name, value)
		}
		return nil
	})
	if err != nil {
		return event.Event{}, err
	}
	payload, encoded, err := payloadOf(c.DataContentType, body, body64)
	if err != nil {
		return event.Event{}, err
	}
	return finishEvent(&c, &seen, payload, encoded)
}

func payloadOf(media *string, body, body64 []byte) (payload []byte, encoded bool, err error) {
	hasBody := body != nil && !bytes.Equal(body, []byte("null"))
	hasBody64 := body64 != nil && !bytes.Equal(body64, []byte("null"))
	switch {
	case hasBody && hasBody64:
		return nil, false, fmt.Errorf("both data and data_base64: %w", ErrAttribute)
	case hasBody64:
		text, err := stringOf(body64)
		if err != nil {
			return nil, false, fmt.Errorf("data_base64: %w", err)
		}
		payload, err = base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, false, fmt.Errorf("data_base64 is not base64: %w", ErrAttribute)
		}
		return payload, true, nil
	case hasBody && (media == nil || isJSONType(*media)):
		return body, false, nil
	case hasBody && body[0] == '"':
		text, err := stringOf(body)
		return []byte(text), false, err
	}
	if !hasBody {
		return nil, false, nil
	}
	return body, false, nil // a JSON value under a foreign media type is kept as it is
}

func setMember(c *event.EventContextV1, seen *seenAttributes, name string, value []byte) error {
	if value[0] == '"' {
		text, err := stringOf(value)
		if err != nil {
			return fmt.Errorf("attribute %q: %w", Clip(name), err)
		}
		return setAttribute(c, seen, name, text)
	}
	switch name {
	case "id", "source", "type", "specversion", "subject", "time", "datacontenttype", "dataschema":
		return fmt.Errorf("attribute %q is not a string: %w", name, ErrAttribute)
	}
	switch value[0] {
	case 't', 'f':
		return setExtension(c, name, value[0] == 't')
	case '{', '[':
		return fmt.Errorf("attribute %q is not a scalar: %w", Clip(name), ErrAttribute)
	}
	number, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || number > math.MaxInt32 || number < math.MinInt32 {
		return fmt.Errorf("attribute %q is not a 32-bit integer: %w", Clip(name), ErrAttribute)
	}
	return setExtension(c, name, int32(number))
}

// stringOf decodes a JSON string, without work when nothing in it is escaped.
func stringOf(value []byte) (string, error) {
	if len(value) < 2 || value[0] != '"' {
		return "", fmt.Errorf("not a string: %w", ErrAttribute)
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", errors.Join(ErrAttribute, err)
	}
	return s, nil
}

// eachMember calls visit for every member of the object in data, which MUST be
// valid JSON.
func eachMember(data []byte, visit func(name string, value []byte) error) error {
	i := skipSpace(data, 0)
	if i == len(data) || data[i] != '{' {
		return fmt.Errorf("structured event is not an object: %w", ErrNotCloudEvent)
	}
	for i = skipSpace(data, i+1); data[i] != '}'; {
		end := skipValue(data, i)
		name, err := stringOf(data[i:end])
		if err != nil {
			return err
		}
		start := skipSpace(data, skipSpace(data, end)+1)
		end = skipValue(data, start)
		if err := visit(name, data[start:end:end]); err != nil {
			return err
		}
		i = skipSpace(data, end)
		if data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return nil
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the index behind the JSON value that starts at i.
func skipValue(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = skipString(data, i)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// skipString returns the index of the quote that closes the string opened at i.
func skipString(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// isJSONType reports whether media is JSON: absent, application/json, text/json, or +json.
func isJSONType(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "" || media == event.ApplicationJSON || media == event.TextJSON || strings.HasSuffix(media, "+json")
}

// ExtensionText returns an extension of e in its canonical string form, "" when absent.
func ExtensionText(e event.Event, name string) string {
	if e.Context == nil {
		return ""
	}
	value, ok := e.Extensions()[name]
	if !ok {
		return ""
	}
	text, err := types.Format(value)
	if err != nil {
		return ""
	}
	return text
}
