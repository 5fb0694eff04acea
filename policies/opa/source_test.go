package opa_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	opabundle "github.com/open-policy-agent/opa/v1/bundle"

	"satchel/policies"
	"satchel/policies/opa"
)

const allowAll = "package cmo.policy\nfilter := {\"match\": \"all\"}\nverdicts := [[\"allowed\", []] | some _ in input.items]\n"

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// keys makes a pair and writes the public one.
func keys(t *testing.T) (private, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	private = string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	return private, write(t, filepath.Join(t.TempDir(), "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})))
}

// archive packs files as a bundle, signed when there is a key.
func archive(t *testing.T, private string, signed, packed map[string]string) string {
	t.Helper()
	var infos []opabundle.FileInfo
	hasher, err := opabundle.NewSignatureHasher(opabundle.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range signed {
		var content any = []byte(text)
		if strings.HasSuffix(name, ".json") { // hashed by its value
			if err := json.Unmarshal([]byte(text), &content); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := hasher.HashFile(content)
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, opabundle.NewFile(name, hexOf(sum), "SHA-256"))
	}
	all := map[string]string{}
	for name, text := range packed {
		all[name] = text
	}
	if private != "" {
		token, err := opabundle.GenerateSignedToken(infos, opabundle.NewSigningConfig(private, "ES256", ""), "")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(map[string]any{"signatures": []string{token}})
		if err != nil {
			t.Fatal(err)
		}
		all[".signatures.json"] = string(raw)
	}
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	w := tar.NewWriter(zip)
	for name, text := range all {
		if err := w.WriteHeader(&tar.Header{Name: "/" + name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(t.TempDir(), "bundle.tar.gz"), buf.String())
}

func hexOf(sum []byte) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range sum {
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

func TestSources(t *testing.T) {
	t.Parallel()
	private, key := keys(t)
	_, stranger := keys(t)
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "mine.rego"), allowAll)
	write(t, filepath.Join(dir, "mine_test.rego"), "package broken :=")
	files := map[string]string{"mine.rego": allowAll, "data.json": `{"site": 1}`}
	changed := map[string]string{"mine.rego": allowAll + "# changed\n", "data.json": `{"site": 1}`}
	more := map[string]string{"mine.rego": allowAll, "data.json": `{"site": 1}`, "more.rego": "package more\nx := 1\n"}
	for name, c := range map[string]struct {
		source opa.Source
		good   bool
	}{
		"folder":                {opa.Source{Path: dir}, true},
		"file":                  {opa.Source{Path: file}, true},
		"signed":                {opa.Source{Path: archive(t, private, files, files), Key: key}, true},
		"nothing there":         {opa.Source{Path: file + ".absent"}, false},
		"signed, no key given":  {opa.Source{Path: archive(t, private, files, files)}, false},
		"another's key":         {opa.Source{Path: archive(t, private, files, files), Key: stranger}, false},
		"not signed":            {opa.Source{Path: archive(t, "", nil, files), Key: key}, false},
		"changed since":         {opa.Source{Path: archive(t, private, files, changed), Key: key}, false},
		"a file more":           {opa.Source{Path: archive(t, private, files, more), Key: key}, false},
		"a file less":           {opa.Source{Path: archive(t, private, more, files), Key: key}, false},
		"not an archive":        {opa.Source{Path: key, Key: key}, false},
		"the key is no key":     {opa.Source{Path: archive(t, private, files, files), Key: file}, false},
		"folder, not signed":    {opa.Source{Path: dir, Key: key}, false},
		"file cannot be signed": {opa.Source{Path: file, Key: key}, false},
		"the key is not there":  {opa.Source{Path: archive(t, private, files, files), Key: key + ".absent"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := opa.Open(t.Context(), c.source, 0)
			if (err == nil) != c.good {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			d, err := p.Decide(t.Context(), somebody(t), ask(1))
			if err != nil || !d.Verdicts[0].Allow || len(d.Revision) != 16 {
				t.Errorf("decision %+v, error %v", d, err)
			}
		})
	}
}

func TestBundleErrorsNameFileAndLine(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"syntax": allowAll + "\nx := := 1\n",
		"type":   allowAll + "\nx := startswith(1, 2, 3)\n",
		"unsafe": allowAll + "\nx := y\n",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "mine.rego"), text)
		_, err := opa.Open(t.Context(), opa.Source{Path: dir}, 0)
		var place *opa.BundleError
		if !errors.As(err, &place) || place.File != "mine.rego" || place.Line != 5 {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A changed bundle is taken; one that does not compile is not, and every decision says so.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := write(t, filepath.Join(dir, "mine.rego"), allowAll)
	src := opa.Source{Path: dir}
	p, err := opa.Open(t.Context(), src, 0)
	if err != nil {
		t.Fatal(err)
	}
	first := p.Revision()
	ctx, cancel := context.WithCancel(t.Context())
	reports, done := make(chan error, 8), make(chan struct{})
	go func() {
		defer close(done)
		p.Watch(ctx, time.Millisecond, func(err error) { reports <- err })
	}()
	write(t, name, allowAll+"\nx := := 1\n")
	var place *opa.BundleError
	if err := <-reports; !errors.As(err, &place) || place.Line != 5 {
		t.Errorf("error %v", err)
	}
	decide := func() policies.Decision {
		d, err := p.Decide(t.Context(), somebody(t), ask(1))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := decide(); d.Revision != first || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "mine.rego, line 5") {
		t.Errorf("revision %q, warnings %q", d.Revision, d.Warnings)
	}
	write(t, name, allowAll+"# another one\n")
	for d := decide(); d.Revision == first || len(d.Warnings) > 0; d = decide() {
		if t.Context().Err() != nil {
			t.Fatal("the changed bundle is not taken")
		}
	}
	cancel()
	<-done
}
