package pipeline

import (
	"bytes"
	"errors"

	"github.com/goccy/go-json"

	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// resultEncoder keeps the encodings of the larger fields of a result's payload, which the log
// and the reply share. Together with the rest they are byte for byte the output of encoding/json
// for the result.
type resultEncoder struct {
	results, text, pack, drop []byte
	logged                    []byte // the pack as the log has it
}

// noHash is how an empty result_sha256 is encoded.
const noHash = `"result_sha256":""`

// seal encodes the result with an empty result_sha256, then sets that field to the hash of the
// encoding. It returns the encoding and keeps the parts, which lie in it but for the pack: once
// a result is made, only the hash in its pack changes. shown
// are the items that the result shows. The pack of the result MUST have its salt, which the hash takes
// in with the encoding.
func (p *resultEncoder) seal(res *schemas.ContextResult, shown []string) (eventlog.Derived, error) {
	*p = resultEncoder{}
	pack := res.Payload.Pack.Logged()
	join := parallel.Start(func() (err error) {
		p.pack, err = json.Marshal(&res.Payload.Pack)
		return err
	})
	defer join()
	var dropErr, resultsErr error
	p.drop, dropErr = json.Marshal(&res.Payload.Drop)
	p.results, resultsErr = json.Marshal(&res.Payload.Results)
	if err := errors.Join(join(), dropErr, resultsErr); err != nil {
		return eventlog.Derived{}, err
	}
	var logged []byte
	joinLogged := parallel.Start(func() (err error) {
		logged, err = json.Marshal(&pack)
		return err
	})
	defer joinLogged()
	raw, err := p.encode(res)
	if err != nil {
		return eventlog.Derived{}, err
	}
	body := eventlog.Derive(shown, raw)
	res.Payload.Pack.ResultSHA256 = body.Hex()
	if err := joinLogged(); err != nil {
		return eventlog.Derived{}, err
	}
	if p.pack, err = hashed(p.pack, body.Hex()); err == nil {
		p.logged, err = hashed(logged, body.Hex())
	}
	return body, err
}

// hashed returns an encoded pack with a hash in its place. Nothing that a caller writes comes
// after it in a pack.
func hashed(pack []byte, hash string) ([]byte, error) {
	at := bytes.LastIndex(pack, []byte(noHash))
	if at < 0 {
		return nil, errors.New("splice pack: its hash has no place")
	}
	at += len(noHash) - 1
	out := make([]byte, 0, len(pack)+len(hash))
	return append(append(append(out, pack[:at]...), hash...), pack[at:]...), nil
}

// encode is json.Marshal of the result. It makes the parts that are not there yet.
func (p *resultEncoder) encode(res *schemas.ContextResult) ([]byte, error) {
	r := &res.Payload
	var o jsonObject
	o.enc = json.NewEncoder(&o.out)
	room := len(p.results) + len(p.text) + len(p.pack) + len(p.drop) + 8<<10
	if p.text == nil {
		room += 2 * len(r.Text)
	}
	o.out.Grow(room)
	o.out.WriteByte('{')
	o.add("meta", &res.Meta)
	o.raw("payload", []byte{'{'})
	results := o.part("results", p.results, &r.Results)
	o.add("total_count", r.TotalCount)
	o.add("query_duration_ms", r.QueryDurationMS)
	o.add("sources", r.Sources)
	o.add("explainability", &r.Explainability)
	o.add("pack_id", r.PackID)
	text := o.part("text", p.text, &r.Text)
	pack := o.part("pack", p.pack, &r.Pack)
	drop := o.part("drop_report", p.drop, &r.Drop)
	o.add("positions", &r.Positions)
	if r.Proof != nil {
		o.add("proof", r.Proof)
	}
	if r.DataRef != nil {
		o.add("dataref", r.DataRef)
	}
	o.out.WriteString("}}")
	out := o.out.Bytes()
	*p = resultEncoder{results: results.of(out), text: text.of(out), pack: pack.of(out), drop: drop.of(out)}
	return out, o.err
}

// jsonObject writes the fields of a JSON object.
type jsonObject struct {
	out bytes.Buffer
	enc *json.Encoder // to out
	err error         // the first one
}

// span is where a value stands in out.
type span struct{ from, to int }

func (s span) of(out []byte) []byte { return out[s.from:s.to:s.to] }

// part writes a field as raw, or encodes it when that is nil.
func (o *jsonObject) part(name string, raw []byte, field any) span {
	if raw == nil {
		return o.add(name, field)
	}
	return o.raw(name, raw)
}

func (o *jsonObject) add(name string, field any) span {
	from := o.name(name)
	err := o.enc.Encode(field)
	if o.err == nil {
		o.err = err
	}
	if err == nil {
		o.out.Truncate(o.out.Len() - 1) // a newline
	}
	return span{from, o.out.Len()}
}

func (o *jsonObject) raw(name string, value []byte) span {
	from := o.name(name)
	o.out.Write(value)
	return span{from, o.out.Len()}
}

// name writes a field's name and returns where its value starts.
func (o *jsonObject) name(name string) int {
	if b := o.out.Bytes(); b[len(b)-1] != '{' {
		o.out.WriteByte(',')
	}
	o.out.WriteByte('"')
	o.out.WriteString(name)
	o.out.WriteString(`":`)
	return o.out.Len()
}
