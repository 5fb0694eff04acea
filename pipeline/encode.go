package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"satchel/schemas"
)

// parts are the encodings of the larger fields of a result's payload, by JSON name, so
// that the log and the reply share them.
type parts map[string]json.RawMessage

// noHash is how an empty result_sha256 is encoded.
const noHash = `"result_sha256":""`

// seal encodes the result with an empty result_sha256, sets that to the hash of the
// encoding and returns the encoding.
func (p parts) seal(res *schemas.ContextResult) ([]byte, error) {
	payload := reflect.ValueOf(&res.Payload).Elem()
	// They do not change once a result is made, but for the pack's result_sha256.
	for _, name := range []string{"results", "text", "pack", "drop_report"} {
		raw, err := json.Marshal(payload.Field(fieldNamed(payload.Type(), name)).Addr().Interface())
		if err != nil {
			return nil, err
		}
		p[name] = raw
	}
	body, err := p.encode(res)
	if err != nil {
		return nil, err
	}
	// Nothing that a caller writes comes after the hash in a pack.
	at := bytes.LastIndex(p["pack"], []byte(noHash))
	if at < 0 {
		return nil, errors.New("splice pack: its hash has no place")
	}
	sum := sha256.Sum256(body)
	res.Payload.Pack.ResultSHA256 = hex.EncodeToString(sum[:])
	at += len(noHash) - 1
	packed := make([]byte, 0, len(p["pack"])+2*len(sum))
	packed = append(append(append(packed, p["pack"][:at]...), res.Payload.Pack.ResultSHA256...), p["pack"][at:]...)
	p["pack"] = packed
	return body, nil
}

// encode is json.Marshal of the result, with the parts as they are.
func (p parts) encode(res *schemas.ContextResult) (json.RawMessage, error) {
	size := 4096
	for _, raw := range p {
		size += len(raw)
	}
	payload, err := p.object(make([]byte, 0, size), reflect.ValueOf(&res.Payload).Elem())
	if err != nil {
		return nil, err
	}
	whole := parts{"payload": payload}
	return whole.object(make([]byte, 0, len(payload)+1024), reflect.ValueOf(res).Elem())
}

// object appends the struct's encoding.
func (p parts) object(out []byte, v reflect.Value) ([]byte, error) {
	out = append(out, '{')
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field := v.Field(i)
		raw, ready := p[name]
		switch {
		case name == "-", strings.Contains(options, "omit") && field.IsZero():
			continue
		case !ready:
			var err error
			if raw, err = json.Marshal(field.Addr().Interface()); err != nil {
				return nil, err
			}
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), name...), `":`...), raw...)
	}
	return append(out, '}'), nil
}

func fieldNamed(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return i
		}
	}
	return -1
}
