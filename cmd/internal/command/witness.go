package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/witness"
	"satchel/emitters/gateway"
	"satchel/pipeline/infra/files"
)

// Witness is satchel witness.
type Witness struct {
	Listen string `help:"Where it listens." default:"127.0.0.1:8230"`
	Logs   string `help:"File of the logs whose heads it cosigns: a line each, log VKEY. It is read again when it changes." required:"" type:"existingfile" placeholder:"FILE"`
	Name   string `help:"Name of the witness in its cosignatures, such as witness.example.org/w1; required for the first start, which makes its key."`
}

// Run serves until Ctrl-C.
func (c *Witness) Run(ctx context.Context, a *app.App) (err error) {
	dir := a.Path("witness")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the witness: %w", err)
	}
	lock, err := files.TakeLock(dir, time.Now())
	var held *files.HeldError
	if errors.As(err, &held) {
		return config.Usagef("process %d is the witness of %s since %s", held.PID, dir, held.Since.Format(time.RFC3339))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	key, vkey, err := c.key(filepath.Join(dir, "witness.key"))
	if err != nil {
		return err
	}
	w, err := witness.Open(ctx, witness.Config{Path: filepath.Join(dir, "witness.db"), Key: key, Logs: c.Logs,
		Failpoint: app.Failpoint(),
		Unread:    func(err error) { fmt.Fprintf(a.Err, "the former list of logs holds: %v\n", err) }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return config.Usagef("listen on %s: %v; choose another with --listen", c.Listen, err)
	}
	name, _, _ := strings.Cut(vkey, "+")
	short := strings.NewReplacer("/", "-", ".", "-").Replace(name)
	return serveUntil(ctx, gateway.Server(w.Handler()), listener, func() {
		fmt.Fprintf(a.Out, "witness %s %s http://%s/\n", short, vkey, listener.Addr())
	})
}

// key reads the key of the witness, or makes it, and returns it with its verifier key.
func (c *Witness) key(path string) (key, vkey string, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if c.Name == "" {
			return "", "", config.Usagef("the witness has no key yet: name it, such as --name witness.example.org/w1")
		}
		made, public, err := note.GenerateKey(rand.Reader, c.Name)
		if err != nil {
			return "", "", config.Usagef("--name %q: a name has no space and no +", c.Name)
		}
		err = files.Write(path, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s\n%s\n", made, public)
			return err
		})
		if err != nil {
			return "", "", fmt.Errorf("write witness key: %w", err)
		}
		return parseWitnessKey(path, []byte(made+"\n"+public))
	}
	if err != nil {
		return "", "", fmt.Errorf("read witness key: %w", err)
	}
	if key, vkey, err = parseWitnessKey(path, raw); err != nil {
		return "", "", err
	}
	if name, _, _ := strings.Cut(vkey, "+"); c.Name != "" && c.Name != name {
		return "", "", config.Usagef("the key in %s is that of %s: leave --name out, or give another --dir", path, name)
	}
	return key, vkey, nil
}

// parseWitnessKey reads the two lines of a key's file: the signer key, and the verifier key of Ed25519.
func parseWitnessKey(path string, raw []byte) (key, vkey string, err error) {
	key, public, _ := strings.Cut(strings.TrimSpace(string(raw)), "\n")
	if vkey, err = cosign.VKeyToCosignatureV1(public); err != nil {
		return "", "", fmt.Errorf("read witness key %s: %w", path, err)
	}
	return key, vkey, nil
}
