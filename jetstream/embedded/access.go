package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// keyFile holds the operator's nkey seed, for the folder's owner alone.
const keyFile = "operator.nk"

// private begins the inboxes of the operator's connections: what is answered to Satchel
// itself is heard by nobody else.
const private = "_SATCHEL"

// access says who may do what: the operator everything. The client, as which connects
// who shows no key, may publish memories and requests and follow the ledger; not write
// what Satchel alone says, nor change streams, nor read or consume MEMORY, dead letters,
// artifacts and revocations, nor hear what the server tells of requests of others, nor answer in
// Satchel's place, but for the subjects that are not in own. To what it was asked it may
// answer.
//
// A push consumer sends with the server's rights, into subjects that somebody hears by their
// names. Of the ledger a client may have one: the server lets none send into the stream it
// reads, and of the other streams' subjects clients hear the dead letters alone, which they
// cannot consume. So copies of the ledger can come there, as foreign messages, and no circle.
func access(operator, client string, own []string) []*server.NkeyUser {
	publish := []string{
		"prov.v1.>", "dlq.v1.>", "p.>", private + ".>", "$O.>", "$KV.>",
		"$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.PURGE.>",
		"$JS.API.STREAM.RESTORE.>", "$JS.API.STREAM.SNAPSHOT.>", "$JS.API.STREAM.MSG.DELETE.>", "$JS.API.STREAM.PEER.>",
		"$JS.API.STREAM.LEADER.>", "$JS.API.CONSUMER.LEADER.>", "$JS.ACK.MEMORY.>", "$JS.FC.>", "$JSC.>",
	}
	for _, stream := range []string{"MEMORY", "DLQ", "OBJ_SATCHEL_ARTIFACTS", "KV_SATCHEL_REVOKED"} {
		publish = append(publish, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.DIRECT.GET."+stream, "$JS.API.DIRECT.GET."+stream+".>",
			"$JS.API.CONSUMER.*."+stream, "$JS.API.CONSUMER.*."+stream+".>", "$JS.API.CONSUMER.DURABLE.CREATE."+stream+".>",
			"$JS.API.CONSUMER.MSG.NEXT."+stream+".>")
	}
	subscribe := append([]string{
		"mem.v1.>", "p.>", "ctx.v1.*.*", "log.v1.>", "art.v1.>", private + ".>", "$JS.API.>", "$JS.ACK.>", "$JS.EVENT.>", "$O.>", "$KV.>",
	}, own...)
	return []*server.NkeyUser{{Nkey: operator}, {Nkey: client, Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{">"}, Deny: publish}, Subscribe: &server.SubjectPermission{Deny: subscribe},
		Response: &server.ResponsePermission{MaxMsgs: 8, Expires: time.Minute}, // each of its subscriptions counts
	}}}
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

// clientKey returns a new public key.
func clientKey() (string, error) {
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
