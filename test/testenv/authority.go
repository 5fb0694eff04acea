package testenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"satchel/test/must"
)

// Authority signs the certificates of one test's servers and clients.
type Authority struct {
	File string // PEM of its own certificate, for who is to trust it

	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns an authority that no one else trusts.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir()}
	a.File = filepath.Join(a.dir, "ca.pem")
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	a.cert = certificate("authority")
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, a.key.Public(), a.key)
	must.Do(t, errors.Join(err, writePEM(a.File, "CERTIFICATE", der)))
	return a
}

// Issue returns the paths of a certificate for 127.0.0.1 and of its key.
func (a *Authority) Issue(t testing.TB, name string) (cert, key string) {
	t.Helper()
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	of := certificate(name)
	of.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	of.KeyUsage = x509.KeyUsageDigitalSignature
	of.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der := must.Get(x509.CreateCertificate(rand.Reader, of, a.cert, private.Public(), a.key))(t)
	secret := must.Get(x509.MarshalPKCS8PrivateKey(private))(t)
	cert, key = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	must.Do(t, errors.Join(writePEM(cert, "CERTIFICATE", der), writePEM(key, "PRIVATE KEY", secret)))
	return cert, key
}

// certificate is one that is valid today.
func certificate(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
