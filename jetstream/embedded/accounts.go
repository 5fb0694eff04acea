package embedded

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"satchel/jetstream"
)

// The streams that clients may read: the ledger, and replies that are too large to send. A
// client reads such a reply when it knows the reply's name.
const (
	ledgerStream  = "LEDGER"
	repliesBucket = "SATCHEL_REPLIES"
	repliesStream = "OBJ_" + repliesBucket
	replyNames    = "$O." + repliesBucket + ".M." // the name of a reply follows, encoded
	replyContents = "$O." + repliesBucket + ".C." // the name of a content follows
)

// Subjects of Satchel's account that carry messages from and to clients. The name of the
// client's account follows each prefix.
const (
	apiPrefix  = jetstream.InternalPrefix + "api."  // requests to JetStream, for the proxy to check
	pullPrefix = jetstream.InternalPrefix + "pull." // pulls and acknowledgements, which keep their reply subject
	pushPrefix = jetstream.InternalPrefix + "push." // messages of consumers to the client
)

// inboxes begin the subjects on which a client gets replies.
const inboxes = "_INBOX"

// anyone is the account of clients without a key.
const anyone = "CLIENTS"

// strangers is how many principals all clients without a key count as.
const strangers = 8

// Principal is a client that the server knows by its key. It has an account of its own.
type Principal struct {
	Key     string   // public nkey of a user
	Members []Member // at least one
}

// makeAccountName is the name of a principal's account. It stays when the key changes, and so do the
// principal's consumers.
func (p Principal) makeAccountName() string { return p.Members[0].Tenant + ":" + p.Members[0].ID }

// Member describes a principal in one tenant.
type Member struct {
	Tenant string
	ID     string   // its agent token, and the id that requests carry
	Ledger []string // subjects of LEDGER that it may read
	Roles  []string // of Config.Others, those that it may play
}

// ownInboxes are the subjects that a principal may take its inboxes from, beside those that
// every client has.
func (p Principal) ownInboxes() []string {
	var list []string
	for _, m := range p.Members {
		if inbox := inboxes + "_" + m.ID + ".>"; !slices.Contains(list, inbox) {
			list = append(list, inbox)
		}
	}
	return list
}

// ledgerSubjects returns the subjects of LEDGER that the clients of each account may read.
func (c Config) ledgerSubjects() map[string][]string {
	if c.Principals == nil {
		return map[string][]string{anyone: {"prov.v1.>"}}
	}
	all := make(map[string][]string, len(c.Principals))
	for _, p := range c.Principals {
		for _, m := range p.Members {
			all[p.makeAccountName()] = append(all[p.makeAccountName()], m.Ledger...)
		}
	}
	return all
}

// apiSubjects are requests to JetStream that the proxy answers.
func apiSubjects() []string {
	var list []string
	for _, verb := range []string{"INFO", "STREAM.NAMES", "STREAM.LIST", "STREAM.INFO.>", "STREAM.MSG.GET.>", "DIRECT.GET.>",
		"CONSUMER.CREATE.>", "CONSUMER.DURABLE.CREATE.>", "CONSUMER.INFO.>", "CONSUMER.DELETE.>", "CONSUMER.NAMES.>", "CONSUMER.LIST.>"} {
		list = append(list, "$JS.API."+verb)
	}
	return list
}

// pullSubjects are messages to consumers of the ledger.
func pullSubjects() []string {
	return []string{"$JS.API.CONSUMER.MSG.NEXT." + ledgerStream + ".>", "$JS.ACK." + ledgerStream + ".>"}
}

// accountLinks makes the accounts and links them. Satchel's account has JetStream and keeps
// the name under which its streams are on the disk; the others have none. Nothing but these
// links crosses. The server gives every request that crosses a reply subject of its
// own, so a client cannot name a subject of Satchel's account as its reply.
type accountLinks struct {
	cfg     Config
	satchel *server.Account
	clients map[string]*server.Account // by name
	ledger  map[string][]string        // subjects of LEDGER that clients may read, by the account's name
	err     error                      // the first
}

// linkAccounts makes the accounts that cfg describes.
func linkAccounts(cfg Config) (*accountLinks, error) {
	var o server.Options // only a configuration can give an account JetStream before the server runs
	if err := o.ProcessConfigString("accounts: {SATCHEL: {jetstream: enabled}}"); err != nil {
		return nil, fmt.Errorf("make accounts: %w", err)
	}
	l := &accountLinks{cfg: cfg, satchel: o.Accounts[0], clients: map[string]*server.Account{}, ledger: cfg.ledgerSubjects()}
	l.satchel.Name = server.DEFAULT_GLOBAL_ACCOUNT
	l.exportSubjects(cfg.Own)
	if cfg.Principals == nil {
		l.admitAnyone(cfg)
	}
	for _, p := range cfg.Principals {
		l.admitPrincipal(p, cfg.Own)
	}
	// The server looks for circles in the imports of an account: those of Satchel's come last.
	for _, p := range cfg.Principals {
		l.reachPrincipal(p)
	}
	return l, l.err
}

// exportSubjects opens Satchel's account for imports. Only this package imports.
func (l *accountLinks) exportSubjects(own []string) {
	single := append([]string{"mem.v1.>", "ctx.v1.*.*", "log.v1.>", "art.v1.>", "$JS.FC." + ledgerStream + ".>", "$JS.FC." + repliesStream + ".>",
		apiPrefix + ">", jetstream.IdentifiedPrefix + ">"}, own...)
	for _, subject := range single {
		l.keepFirstError(subject, l.satchel.AddServiceExport(subject, nil))
	}
	l.keepFirstError("$SRV.>", l.satchel.AddServiceExportWithResponse("$SRV.>", server.Streamed, nil))
	l.keepFirstError("prov.v1.>", l.satchel.AddStreamExport("prov.v1.>", nil))
	l.keepFirstError(pushPrefix, l.satchel.AddStreamExport(pushPrefix+">", nil))
}

// admitAnyone makes one account for all clients.
func (l *accountLinks) admitAnyone(cfg Config) {
	account := l.admitAccount(anyone, cfg.Connections*strangers)
	for _, subject := range append([]string{"mem.v1.>", "ctx.v1.*.*", "log.v1.>", "art.v1.>"}, cfg.Own...) {
		l.allowRequests(account, subject, subject)
	}
	l.reachAccount(anyone)
	for _, subject := range append([]string{inboxes + ".>"}, cfg.Others...) {
		l.allowAsking(account, subject, subject)
	}
}

// admitPrincipal makes a principal's account. Memories cross under its own tenants and agent token
// alone; requests cross with the principal's id in front.
func (l *accountLinks) admitPrincipal(p Principal, own []string) {
	account := l.admitAccount(p.makeAccountName(), l.cfg.Connections)
	for _, inbox := range p.ownInboxes() {
		l.allowHearing(account, inbox)
	}
	for _, m := range p.Members {
		l.allowRequests(account, "mem.v1."+m.Tenant+".evt."+m.ID, "mem.v1."+m.Tenant+".evt."+m.ID)
		subjects := []string{"mem.v1." + m.Tenant + ".put", "mem.v1." + m.Tenant + ".plan", "ctx.v1." + m.Tenant + ".*", "log.v1." + m.Tenant + ".>", "art.v1." + m.Tenant + ".>"}
		for _, subject := range own {
			subjects = append(subjects, strings.Replace(subject, "*", m.Tenant, 1))
		}
		for _, subject := range subjects {
			l.allowRequests(account, subject, jetstream.IdentifiedPrefix+m.ID+"."+subject)
		}
	}
}

// reachPrincipal lets Satchel ask a principal for contents that it offers, and for the roles that it
// plays.
func (l *accountLinks) reachPrincipal(p Principal) {
	account := l.reachAccount(p.makeAccountName())
	for _, m := range p.Members {
		for _, inbox := range append(p.ownInboxes(), inboxes+".>") {
			l.allowAsking(account, jetstream.OfferPrefix+m.Tenant+"."+m.ID+"."+inbox, inbox)
		}
		for _, role := range m.Roles {
			l.allowAsking(account, role, role)
		}
	}
}

// admitAccount makes an account with the rights of every client: it finds the services, hears
// its part of the ledger, and uses JetStream through the proxy. It has so many connections.
func (l *accountLinks) admitAccount(name string, connections int) *server.Account {
	account, err := limitedAccount(name, connections, l.cfg.Subscriptions)
	l.keepFirstError(name, err)
	l.clients[name] = account
	for _, subject := range []string{"$SRV.>", "$JS.FC." + ledgerStream + ".>", "$JS.FC." + repliesStream + ".>"} {
		l.allowRequests(account, subject, subject)
	}
	for _, subject := range apiSubjects() {
		l.allowRequests(account, subject, apiPrefix+name+"."+subject)
	}
	for _, subject := range l.ledger[name] {
		l.keepFirstError(subject, account.AddStreamImport(l.satchel, subject, ""))
	}
	l.allowHearing(account, inboxes+".>")
	return account
}

// limitedAccount makes an account with so many connections, each of so many subscriptions. Only a
// configuration can say so without a signed claim.
func limitedAccount(name string, connections, subscriptions int) (*server.Account, error) {
	var o server.Options
	text := fmt.Sprintf("accounts: {A: {limits: {max_connections: %d, max_subscriptions: %d}}}", connections, subscriptions)
	if err := o.ProcessConfigString(text); err != nil {
		return server.NewAccount(name), err
	}
	o.Accounts[0].Name = name
	return o.Accounts[0], nil
}

// reachAccount brings the pulls and acknowledgements of an account's clients to the proxy.
func (l *accountLinks) reachAccount(name string) *server.Account {
	account := l.clients[name]
	for _, subject := range pullSubjects() {
		l.keepFirstError(subject, account.AddStreamExport(subject, nil))
		l.keepFirstError(subject, l.satchel.AddMappedStreamImport(account, subject, pullPrefix+name+"."+subject))
	}
	return account
}

// allowHearing lets clients of account hear subject as Satchel's account sends to it.
func (l *accountLinks) allowHearing(account *server.Account, subject string) {
	l.keepFirstError(subject, account.AddMappedStreamImport(l.satchel, pushPrefix+account.Name+"."+subject, subject))
}

// allowRequests lets clients of account send requests on subject, which Satchel answers on to.
func (l *accountLinks) allowRequests(account *server.Account, subject, to string) {
	l.keepFirstError(subject, account.AddServiceImport(l.satchel, subject, to))
}

// allowAsking lets Satchel send requests on subject, which clients of account answer on to.
func (l *accountLinks) allowAsking(account *server.Account, subject, to string) {
	l.keepFirstError(to, account.AddServiceExport(to, nil))
	l.keepFirstError(subject, l.satchel.AddServiceImport(account, subject, to))
}

// keepFirstError keeps the first error.
func (l *accountLinks) keepFirstError(subject string, err error) {
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("link accounts for %q: %w", subject, err)
	}
}

// AtLimit lists the accounts of clients that have as many connections as they may, and those with
// a connection that has as many subscriptions as it may: tenant:id of a principal, or CLIENTS.
func (s *Server) AtLimit() (connections, subscriptions []string) {
	running := s.findCurrentServer()
	names := []string{anyone}
	if s.cfg.Principals != nil {
		names = nil
	}
	for _, p := range s.cfg.Principals {
		names = append(names, p.makeAccountName())
	}
	for _, name := range names {
		account, err := running.LookupAccount(name)
		if err == nil && account.NumLocalConnections() >= account.MaxActiveConnections() {
			connections = append(connections, name)
		}
	}
	const most = 64
	open, err := running.Connz(&server.ConnzOptions{Sort: server.BySubs, Username: true, Limit: most})
	if err != nil {
		return connections, nil
	}
	for _, c := range open.Conns {
		if int(c.NumSubs) >= s.cfg.Subscriptions && slices.Contains(names, c.Account) && !slices.Contains(subscriptions, c.Account) {
			subscriptions = append(subscriptions, c.Account)
		}
	}
	return connections, subscriptions
}

// listAccounts lists all of them.
func (l *accountLinks) listAccounts() []*server.Account {
	list := []*server.Account{l.satchel}
	return slices.AppendSeq(list, maps.Values(l.clients))
}
