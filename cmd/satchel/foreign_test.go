package main

import (
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"

	"satchel/jetstream"
	"satchel/jetstream/cloudevent"
)

// Who shares Satchel's account can make the server reply into LEDGER and DLQ, as on a NATS
// of one's own. Nothing stops; what is not Satchel's is named.
func TestForeignMessagesStopNothing(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "n1", "--text", "the kiln is fired on Mondays", "--speaker", "Ida")
	n.must(t, "ledger", "--verify")
	nc := n.operator(t)
	steer := func(stream, reply string) {
		t.Helper()
		if err := nc.PublishRequest("$JS.API.INFO", reply, nil); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; {
			m, err := nc.Request("$JS.API.STREAM.MSG.GET."+stream, []byte(`{"last_by_subj":"`+reply+`"}`), 5*time.Second)
			if err != nil || time.Now().After(end) {
				t.Fatal("what the server replied is not in ", stream, ": ", err)
			}
			if !strings.Contains(string(m.Data), `"error"`) {
				return
			}
		}
	}
	steer("LEDGER", "prov.v1.main.memory.evil")
	steer("DLQ", "dlq.v1.main.malformed")
	if r := n.run(t, "ledger", "--verify"); r.code != exitFound {
		t.Errorf("ledger --verify: exit code %d\n%s%s", r.code, r.out, r.err)
	} else {
		contains(t, "ledger --verify", r.out+r.err, "proved", "FOREIGN: message at sequence 2", "1 message was not published by Satchel")
	}
	contains(t, "dlq ls", n.must(t, "dlq", "ls"), "FOREIGN", "satchel dlq drop 1")
	contains(t, "dlq show", n.must(t, "dlq", "show", "1"), "FOREIGN")
	n.must(t, "emit", "--id", "n2", "--text", "the kiln is cold on Sundays", "--speaker", "Ida")
	contains(t, "ledger --verify", n.must(t, "ledger", "--verify"), "     1  ", "     2  ") // the relay removed it
	contains(t, "doctor", n.must(t, "doctor"), "ok   ready ", "ok   ledger ", "has the log up to its head, position 2")
	contains(t, "forget", n.must(t, "forget", "n1"), "nothing left")
}

// A message like Satchel's own at a position beyond the log stops the ledger, and doctor
// and verify say so.
func TestDoctorNamesAStoppedLedger(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "n1", "--text", "the kiln is fired on Mondays", "--speaker", "Ida")
	awaitLedger(t, n, 1)
	nc := n.operator(t)
	ev := event.New()
	ev.SetID("forged")
	ev.SetSource("urn:nobody")
	ev.SetType("io.satchel.memory.recorded.v1")
	header, data, err := cloudevent.Encode(ev, cloudevent.Binary)
	if err != nil {
		t.Fatal(err)
	}
	header[jetstream.HeaderPosition] = []string{"99"}
	if _, err := nc.RequestMsg(&nats.Msg{Subject: "prov.v1.main.memory.evil", Header: header, Data: data}, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if r := n.run(t, "doctor"); r.code != exitFound {
		t.Errorf("doctor: exit code %d\n%s%s", r.code, r.out, r.err)
	} else {
		contains(t, "doctor", r.out, "NO   ledger ", "the ledger of main ends at position 99, the log at 1")
	}
	if r := n.run(t, "ledger", "--verify"); r.code != exitFound {
		t.Errorf("ledger --verify: exit code %d\n%s%s", r.code, r.out, r.err)
	} else {
		contains(t, "ledger --verify", r.out, "NOT PROVED")
	}
}

// The ledger is a window: a tenant whose messages have made way for others is no fault.
func TestDoctorKnowsAQuietTenant(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "n1", "--text", "the kiln is fired on Mondays", "--speaker", "Ida")
	awaitLedger(t, n, 1)
	nc := n.operator(t)
	if m, err := nc.Request("$JS.API.STREAM.PURGE.LEDGER", nil, time.Minute); err != nil || !strings.Contains(string(m.Data), `"success":true`) {
		t.Fatal(err)
	}
	contains(t, "doctor", n.must(t, "doctor"), "ok   ledger ", "has nothing of main any more")
	n.must(t, "emit", "--id", "n2", "--text", "the kiln is cold on Sundays", "--speaker", "Ida")
	awaitLedger(t, n, 2)
	contains(t, "doctor", n.must(t, "doctor"), "ok   ledger ", "has the log up to its head, position 2")
}
