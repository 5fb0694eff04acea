package natstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"satchel/test/must"
	"satchel/test/testenv"
)

// User is who may connect to a secure NATS, and what the client needs of files.
type User struct {
	CA, Cert, Key string // of TLS, which the servers ask of both sides
	Creds         string // of a user whose account an operator has signed; "" with NKeys
	NKey          string // seed of a user whom the servers know by its key; "" with Creds
}

// secure writes what User needs, and returns the servers' part of it.
func (c *Cluster) secure(t testing.TB) string {
	t.Helper()
	ca := testenv.NewAuthority(t)
	c.User.CA = ca.File
	c.User.Cert, c.User.Key = ca.Issue(t, "client")
	cert, key := ca.Issue(t, "server")
	tls := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\n", cert, key, ca.File)
	if c.cfg.NKeys {
		return tls + c.nkey(t)
	}
	return tls + c.operator(t)
}

// nkey makes a user of the global account.
func (c *Cluster) nkey(t testing.TB) string {
	t.Helper()
	pair, public := newKey(t, nkeys.CreateUser)
	c.User.NKey = c.keep(t, "user.nk", seed(t, pair))
	return fmt.Sprintf("authorization { users: [ { nkey: %s } ] }\n", public)
}

// operator makes an operator with a system account and an account with JetStream, and a
// user of the latter.
func (c *Cluster) operator(t testing.TB) string {
	t.Helper()
	signer, _ := newKey(t, nkeys.CreateOperator)
	_, system := newKey(t, nkeys.CreateAccount)
	account, app := newKey(t, nkeys.CreateAccount)
	pair, public := newKey(t, nkeys.CreateUser)
	operator := jwt.NewOperatorClaims(publicOf(t, signer))
	operator.SystemAccount = system
	claims := jwt.NewAccountClaims(app)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	user := must.Get(jwt.FormatUserConfig(signed(t, jwt.NewUserClaims(public), account), seed(t, pair)))(t)
	c.User.Creds = c.keep(t, "user.creds", user)
	return strings.Join([]string{
		"operator: " + signed(t, operator, signer), "system_account: " + system, "resolver: MEMORY", "resolver_preload {",
		system + ": " + signed(t, jwt.NewAccountClaims(system), signer), app + ": " + signed(t, claims, signer), "}\n",
	}, "\n")
}

// keep writes a secret of a client beside the servers' files.
func (c *Cluster) keep(t testing.TB, name string, secret []byte) string {
	t.Helper()
	path := filepath.Join(c.dir, name)
	must.Do(t, os.WriteFile(path, secret, 0o600))
	return path
}

func newKey(t testing.TB, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
	t.Helper()
	pair := must.Get(create())(t)
	return pair, publicOf(t, pair)
}

func publicOf(t testing.TB, pair nkeys.KeyPair) string {
	t.Helper()
	return must.Get(pair.PublicKey())(t)
}

func seed(t testing.TB, pair nkeys.KeyPair) []byte {
	t.Helper()
	return must.Get(pair.Seed())(t)
}

func signed(t testing.TB, claims jwt.Claims, by nkeys.KeyPair) string {
	t.Helper()
	return must.Get(claims.Encode(by))(t)
}
