package emitters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"satchel/jetstream"
	"satchel/schemas"
)

// SandboxOver is the size in bytes of a content beyond which Remember, with
// Config.Sandbox, stores it as an artifact and remembers an extract of it.
const SandboxOver = 512 << 10

// storeLimit is how long storing one artifact may take, when ctx has no end.
const storeLimit = time.Minute

// Heavy is content to be stored as an artifact.
type Heavy struct {
	Content   io.Reader // read once, to its end
	MediaType string    // default: found out from the beginning
	Name      string    // as a file would be called
	Query     string    // what a reader will look for, for the extract
}

// Store keeps heavy content (a log, a dump, an attachment) outside the log and remembers
// item with an extract of it as its content. A pack shows the extract and carries a
// handle, with which the whole can be opened. It wants the service: there is no outbox for
// heavy content. The bytes pass through as a stream.
func (e *Emitter) Store(ctx context.Context, item schemas.MemoryItem, h Heavy, opts *Options) (schemas.MemoryItem, schemas.Receipt, error) {
	item, err := e.sandboxContent(ctx, item, h)
	if err != nil {
		return item, schemas.Receipt{}, err
	}
	item = e.fillItem(item)
	ev, err := e.buildRecordedEvent(item, opts)
	if err != nil {
		return item, schemas.Receipt{}, err
	}
	r, err := e.sendEvent(ctx, ev, opts)
	return item, r, err
}

// lightenItem returns item as it is, or with an extract in place of a content that is too
// large for an event.
func (e *Emitter) lightenItem(ctx context.Context, item schemas.MemoryItem) (schemas.MemoryItem, error) {
	text := item.Content.Text()
	if !e.cfg.Sandbox || len(text) <= SandboxOver {
		return item, nil
	}
	h := Heavy{Content: strings.NewReader(text), MediaType: "text/plain; charset=utf-8"}
	if item.Content.Raw() != nil {
		h.MediaType = "application/json"
	}
	return e.sandboxContent(ctx, item, h)
}

func (e *Emitter) sandboxContent(ctx context.Context, item schemas.MemoryItem, h Heavy) (schemas.MemoryItem, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, storeLimit)
		defer cancel()
	}
	if h.MediaType == "" {
		head := make([]byte, 512)
		n, err := io.ReadFull(h.Content, head)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return item, fmt.Errorf("read content: %w", err)
		}
		h.MediaType = http.DetectContentType(head[:n])
		h.Content = io.MultiReader(bytes.NewReader(head[:n]), h.Content)
	}
	subject, err := jetstream.StoreSubject(e.cfg.Tenant)
	if err != nil {
		return item, err
	}
	offer, stop, err := jetstream.ServeUpload(e.nc, h.Content)
	if err != nil {
		return item, err
	}
	var kept schemas.StoreReply
	err = e.sendRequest(ctx, subject, schemas.StoreRequest{From: e.makeClaim(), Offer: offer, MediaType: h.MediaType, Name: h.Name, Query: h.Query}, &kept)
	if err = errors.Join(err, stop()); err != nil {
		return item, fmt.Errorf("store artifact: %w", err)
	}
	return e.attachExtract(item, &kept)
}

// attachExtract is item with the extract and the reference of what was stored.
func (e *Emitter) attachExtract(item schemas.MemoryItem, kept *schemas.StoreReply) (schemas.MemoryItem, error) {
	attributes := map[string]json.RawMessage{}
	if len(item.Attributes) > 0 {
		if err := json.Unmarshal(item.Attributes, &attributes); err != nil {
			return item, fmt.Errorf("read attributes: %w", err)
		}
	}
	var err error
	if attributes[schemas.ArtifactAttribute], err = json.Marshal(kept.Artifact); err == nil {
		item.Attributes, err = json.Marshal(attributes)
	}
	if err != nil {
		return item, fmt.Errorf("encode attributes: %w", err)
	}
	item.Content = schemas.TextContent(kept.Extract)
	item.Provenance.Checksum = ""
	if len(item.SecurityLabel) == 0 {
		item.SecurityLabel = e.cfg.Labels
	}
	item.SecurityLabel = slices.Clone(item.SecurityLabel)
	for _, t := range kept.Detected {
		if label := schemas.LabelDetected + ":" + t; !slices.Contains(item.SecurityLabel, label) && len(item.SecurityLabel) > 0 {
			item.SecurityLabel = append(item.SecurityLabel, label)
		}
	}
	return item, nil
}

// Open reads a window of an artifact by its handle: from offset on, length bytes at most,
// or as many as a reply takes when length is 0.
func (e *Emitter) Open(ctx context.Context, handle string, offset, length int) (schemas.OpenReply, error) {
	var reply schemas.OpenReply
	subject, err := jetstream.ArtifactSubject(e.cfg.Tenant)
	if err != nil {
		return reply, err
	}
	err = e.sendRequest(ctx, subject, schemas.OpenRequest{From: e.makeClaim(), Handle: handle, Offset: offset, Length: length}, &reply)
	return reply, err
}
