// Command image makes the container image of a release without an engine: an archive in the layout of OCI, of one
// image for each Linux program. It has what deploy/Dockerfile puts into its image, and the licence. The authorities'
// certificates are those of Go's bundle, at the version that go.mod names. Equal programs and an equal time give equal
// bytes. It runs in its own folder, and is a module of its own, so that Satchel does not depend on what makes images.
//
// Usage: SOURCE_DATE_EPOCH=seconds go run . OUT.tar VERSION ARCHITECTURE=PROGRAM…
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const user = 65532 // of the process, as in deploy/Dockerfile

func main() {
	log.SetFlags(0)
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil || len(os.Args) < 4 {
		log.Fatal("usage: SOURCE_DATE_EPOCH=seconds image OUT.tar VERSION ARCHITECTURE=PROGRAM…")
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3:], time.Unix(seconds, 0).UTC()); err != nil {
		log.Fatal("image: ", err)
	}
}

// write makes the archive of the images of all programs.
func write(out, version string, programs []string, created time.Time) (err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		architecture, path, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("%q is not ARCHITECTURE=PROGRAM", p)
		}
		program, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		one, err := image(program, architecture, version, created)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}}})
	}
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": version, "io.containerd.image.name": "docker.io/library/satchel:" + version,
	})); err != nil {
		return err
	}
	return archive(out, dir, created)
}

// image is the image of one program.
func image(program []byte, architecture, version string, created time.Time) (v1.Image, error) {
	files, err := files(program, created)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err = mutate.ConfigFile(base, &v1.ConfigFile{
		Architecture: architecture, OS: "linux", Created: v1.Time{Time: created}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/satchel"}, Cmd: []string{"up"}, User: fmt.Sprintf("%d:%d", user, user),
			Env:     []string{"SATCHEL_DIR=/data", "HTTP_ADDR=:8230"},
			Volumes: map[string]struct{}{"/data": {}}, ExposedPorts: map[string]struct{}{"8230/tcp": {}},
			Labels: map[string]string{"org.opencontainers.image.version": version},
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(base, mutate.Addendum{Layer: layer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "deploy/release/image"}})
}

// files is the tar of the image's only layer.
func files(program []byte, created time.Time) ([]byte, error) {
	var certificates, out bytes.Buffer
	for root := range bundle.Roots() {
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	licence, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		return nil, err
	}
	notice, err := os.ReadFile("../../../NOTICE")
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		header  tar.Header
		content []byte
	}{
		{tar.Header{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, certificates.Bytes()},
		{tar.Header{Name: "LICENSE", Mode: 0o644}, licence},
		{tar.Header{Name: "NOTICE", Mode: 0o644}, notice},
		{tar.Header{Name: "satchel", Mode: 0o755}, program},
		{tar.Header{Name: "data/", Mode: 0o755, Typeflag: tar.TypeDir, Uid: user, Gid: user}, nil},
	} {
		f.header.Size, f.header.ModTime = int64(len(f.content)), created
		if err := w.WriteHeader(&f.header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// archive puts the files of dir into a tar, in the order of their names.
func archive(out, dir string, created time.Time) (err error) {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := tar.NewWriter(file)
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(content)), ModTime: created}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	return errors.Join(err, w.Close())
}
