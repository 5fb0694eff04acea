package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// keyFile holds the operator's nkey seed, for the folder's owner alone.
const keyFile = "operator.nk"

// private begins the inboxes of the operator's connections: nobody else hears the replies to
// Satchel itself.
const private = "_SATCHEL"

// listUsers returns the users that may connect: the operator, who may do everything in Satchel's
// account, and each principal in an account of its own. Without principals there is one user
// of the clients' account, with the key stranger, for every connection without a key. Such a
// client may do among clients everything but speak or listen in Satchel's place.
func listUsers(operator, stranger string, links *accountLinks, cfg Config) []*server.NkeyUser {
	list := []*server.NkeyUser{{Nkey: operator, Account: links.satchel}}
	for _, p := range cfg.Principals {
		only := &server.SubjectPermission{Deny: []string{"$SYS.>"}}
		list = append(list, &server.NkeyUser{Nkey: p.Key, Account: links.clients[p.makeAccountName()], Permissions: &server.Permissions{Publish: only, Subscribe: only}})
	}
	if cfg.Principals != nil {
		return list
	}
	publish := []string{"prov.v1.>", "dlq.v1.>", private + ".>", "$SYS.>"}
	subscribe := append([]string{
		"mem.v1.>", "ctx.v1.*.*", "log.v1.>", "art.v1.>", "dlq.v1.>", private + ".>", "$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "$SYS.>", "_R_.>",
	}, cfg.Own...)
	return append(list, &server.NkeyUser{Nkey: stranger, Account: links.clients[anyone], Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Deny: publish}, Subscribe: &server.SubjectPermission{Deny: subscribe},
	}})
}

// operatorKey returns the operator's public key, which stays the same from run to run,
// making it when the folder has none.
func operatorKey(dir string) (string, error) {
	path := filepath.Join(dir, keyFile)
	seed, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		seed, err = newKey(path)
	}
	if err != nil {
		return "", fmt.Errorf("open operator key: %w", err)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return "", fmt.Errorf("read operator key %q: %w", path, err)
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

// strangerKey returns a new public key, for the clients that have none.
func strangerKey() (string, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", fmt.Errorf("make client key: %w", err)
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

func newKey(path string) ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	return seed, os.WriteFile(path, seed, 0o600)
}

// Operator returns the option with which another process of the same user connects as
// the operator of the server that runs in the folder, nil when none ever did.
func Operator(dir string) (nats.Option, error) {
	path := filepath.Join(dir, keyFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	key, err := nats.NkeyOptionFromSeed(path)
	if err != nil {
		return nil, fmt.Errorf("read operator key: %w", err)
	}
	inbox := nats.CustomInboxPrefix(private + "." + rand.Text())
	return func(o *nats.Options) error { return errors.Join(key(o), inbox(o)) }, nil
}
