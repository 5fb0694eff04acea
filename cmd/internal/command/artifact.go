package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

// Artifact is satchel artifact.
type Artifact struct {
	Put    artifactPutCmd    `cmd:"" help:"Store a file and remember an extract of it."`
	Open   artifactOpenCmd   `cmd:"" help:"Write an artifact to a file or the output."`
	Revoke artifactRevokeCmd `cmd:"" help:"Make a handle, or every handle of an item, void."`
}

type artifactPutCmd struct {
	File    string   `arg:"" help:"File to store; - is the standard input."`
	ID      string   `name:"id" help:"Item id; default a new one."`
	Kind    string   `help:"Kind of the item." default:"memory"`
	Type    string   `help:"episodic, procedural or semantic." default:"episodic" enum:"episodic,procedural,semantic"`
	Label   []string `help:"Security labels, name:value." default:"level:internal"`
	Session string   `help:"Session."`
	Media   string   `name:"media-type" help:"Media type; default found out."`
	Name    string   `help:"Name of the content; default the file's."`
	Query   string   `help:"What readers will look for; the extract keeps what is about it."`
	Agent   string   `help:"Agent that publishes." default:"cli" env:"SATCHEL_AS"`
}

// Run stores, waits until the extract can be found, and prints both.
func (c *artifactPutCmd) Run(ctx context.Context, a *app.App) (err error) {
	content := a.In
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return config.Usagef("open the file: %v", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return config.Usagef("open the file: %s is a folder", c.File)
		}
		content = f
		if c.Name == "" {
			c.Name = filepath.Base(c.File)
		}
	}
	conn, e, err := dialEmitter(ctx, a, emitters.Config{Agent: c.Agent, Labels: c.Label})
	if err != nil {
		return err
	}
	defer conn.Close()
	item := schemas.MemoryItem{ID: c.ID, Kind: schemas.Kind(c.Kind), Type: schemas.MemoryType(c.Type), Session: c.Session}
	item, receipt, err := e.Store(ctx, item, emitters.Heavy{Content: content, MediaType: c.Media, Name: c.Name, Query: c.Query},
		&emitters.Options{Wait: schemas.ReceiptIndexed})
	if err != nil {
		return err
	}
	return PrintReply(a, map[string]any{"item": item, "receipt": receipt}, func(w io.Writer) {
		stored, _ := item.Artifact()
		fmt.Fprintf(w, "stored   %d bytes as sha256:%.16s…, %s\n", stored.Size, stored.SHA256, stored.MediaType)
		fmt.Fprintf(w, "%-8s item %s, log position %d\n", receipt.Level, item.ID, receipt.Position)
		fmt.Fprintf(w, "extract\n%s\n", indented(item.Content.Text()))
	})
}

type artifactOpenCmd struct {
	Handle string `arg:"" help:"Handle, as a pack carries it."`
	Out    string `short:"o" help:"File to write; default the output. One that is there is not touched." type:"path"`
	Force  bool   `help:"Write --out over a file that is there."`
	PrincipalFlags
}

// Run reads the artifact window by window.
func (c *artifactOpenCmd) Run(ctx context.Context, a *app.App) (err error) {
	conn, err := Dial(ctx, a)
	if err != nil {
		return err
	}
	defer conn.Close()
	subject, err := jetstream.ArtifactSubject(a.Tenant)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if info, err := os.Stat(c.Out); c.Out != "" && !c.Force {
		switch {
		case err != nil:
			flags |= os.O_EXCL
		case info.Mode().IsRegular():
			return config.Usagef("write the artifact: %s is there already; --force writes over it", c.Out)
		}
	}
	out := exact(a)
	sum := sha256.New()
	var f *os.File
	for offset := 0; ; {
		var reply schemas.OpenReply
		if err := conn.Call(ctx, subject, schemas.OpenRequest{From: c.agent(), Handle: c.Handle, Offset: offset}, &reply); err != nil {
			return err
		}
		if c.Out != "" && f == nil { // not before there is something to write
			if f, err = os.OpenFile(c.Out, flags, 0o666); err != nil {
				return config.Usagef("write the artifact: %v", err)
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			out = f
		}
		if _, err := io.MultiWriter(out, sum).Write(reply.Data); err != nil {
			return err
		}
		offset += len(reply.Data)
		if !reply.More {
			if c.Out != "" {
				fmt.Fprintf(a.Out, "%d bytes to %s%s\n", offset, c.Out, MaskedNote(&reply, hex.EncodeToString(sum.Sum(nil))))
			}
			return nil
		}
	}
}

// MaskedNote says that personal data was masked when what came is not the artifact.
func MaskedNote(reply *schemas.OpenReply, sum string) string {
	if reply.Masked && sum != reply.SHA256 {
		return ", masking applied"
	}
	return ""
}

type artifactRevokeCmd struct {
	Handle string `arg:"" optional:"" help:"Handle; its holder may revoke it."`
	Item   string `help:"Item whose handles are all revoked; by whoever may erase it."`
	PrincipalFlags
}

// Run revokes.
func (c *artifactRevokeCmd) Run(ctx context.Context, a *app.App) error {
	conn, err := Dial(ctx, a)
	if err != nil {
		return err
	}
	defer conn.Close()
	subject, err := jetstream.RevokeSubject(a.Tenant)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	var reply schemas.RevokeReply
	if err := conn.Call(ctx, subject, schemas.RevokeRequest{From: c.agent(), Handle: c.Handle, ItemID: c.Item}, &reply); err != nil {
		return err
	}
	return PrintReply(a, reply, func(w io.Writer) {
		fmt.Fprintf(w, "revoked  what was given out until %s\n", reply.RevokedAt.Format(time.RFC3339))
	})
}

// printArtifacts prints the handles of what a pack shows extracts of.
func printArtifacts(w io.Writer, p *schemas.ResultPayload) {
	for i := range p.Results {
		if s := p.Results[i].Metadata.Artifact; s != nil {
			fmt.Fprintf(w, "artifact %s: %d bytes of %s, until %s\n         satchel artifact open %s\n", p.Results[i].ID, s.Size, s.MediaType,
				s.ExpiresAt.Format(time.TimeOnly), s.Handle)
		}
	}
}

// indented puts two blanks before every line.
func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
