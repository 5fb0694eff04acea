package pipeline

import (
	"bytes"
	"errors"

	"github.com/goccy/go-json"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// parts are the encodings of the larger fields of a result's payload, which the log and
// the reply share. Together with the rest they are what encoding/json makes of the result,
// byte for byte.
type parts struct {
	results, text, pack, drop []byte
}

// noHash is how an empty result_sha256 is encoded.
const noHash = `"result_sha256":""`

// seal encodes the result with an empty result_sha256, sets that to the hash of the
// encoding and returns that.
func (p *parts) seal(res *schemas.ContextResult) (eventlog.Body, error) {
	// They do not change once a result is made, but for the pack's result_sha256.
	r := &res.Payload
	for _, part := range []struct {
		raw   *[]byte
		field any
	}{{&p.results, &r.Results}, {&p.text, &r.Text}, {&p.pack, &r.Pack}, {&p.drop, &r.Drop}} {
		var err error
		if *part.raw, err = json.Marshal(part.field); err != nil {
			return eventlog.Body{}, err
		}
	}
	raw, err := p.encode(res)
	if err != nil {
		return eventlog.Body{}, err
	}
	body := eventlog.NewBody(raw)
	// Nothing that a caller writes comes after the hash in a pack.
	at := bytes.LastIndex(p.pack, []byte(noHash))
	if at < 0 {
		return eventlog.Body{}, errors.New("splice pack: its hash has no place")
	}
	r.Pack.ResultSHA256 = body.Hex()
	at += len(noHash) - 1
	packed := make([]byte, 0, len(p.pack)+len(r.Pack.ResultSHA256))
	packed = append(append(append(packed, p.pack[:at]...), r.Pack.ResultSHA256...), p.pack[at:]...)
	p.pack = packed
	return body, nil
}

// encode is json.Marshal of the result, with the parts as they are.
func (p *parts) encode(res *schemas.ContextResult) ([]byte, error) {
	r := &res.Payload
	o := object{out: make([]byte, 0, len(p.results)+len(p.text)+len(p.pack)+len(p.drop)+8<<10)}
	o.out = append(o.out, '{')
	o.add("meta", &res.Meta)
	o.raw("payload", []byte{'{'})
	o.raw("results", p.results)
	o.add("total_count", r.TotalCount)
	o.add("query_duration_ms", r.QueryDurationMS)
	o.add("sources", r.Sources)
	o.add("explainability", &r.Explainability)
	o.add("pack_id", r.PackID)
	o.raw("text", p.text)
	o.raw("pack", p.pack)
	o.raw("drop_report", p.drop)
	o.add("positions", &r.Positions)
	if r.Proof != nil {
		o.add("proof", r.Proof)
	}
	if r.DataRef != nil {
		o.add("dataref", r.DataRef)
	}
	return append(o.out, '}', '}'), o.err
}

// object appends the fields of a JSON object.
type object struct {
	out []byte
	err error // the first one
}

func (o *object) add(name string, field any) {
	raw, err := json.Marshal(field)
	if o.err == nil {
		o.err = err
	}
	o.raw(name, raw)
}

func (o *object) raw(name string, value []byte) {
	if o.out[len(o.out)-1] != '{' {
		o.out = append(o.out, ',')
	}
	o.out = append(append(append(append(o.out, '"'), name...), `":`...), value...)
}
