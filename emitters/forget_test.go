package emitters_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"satchel/emitters"
	"satchel/jetstream"
	"satchel/jetstream/embedded"
	"satchel/schemas"
	"satchel/test/testenv/natsclient"
)

// TestForgetEndsInAState: an erasure that is not finished in time is a state with the id to wait with and what is
// missing, whether the log has it, finishing it fails, or nobody answers.
func TestForgetEndsInAState(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(embedded.Config{Dir: t.TempDir(), NoListen: true})
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	nc, err := jetstream.Connect(t.Context(), jetstream.ConnectConfig{InProcess: server.InProcess()}, nil)
	must(t, err)
	t.Cleanup(nc.Close)
	answer := func(subject string, reply any, refused *schemas.Error) {
		natsclient.Respond(t, nc, subject, func([]byte) (any, *schemas.Error) { return reply, refused })
	}
	accepted := schemas.Receipt{Level: schemas.ReceiptAccepted, Warnings: []string{"partition 3 stands still"}}
	answer("mem.v1.stands.put", accepted, nil)
	expire := make(chan func(), 1)
	natsclient.Respond(t, nc, "log.v1.stands.receipt", func([]byte) (any, *schemas.Error) {
		(<-expire)()
		return nil, &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: "not in time"}
	})
	answer("mem.v1.fails.put", accepted, nil)
	answer("log.v1.unknown.receipt", nil, &schemas.Error{Code: schemas.CodeNotFound, Message: "there is none"})
	answer("log.v1.fails.receipt", nil, &schemas.Error{Code: schemas.CodeUnderWay, Erasure: "e1", Missing: []string{"the disk"}})
	_, err = nc.Subscribe("mem.v1.silent.put", func(*nats.Msg) { (<-expire)() })
	must(t, err)
	for tenant, missing := range map[string]string{"stands": "partition 3 stands still", "fails": "the disk", "silent": "the answer of the log"} {
		e, err := emitters.New(nc, emitters.Config{Tenant: tenant, Agent: "bot", NewID: func() string { return "e1" }})
		must(t, err)
		ctx := expiring{t.Context(), make(chan struct{})}
		if tenant != "fails" {
			expire <- func() { close(ctx.done) }
		}
		_, err = e.Forget(ctx, []string{"a"}, "why")
		var state *schemas.Error
		if !errors.As(err, &state) || state.Code != schemas.CodeUnderWay || state.Erasure != "e1" || !slices.Equal(state.Missing, []string{missing}) || state.Code.HTTPStatus() != 202 {
			t.Errorf("%s: %+v", tenant, err)
		}
		if tenant == "silent" {
			continue
		}
		ctx = expiring{t.Context(), make(chan struct{})}
		if tenant == "stands" {
			expire <- func() { close(ctx.done) }
		}
		_, err = e.Erasure(ctx, "e1")
		if !errors.As(err, &state) || state.Code != schemas.CodeUnderWay || state.Erasure != "e1" {
			t.Errorf("%s, waiting again: %+v", tenant, err)
		}
	}
	e, err := emitters.New(nc, emitters.Config{Tenant: "unknown", Agent: "bot"})
	must(t, err)
	var refused *schemas.Error
	if _, err = e.Erasure(t.Context(), "e1"); !errors.As(err, &refused) || refused.Code != schemas.CodeNotFound {
		t.Errorf("an erasure that there is not: %+v", err)
	}
}

// expiring is a context whose deadline passes when done is closed.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.done }

func (e expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return e.Context.Err()
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
