package embedded

import (
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

// artifacts is the stream of the object store of artifacts: its contents are for those
// whom policy lets open them.
const artifacts = "OBJ_SATCHEL_ARTIFACTS"

// access says who may do what: the operator everything; the client, as which
// connects who shows no key, not write what Satchel alone says, nor change streams and
// what consumes MEMORY, nor read artifacts.
func access(operator, client string) []*server.NkeyUser {
	deny := &server.SubjectPermission{Deny: []string{
		"prov.v1.>", "dlq.v1.>", "p.>", "$O.>", "$KV.>",
		"$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.PURGE.>",
		"$JS.API.STREAM.RESTORE.>", "$JS.API.STREAM.MSG.DELETE.>", "$JS.API.STREAM.PEER.>", "$JS.API.STREAM.LEADER.>",
		"$JS.API.CONSUMER.*.MEMORY.>", "$JS.API.CONSUMER.DURABLE.CREATE.MEMORY.>", "$JS.API.CONSUMER.MSG.NEXT.MEMORY.>",
		"$JS.API.CONSUMER.LEADER.>", "$JS.ACK.MEMORY.>", "$JS.FC.>", "$JSC.>",
		"$JS.API.CONSUMER.*." + artifacts + ".>", "$JS.API.CONSUMER.*." + artifacts, "$JS.API.CONSUMER.DURABLE.CREATE." + artifacts + ".>",
		"$JS.API.CONSUMER.MSG.NEXT." + artifacts + ".>", "$JS.API.STREAM.MSG.GET." + artifacts, "$JS.API.DIRECT.GET." + artifacts,
		"$JS.API.DIRECT.GET." + artifacts + ".>", "$JS.API.STREAM.SNAPSHOT.>",
	}}
	unheard := &server.SubjectPermission{Deny: []string{"$O.SATCHEL_ARTIFACTS.>"}}
	return []*server.NkeyUser{{Nkey: operator}, {Nkey: client, Permissions: &server.Permissions{Publish: deny, Subscribe: unheard}}}
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
	option, err := nats.NkeyOptionFromSeed(path)
	if err != nil {
		return nil, fmt.Errorf("read operator key: %w", err)
	}
	return option, nil
}
