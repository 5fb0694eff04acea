package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"satchel/pipeline/compaction/blob"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/write"
	"satchel/schemas"
	"satchel/worker/transport"
)

// Extracts of artifacts.
const (
	extractLines = 24
	extractBytes = 4 << 10
)

// chunkBytes is how much of a content the object store takes at a time.
const chunkBytes = 128 << 10

// MaxUploads is how many contents may be offered at a time. What is offered takes up
// nothing but one of those until its first bytes are there; then it waits to be one of the
// few that are written. Of both a principal and a tenant have a share: who offers and does
// not send is in nobody's way but its own.
const MaxUploads = 64

func newUploads() *admission { return newAdmission(8, 32, MaxUploads) }
func newWrites() *admission  { return newAdmission(2, 4, 8) }

// Store answers art.v1.<tenant>.store: it keeps what content has, and returns where, an
// extract, and the types of personal data that are in it. The extract holds none of
// those. Whoever asked then records an item with the extract and the artifact; until then
// nobody can open it. Through an item that another agent recorded nobody can at all.
func (d *Artifacts) Store(ctx context.Context, tenant string, req schemas.StoreRequest, content io.Reader) (schemas.StoreReply, error) {
	var none schemas.StoreReply
	s, err := d.service.Scope(ctx, tenant, req.From, "")
	if err != nil {
		return none, err
	}
	from := &source{r: content}
	sum, size, err := d.receiveContent(ctx, s, from)
	if err != nil {
		return none, storeError(ctx, from, err)
	}
	stored, err := d.artifacts.Open(ctx, tenant, sum)
	if err != nil {
		return none, storageError(ctx, "read the artifact", err)
	}
	extract, found, err := d.extractContent(stored, req.Query)
	if err = errors.Join(err, stored.Close()); err != nil {
		return none, storageError(ctx, "read the artifact", err)
	}
	if len(found) > 0 && d.onFound == write.FoundRefuse {
		// Another item may have the same content; only an erasure takes it from that.
		return none, &schemas.Error{Code: schemas.CodeValidation, Message: "holds what may not be remembered here: " + typeNames(found)}
	}
	if req.Name != "" {
		extract = req.Name + ", " + extract
	}
	return schemas.StoreReply{
		Artifact: schemas.ArtifactAttributes{Object: schemas.ArtifactObject(tenant, sum), SHA256: sum, Size: size, MediaType: req.MediaType, Name: req.Name,
			Proof: d.sealer.Prove(tenant, s.Principal().ID, sum)},
		Extract: extract, Detected: listTypeNames(found),
	}, nil
}

// receiveContent writes what from has, when its turn has come.
func (d *Artifacts) receiveContent(ctx context.Context, s scope.Scope, from *source) (sum string, size int, err error) {
	leave, _ := d.uploads.tryAcquire(s.Tenant(), s.Principal().ID)
	if leave == nil {
		return "", 0, &schemas.Error{Code: schemas.CodeOverloaded, Message: "too many contents of this principal or tenant are offered at a time", RetryAfter: 1}
	}
	defer leave()
	buffered := bufio.NewReaderSize(from, chunkBytes)
	if _, err := buffered.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return "", 0, err
	}
	done, err := d.writes.acquirePlace(ctx, s.Tenant(), s.Principal().ID)
	if err != nil {
		return "", 0, err
	}
	defer done()
	return d.artifacts.Put(ctx, s.Tenant(), s.Principal().ID, buffered)
}

// source remembers that the sender's content broke off.
type source struct {
	r      io.Reader
	broken bool
}

// Read reads on.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.broken = s.broken || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// storeError tells what the sender can do something about from what they cannot.
func storeError(ctx context.Context, from *source, err error) error {
	switch {
	case from.broken && ctx.Err() == nil:
		return &schemas.Error{Code: schemas.CodeValidation, Field: "/offer", Message: "the content broke off"}
	case errors.Is(err, transport.ErrArtifactTooLarge):
		return &schemas.Error{Code: schemas.CodeTooLarge, Message: fmt.Sprintf("an artifact has at most %d bytes", schemas.MaxArtifact)}
	case errors.Is(err, transport.ErrArtifactQuota):
		return &schemas.Error{Code: schemas.CodeOverloaded, Message: "artifacts of this principal or tenant take as much room as they may", RetryAfter: 60}
	case errors.Is(err, transport.ErrArtifactEmpty):
		return &schemas.Error{Code: schemas.CodeValidation, Message: "there is no content"}
	}
	return storageError(ctx, "store the artifact", err)
}

// extractContent summarises a content and looks for personal data in it, in one pass.
func (d *Artifacts) extractContent(from io.Reader, query string) (extract string, found []pii.Type, err error) {
	in := bufio.NewReaderSize(from, 64<<10)
	if _, err := in.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return "", nil, fmt.Errorf("read artifact: %w", err)
	}
	options := blob.Options{Query: query, Lines: extractLines, Output: true}
	var seen *pii.Masked
	content, isText := textOf(in)
	if !isText {
		content = in
	} else if d.onFound != "" && d.onFound != write.FoundOff {
		seen = d.sanitizer.Mask(content)
		content = seen
	}
	s, err := blob.Summarise(content, options)
	if err != nil {
		return "", nil, fmt.Errorf("summarise artifact: %w", err)
	}
	extract = strings.TrimRight(s.String(), "\n")
	if len(extract) > extractBytes {
		cut := strings.LastIndexByte(extract[:extractBytes], '\n')
		if cut <= 0 {
			cut = extractBytes
		}
		extract = strings.ToValidUTF8(extract[:cut], "") + "\n[…]"
	}
	if seen != nil {
		found = seen.Types()
	}
	return strings.ToValidUTF8(strings.ReplaceAll(extract, "\x00", ""), "�"), found, nil
}

func listTypeNames(types []pii.Type) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = string(t)
	}
	slices.Sort(out)
	return out
}

func typeNames(types []pii.Type) string { return strings.Join(listTypeNames(types), ", ") }
