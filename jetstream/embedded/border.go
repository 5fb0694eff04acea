package embedded

import (
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
)

// The streams that clients may read through the border: the ledger, and replies that are
// too large to send, each by who knows its name.
const (
	ledgerStream  = "LEDGER"
	repliesBucket = "SATCHEL_REPLIES"
	repliesStream = "OBJ_" + repliesBucket
)

// Subjects of Satchel's account on which the border hands over: what clients ask of
// JetStream, for the door to look at, and what their push consumers send them.
const (
	doorPrefix = private + ".door."
	pushPrefix = private + ".push."
	inboxes    = "_INBOX."
)

// way is a subject that clients may send to in Satchel's account.
type way struct {
	subject string
	door    bool // through the door, else as it is
	many    bool // several messages may answer
}

// asked are the ways of clients, whichever subjects Satchel answers beside.
func asked() []way {
	return []way{
		{subject: "mem.v1.>"}, {subject: "ctx.v1.*.*"}, {subject: "log.v1.>"}, {subject: "art.v1.>"},
		{subject: "$SRV.>", many: true},
		{subject: "$JS.API.CONSUMER.MSG.NEXT." + ledgerStream + ".>", many: true},
		{subject: "$JS.ACK." + ledgerStream + ".>", many: true},
		{subject: "$JS.FC." + ledgerStream + ".>"},
		{subject: "$JS.FC." + repliesStream + ".>"},
		{subject: "$JS.API.INFO", door: true},
		{subject: "$JS.API.STREAM.NAMES", door: true},
		{subject: "$JS.API.STREAM.INFO.>", door: true},
		{subject: "$JS.API.STREAM.MSG.GET.>", door: true},
		{subject: "$JS.API.DIRECT.GET.>", door: true},
		{subject: "$JS.API.CONSUMER.CREATE.>", door: true},
		{subject: "$JS.API.CONSUMER.DURABLE.CREATE.>", door: true},
		{subject: "$JS.API.CONSUMER.INFO.>", door: true},
		{subject: "$JS.API.CONSUMER.DELETE.>", door: true},
	}
}

// accounts returns Satchel's account, which has JetStream and keeps the name under which
// its streams are on the disk, and the account of clients, which has none. What crosses
// the border between them is a service or a stream of the lists here; the server gives every
// request that crosses a reply subject of its own, so that what a client names is a subject
// of the clients' account whoever answers. own are subjects that Satchel answers beside
// those of asked, others those that clients answer when Satchel asks.
func accounts(own, others []string) (satchel, clients *server.Account, err error) {
	var o server.Options // only a configuration can give an account JetStream before the server runs
	if err := o.ProcessConfigString("accounts: {SATCHEL: {jetstream: enabled}}"); err != nil {
		return nil, nil, fmt.Errorf("make accounts: %w", err)
	}
	satchel, clients = o.Accounts[0], server.NewAccount("CLIENTS")
	satchel.Name = server.DEFAULT_GLOBAL_ACCOUNT
	b := border{}
	for _, s := range asked() {
		to := s.subject
		if s.door {
			to = doorPrefix + s.subject
		}
		b.service(clients, satchel, s.subject, to, s.many)
	}
	for _, s := range own {
		b.service(clients, satchel, s, s, false)
	}
	for _, s := range append([]string{inboxes + ">"}, others...) {
		b.service(satchel, clients, s, s, false)
	}
	b.stream(clients, satchel, "prov.v1.>", "prov.v1.>")
	b.stream(clients, satchel, pushPrefix+inboxes+">", inboxes+">")
	return satchel, clients, b.err
}

// border opens ways from one account into another, until the first error.
type border struct{ err error }

// service lets who is in account from ask what answers on subject to of account in, under
// the name subject.
func (b *border) service(from, in *server.Account, subject, to string, many bool) {
	kind := server.Singleton
	if many {
		kind = server.Streamed
	}
	if b.err == nil {
		b.err = in.AddServiceExportWithResponse(to, kind, []*server.Account{from})
	}
	if b.err == nil {
		b.err = from.AddServiceImport(in, subject, to)
	}
	if b.err != nil {
		b.err = fmt.Errorf("open the border for %q: %w", subject, b.err)
	}
}

// stream lets who is in account to hear subject of account of, under the name as.
func (b *border) stream(to, of *server.Account, subject, as string) {
	if b.err == nil {
		b.err = of.AddStreamExport(subject, []*server.Account{to})
	}
	if b.err == nil {
		b.err = to.AddMappedStreamImport(of, subject, as)
	}
	if b.err != nil {
		b.err = fmt.Errorf("open the border for %q: %w", subject, b.err)
	}
}
