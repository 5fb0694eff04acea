package natsclient

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"satchel/schemas"
)

// Respond answers the requests on a subject as Satchel's services do: with what reply makes of a body as JSON, or with its
// error.
func Respond(t *testing.T, nc *nats.Conn, subject string, reply func(body []byte) (any, *schemas.Error)) {
	t.Helper()
	_, err := nc.Subscribe(subject, func(m *nats.Msg) {
		body, refused := reply(m.Data)
		out := nats.NewMsg(m.Reply)
		if refused != nil {
			body = refused
			out.Header.Set(micro.ErrorHeader, refused.Error())
			out.Header.Set(micro.ErrorCodeHeader, strconv.Itoa(refused.Code.HTTPStatus()))
		}
		raw, err := json.Marshal(body)
		if out.Data = raw; err == nil {
			err = m.RespondMsg(out)
		}
		if err != nil && !errors.Is(err, nats.ErrConnectionClosed) { // the test has what it asked for
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
