package httpclient

import (
	"crypto/x509"
	"fmt"
	"os"
)

// Roots returns the certificates of a PEM file, nil, which is the system's, for no path.
// Errors name the file and nothing of what it holds.
func Roots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", path)
	}
	return pool, nil
}
