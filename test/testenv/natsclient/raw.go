// Package natsclient speaks to NATS for tests: what no library sends, and replies as Satchel gives them.
package natsclient

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"satchel/test/must"
)

// Raw is a connection to a NATS server that publishes headers as no client library writes them.
type Raw struct {
	conn  net.Conn
	lines chan string // of the server; closed at its end
}

// ConnectRaw speaks NATS over a connection, with a key or with nil for none. It closes it when the
// test ends.
func ConnectRaw(t testing.TB, conn net.Conn, key nkeys.KeyPair) *Raw {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
	r := &Raw{conn: conn, lines: make(chan string, 1024)}
	must.Do(t, conn.SetDeadline(time.Now().Add(5*time.Minute)))
	go func() {
		defer close(r.lines)
		for in := bufio.NewScanner(conn); in.Scan(); {
			r.lines <- in.Text()
		}
	}()
	var info struct {
		Nonce string `json:"nonce"`
	}
	if said := <-r.lines; json.Unmarshal([]byte(strings.TrimPrefix(said, "INFO ")), &info) != nil {
		t.Fatalf("the server says %q", said)
	}
	r.send(t, `CONNECT {"headers":true,"no_responders":true,"verbose":false,"pedantic":false,"protocol":1`+sign(t, info.Nonce, key)+"}\r\n")
	return r
}

// sign returns what a client that has a key says of itself.
func sign(t testing.TB, nonce string, key nkeys.KeyPair) string {
	t.Helper()
	if key == nil {
		return ""
	}
	public := must.Get(key.PublicKey())(t)
	signed := must.Get(key.Sign([]byte(nonce)))(t)
	return fmt.Sprintf(`,"nkey":%q,"sig":%q`, public, base64.RawURLEncoding.EncodeToString(signed))
}

// Publish sends a message and waits until the server has read it. header is the whole block,
// from its first line to the empty one.
func (r *Raw) Publish(t testing.TB, subject, header, data string) {
	t.Helper()
	r.send(t, fmt.Sprintf("HPUB %s %d %d\r\n%s%s\r\n", subject, len(header), len(header)+len(data), header, data))
}

// send sends text and waits for the answer to a ping behind it.
func (r *Raw) send(t testing.TB, text string) {
	t.Helper()
	if _, err := r.conn.Write([]byte(text + "PING\r\n")); err != nil {
		t.Fatal(err)
	}
	for line := range r.lines {
		switch {
		case strings.HasPrefix(line, "PONG"):
			return
		case strings.HasPrefix(line, "-ERR"):
			t.Fatalf("the server says %s", line)
		}
	}
	t.Fatal("the server has closed the connection")
}

// Header is a block of header lines.
func Header(lines ...string) string {
	return "NATS/1.0\r\n" + strings.Join(append(lines, "", ""), "\r\n")
}

// Poison is a message whose headers a library takes for a word of the server, or cannot read.
type Poison struct {
	Name, Header, Data string
}

// Poisons lists messages that anybody who may publish can send.
func Poisons() []Poison {
	var list []Poison
	add := func(name, header, data string) { list = append(list, Poison{name, header, data}) }
	for _, status := range []string{"100", "200", "400", "404", "408", "409", "423", "503", "x"} {
		add("status "+status, Header("Status: "+status), "")
		add("status "+status+" with a body", Header("Status: "+status), "body")
		add("status line "+status, "NATS/1.0 "+status+" No Such Thing\r\n\r\n", "")
	}
	for _, text := range []string{"Batch Completed", "Consumer Deleted", "Leadership Change", "Server Shutdown", "Message Size Exceeds MaxBytes", "Idle Heartbeat", "FlowControl Request"} {
		add("409 "+text, Header("Status: 409", "Description: "+text, "Nats-Pending-Messages: 5", "Nats-Pending-Bytes: 5"), "")
		add("100 "+text, Header("Status: 100", "Description: "+text, "Nats-Consumer-Stalled: _INBOX.x"), "")
	}
	add("status and an event's id", Header("Status: 404", "ce-id: q", "ce-specversion: 1.0"), "")
	add("status twice", Header("Status: 404", "Status: 408", "status: 503"), "")
	add("no colon", Header("no colon"), "")
	add("no end", "NATS/1.0\r\nStatus: 404", "")
	add("a short status line", "NATS/1.0 4\r\n\r\n", "")
	add("no header line", "Status: 404\r\n\r\n", "x")
	add("a name with a blank", Header("A b: 1", "Status: 404"), "")
	add("a name of an attribute with a blank", Header("ce-i d: 1", "ce-id: 2"), "")
	add("a name that is no ASCII", Header("Stätus: 404", "\xff\xfe: 1"), "")
	add("no name", Header(": 1", "Status: 404"), "")
	add("values that are no text", Header("Status: \xff\x00\x1b[31m", "X: a\rb", "ce-id: \xff"), "")
	add("a message id", Header("Nats-Msg-Id: 1"), "")
	add("an expected stream", Header("Nats-Expected-Stream: MEMORY", "Status: 404"), "")
	add("a place in another stream", Header("Nats-Stream: MEMORY", "Nats-Sequence: 7", "Nats-Subject: mem.v1.acme.evt.x", "Nats-Time-Stamp: 2026-01-01T00:00:00Z"), "")
	add("what a consumer says", Header("Nats-Msg-Size: 9999999", "Nats-Pin-Id: x", "Nats-Last-Sequence: 1"), "")
	add("an error of a service", Header("Nats-Service-Error: no", "Nats-Service-Error-Code: 500"), "")
	add("a dead letter", Header("Satchel-Dlq-Subject: mem.v1.other.evt.x", "Satchel-Dlq-Sequence: 1", "Satchel-Dlq-Epoch: e", "Satchel-Dlq-Head: 2", "Satchel-Dlq-Cut: 9", "Satchel-Dlq-Header-Status: 404"), "body")
	add("a ledger message", Header("Satchel-Position: 1", "Satchel-Request: %zz"), "")
	add("a marker", Header("Nats-Marker-Reason: MaxAge", "KV-Operation: PURGE"), "")
	add("a long header", Header("Status: 404", "X: "+strings.Repeat("x", 60_000)), "body")
	add("many headers", Header(append(strings.Split(strings.Repeat("a%: %,", 8000), ","), "Status: 404")...), "body")
	add("a full header", Header("Status: "+strings.Repeat("4", 65_500)), "body")
	return list
}
