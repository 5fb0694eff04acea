package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"satchel/schemas"
)

// TestSilentOffersBlockNobody: who offers contents and sends nothing, or breaks off in the
// middle, has used up its own share and nobody else's.
func TestSilentOffersBlockNobody(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	nc := n.connect(t)
	offer := func(tenant string) (asked *nats.Subscription, answer *nats.Subscription) {
		t.Helper()
		inbox, reply := nc.NewInbox(), nc.NewInbox()
		asked, err := nc.SubscribeSync(inbox)
		if err == nil {
			answer, err = nc.SubscribeSync(reply)
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(schemas.StoreRequest{From: &schemas.Agent{ID: "mute"}, Offer: inbox, MediaType: "text/plain"})
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.PublishRequest("art.v1."+tenant+".store", reply, body); err != nil {
			t.Fatal(err)
		}
		return asked, answer
	}
	next := func(sub *nats.Subscription) *nats.Msg {
		t.Helper()
		m, err := sub.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for i := range 8 {
		asked, _ := offer("main")
		m := next(asked)
		if i >= 2 {
			continue // says nothing
		}
		part := &nats.Msg{Header: nats.Header{"Satchel-Offset": {"0"}}, Data: []byte(fmt.Sprintf("the beginning of content %d", i))}
		if err := m.RespondMsg(part); err != nil {
			t.Fatal(err)
		}
		next(asked) // it is being written, and nothing more comes
	}
	_, refused := offer("main")
	if m := next(refused); !strings.Contains(string(m.Data), string(schemas.CodeOverloaded)) {
		t.Errorf("a ninth offer is answered with %s", m.Data)
	}
	file := filepath.Join(folder(t, map[string]string{"tool.log": strings.Repeat(toolLog, 100)}), "tool.log")
	contains(t, "another principal", n.must(t, "artifact", "put", file, "--id", "log1"), "stored   ")
	contains(t, "another tenant", n.must(t, "artifact", "put", file, "--id", "log1", "--tenant", "other"), "stored   ")
}
