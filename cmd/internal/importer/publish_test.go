package importer

import (
	"encoding/json"
	"testing"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/schemas"
	"satchel/test/testenv/natsclient"
)

// TestWhatIsNotFoundAtOnceIsAskedForAgain: an event that the log has, and of which it does not say so in time, is
// known and not new.
func TestWhatIsNotFoundAtOnceIsAskedForAgain(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(embedded.Config{Dir: t.TempDir(), NoListen: true})
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	nc, err := jetstream.Connect(t.Context(), jetstream.ConnectConfig{InProcess: server.InProcess()}, nil)
	must(t, err)
	t.Cleanup(nc.Close)
	late := &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "not in time"}
	natsclient.Respond(t, nc, "log.v1.main.receipt", func(body []byte) (any, *schemas.Error) {
		var req schemas.ReceiptRequest
		if err := json.Unmarshal(body, &req); err != nil || req.ID != "e3" {
			return nil, late
		}
		return schemas.Receipt{Level: schemas.ReceiptLogged, Position: 3}, nil
	})
	puts := 0
	natsclient.Respond(t, nc, "mem.v1.main.put", func([]byte) (any, *schemas.Error) {
		if puts++; puts == 1 {
			return nil, &schemas.Error{Code: schemas.CodeStorage, Message: "the log is busy"}
		}
		return schemas.Receipt{Level: schemas.ReceiptLogged, Position: 2, Duplicate: true}, nil
	})
	e, err := emitters.New(nc, emitters.Config{Tenant: "main", Agent: "import", Labels: []string{"level:internal"}})
	must(t, err)
	p := &publisher{a: &app.App{Settings: &config.Settings{Tenant: "main"}}, conn: &command.Client{NC: nc, Tenant: "main"}, emitter: e, head: schemas.HeadReply{Size: 5}}
	var items []schemas.MemoryItem
	var receipts []schemas.Receipt
	for _, id := range []string{"e1", "e2", "e3"} {
		items = append(items, schemas.MemoryItem{ID: id, Content: schemas.TextContent("x"), CreatedAt: time.Unix(1, 0)})
		receipts = append(receipts, schemas.Receipt{Source: "s", ID: id})
	}
	err = p.settle(t.Context(), items, receipts, []string{"1", "2", "3"})
	if err != nil || p.Known != 3 || p.Refused != 0 {
		t.Errorf("%d of 3 known, %d refused, %v", p.Known, p.Refused, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
