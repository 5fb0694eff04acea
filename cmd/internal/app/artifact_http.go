package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"satchel/jetstream"
	"satchel/schemas"
	"satchel/worker/service"
)

// handleArtifact streams the artifact of the handle in the path to a client that holds it. A
// browser is told to keep it as a file and to run nothing of it. What breaks on the way
// breaks the connection, so that no half passes for a whole.
func (n *Node) handleArtifact(w http.ResponseWriter, r *http.Request) {
	opened, err := n.artifacts.OpenHandle(r.Context(), r.PathValue("handle"))
	if err != nil {
		status := http.StatusInternalServerError
		text := "the artifact could not be opened"
		var typed *schemas.Error
		if errors.As(err, &typed) {
			status = typed.Code.HTTPStatus()
			text = typed.Message
		}
		http.Error(w, text, status)
		return
	}
	defer opened.Close()
	head := w.Header()
	head.Set("Content-Type", safeType(opened.MediaType))
	name := opened.Name
	name = cmp.Or(name, opened.SHA256)
	head.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	head.Set("Cache-Control", "no-store")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Satchel-Position", strconv.FormatInt(opened.Position, 10))
	head.Set("Satchel-Masked", strconv.FormatBool(opened.Masked))
	if !opened.Masked {
		head.Set("Content-Length", strconv.Itoa(opened.Size))
		head.Set("Satchel-Sha256", opened.SHA256)
	}
	if _, err := io.Copy(w, opened); err != nil {
		if conn, _, cut := http.NewResponseController(w).Hijack(); cut == nil {
			n.logger.WarnContext(r.Context(), "artifact cut off", "error", errors.Join(err, conn.Close()))
		}
	}
}

// safeType is the media type when it is a plain one, else that of bytes.
func safeType(mediaType string) string {
	base, _, err := mime.ParseMediaType(mediaType)
	if err != nil || slices.ContainsFunc([]string{"html", "svg", "xml"}, func(active string) bool { return strings.Contains(base, active) }) {
		return "application/octet-stream"
	}
	return base
}

// storeEndpoint answers art.v1.<tenant>.store, which fetches the content from the caller.
func (n *Node) storeEndpoint() jetstream.Endpoint {
	return jetstream.Endpoint{Name: "store", Subject: "art.v1.*.store", Workers: service.MaxUploads,
		Handler: func(ctx context.Context, c jetstream.Call) (jetstream.Reply, error) {
			ctx, done := untilDrained(ctx, n.Draining)
			defer done()
			req, issues := schemas.Decode[schemas.StoreRequest](c.Data)
			if err := schemas.Invalid(issues); err != nil {
				return jetstream.Reply{}, err
			}
			out, err := n.artifacts.Store(ctx, c.Tenant, req, jetstream.Fetch(ctx, n.front, c, req.Offer))
			if err != nil {
				return jetstream.Reply{}, err
			}
			body, err := json.Marshal(out)
			return jetstream.Reply{Data: body}, err
		}}
}
