package httpclient_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/pipeline/infra/httpclient"
)

func TestRoots(t *testing.T) {
	t.Parallel()
	if pool, err := httpclient.Roots(""); pool != nil || err != nil {
		t.Errorf("no path: %v, %v", pool, err)
	}
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "ca.pem")
	for text, wrong := range map[string]string{
		"": "holds no PEM certificate", "PRIVATE word": "holds no PEM certificate",
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})): "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		pool, err := httpclient.Roots(path)
		switch {
		case wrong == "" && (err != nil || pool.Equal(x509.NewCertPool())):
			t.Errorf("a certificate: %v", err)
		case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), "PRIVATE word")):
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := httpclient.Roots(path + "x"); err == nil || !strings.Contains(err.Error(), "read certificates") {
		t.Errorf("no file: %v", err)
	}
}
