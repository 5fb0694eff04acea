package jetstream

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"satchel/jetstream/cloudevent"
	"satchel/worker/transport"
)

// The headers of a dead letter. Of the rejected message it has those of CloudEvents as they are;
// the others mean something to a server or a library, and stand under a prefix. Text values are
// percent-encoded apart from spaces.
const (
	HeaderDLQSubject  = letterPrefix + "Subject"  // the original subject
	HeaderDLQCause    = letterPrefix + "Cause"    // in words, without content
	HeaderDLQPointer  = letterPrefix + "Pointer"  // the failing JSON pointer
	HeaderDLQSequence = letterPrefix + "Sequence" // in MEMORY
	HeaderDLQEpoch    = letterPrefix + "Epoch"    // of MEMORY
	HeaderDLQAt       = letterPrefix + "At"       // RFC 3339
	HeaderDLQForeign  = letterPrefix + "Header-"  // before the name of another header; name and value are percent-encoded
	HeaderDLQHead     = letterPrefix + "Head"     // how many bytes before the data are all headers, where they are too many
	HeaderDLQCut      = letterPrefix + "Cut"      // how many bytes the message had that no letter can hold
)

const letterPrefix = "Satchel-Dlq-"

const (
	maxLetterHeader = 48 << 10 // bytes of headers; the server stores 64 KiB
	maxLetterText   = 1 << 10  // bytes of a cause or a pointer
	headerLine      = "NATS/1.0\r\n"
)

// letterMessage returns the dead letter of a rejected message, of at most limit bytes.
func letterMessage(r transport.Rejected, key string, limit int64) (*nats.Msg, error) {
	tenant, err := TenantOf(r.Message.Subject)
	if err != nil {
		tenant = NoTenant
	}
	subject, err := DLQSubject(tenant, r.Reason)
	if err != nil {
		return nil, err
	}
	own := func() nats.Header {
		return nats.Header{
			jetstream.MsgIDHeader: {key},
			HeaderDLQSubject:      {encodeText(r.Message.Subject)},
			HeaderDLQCause:        {encodeText(clipText(r.Cause))},
			HeaderDLQPointer:      {encodeText(clipText(r.Pointer))},
			HeaderDLQSequence:     {strconv.FormatUint(r.Message.Seq, 10)},
			HeaderDLQEpoch:        {r.Message.Epoch},
			HeaderDLQAt:           {r.At.UTC().Format(time.RFC3339Nano)},
		}
	}
	msg := &nats.Msg{Subject: subject, Header: own(), Data: r.Message.Data}
	for name, values := range r.Message.Header {
		if isPlain(name, values) {
			msg.Header[name] = values
			continue
		}
		name = HeaderDLQForeign + url.QueryEscape(name)
		for _, value := range values {
			msg.Header[name] = append(msg.Header[name], url.PathEscape(value))
		}
	}
	if msg.Size()-len(msg.Data) > maxLetterHeader {
		head := writeHeader(r.Message.Header)
		msg.Header = own()
		msg.Data = append(head, r.Message.Data...)
		msg.Header[HeaderDLQHead] = []string{strconv.Itoa(len(head))}
	}
	if int64(msg.Size()) > limit {
		msg.Header = own()
		msg.Data = nil
		msg.Header[HeaderDLQCut] = []string{strconv.Itoa(len(r.Message.Data))}
	}
	return msg, nil
}

// isPlain reports whether a header is one of CloudEvents, in characters that any client sends as
// they are.
func isPlain(name string, values []string) bool {
	if !strings.EqualFold(name, cloudevent.ContentType) && !cloudevent.HasPrefixFold(name, cloudevent.AttributePrefix) {
		return false
	}
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	for _, value := range values {
		if value != strings.TrimSpace(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return false
		}
	}
	return true
}

// writeHeader writes headers as lines, a name and a value each.
func writeHeader(header map[string][]string) []byte {
	var b []byte
	for name, values := range header {
		for _, value := range values {
			b = fmt.Appendf(b, "%s: %s\r\n", name, value)
		}
	}
	return b
}

// rejectedMessage returns a message of DLQ with the headers and the data that were rejected, in
// place of the letter's.
func rejectedMessage(m stored) stored {
	if size, err := strconv.ParseUint(m.header.Get(HeaderDLQHead), 10, 32); err == nil && size <= uint64(len(m.data)) {
		header, err := nats.DecodeHeadersMsg([]byte(headerLine + string(m.data[:size]) + "\r\n"))
		if err == nil {
			m.header = header
			m.data = m.data[size:]
			return m
		}
	}
	header := make(nats.Header, len(m.header))
	for name, values := range m.header {
		escaped, foreign := strings.CutPrefix(name, HeaderDLQForeign)
		switch {
		case foreign:
			addEscaped(header, escaped, values)
		case !cloudevent.HasPrefixFold(name, "Nats-") && !cloudevent.HasPrefixFold(name, letterPrefix):
			header[name] = values
		}
	}
	m.header = header
	return m
}

// addEscaped adds a header whose name and values are escaped; as it is, where somebody else wrote
// it.
func addEscaped(header nats.Header, name string, values []string) {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	for _, value := range values {
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		header[name] = append(header[name], value)
	}
}

// isCut reports whether a dead letter has neither the headers nor the data of its message.
func isCut(m stored) bool { return m.header.Get(HeaderDLQCut) != "" && ownLetter(m) }

// cleanHeaders are the headers that a rejected message is published with again: without what it
// asked of the stream as that was, and without its place in a batch.
func cleanHeaders(header nats.Header) nats.Header {
	out := make(nats.Header, len(header))
	for name, values := range header {
		if !cloudevent.HasPrefixFold(name, "Nats-Expected-") && !cloudevent.HasPrefixFold(name, "Nats-Batch-") {
			out[name] = values
		}
	}
	return out
}

// encodeText is cloudevent.EscapeHeader with readable spaces.
func encodeText(s string) string {
	encoded, err := cloudevent.EscapeHeader(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(encoded, "%20", " ")
}

// clipText shortens a text.
func clipText(s string) string {
	if len(s) <= maxLetterText {
		return s
	}
	return s[:maxLetterText] + "…"
}

func decodeText(s string) string {
	text, err := cloudevent.UnescapeHeader(s)
	if err != nil {
		return ""
	}
	return text
}
