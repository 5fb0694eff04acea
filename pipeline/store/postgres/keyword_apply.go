package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
)

// Apply adds and removes documents. See keyword.Index.
func (x *Keyword) Apply(ctx context.Context, s scope.Scope, changes []keyword.Change, upTo int64) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("apply keyword changes: %w", err)
	}
	last := int64(0)
	for _, c := range changes {
		if c.Position < last || c.Position > upTo {
			return fmt.Errorf("apply keyword changes: %w", ErrOrder)
		}
		last = c.Position
	}
	err := UpdateTenant(ctx, x.pool, s.Tenant(), func(tx pgx.Tx, row Tenant) error { return x.applyChanges(ctx, tx, row, changes, upTo) })
	return wrapKeyword("apply keyword changes", err)
}

func (x *Keyword) applyChanges(ctx context.Context, tx pgx.Tx, row Tenant, changes []keyword.Change, upTo int64) error {
	if upTo <= row.Checkpoint {
		return nil
	}
	final := map[string]*keyword.Doc{} // nil: removed
	for _, c := range changes {
		if c.Position <= row.Checkpoint {
			continue
		}
		for _, id := range c.Remove {
			final[id] = nil
		}
		if c.Put != nil {
			final[c.Put.ID] = c.Put
		}
	}
	var w keywordPuts
	gone := make([]string, 0, len(final))
	for id, d := range final {
		if d == nil {
			gone = append(gone, id)
		} else if err := w.addDocument(x, row.ID, d); err != nil {
			return err
		}
	}
	grown, err := x.writeDocuments(ctx, tx, row.ID, gone, &w)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE tenants SET checkpoint = $2, docs = docs + $3 WHERE id = $1", row.ID, upTo, grown)
	return err
}

// keywordPuts are documents to be written, column by column.
type keywordPuts struct {
	ids, words []string // words: the vector, or with a language the text
	digests    [][]byte
	facets     FacetArrays
}

func (w *keywordPuts) addDocument(x *Keyword, tenant int32, d *keyword.Doc) error {
	facets, err := json.Marshal(d.Facets)
	if err != nil {
		return fmt.Errorf("encode facets of %q: %w", d.ID, err)
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(d.ID), []byte(d.Text), facets} {
		fmt.Fprintf(h, "%d ", len(part))
		h.Write(part)
	}
	words := cutForVector(ShortText(d.Text))
	if x.language == "" {
		words = makeTextVector(tenant, d.Text)
	}
	w.ids, w.words, w.digests = append(w.ids, d.ID), append(w.words, words), append(w.digests, h.Sum(nil))
	w.facets.Add(&d.Facets)
	return nil
}

const putDocs = `INSERT INTO docs (tenant, id, digest, tsv, ` + FacetNames + `)
	SELECT $1::int, u.id, u.digest, %s, ` + FacetSelect + ` FROM unnest($2::text[], $3::bytea[], $4::text[], %s) u (id, digest, words, ` + FacetNames + `)
	ON CONFLICT (tenant, id) DO UPDATE SET digest = excluded.digest, tsv = excluded.tsv, kind = excluded.kind, type = excluded.type,
		category = excluded.category, session = excluded.session, signer = excluded.signer, labels = excluded.labels, groups = excluded.groups,
		purposes = excluded.purposes, level = excluded.level, trust = excluded.trust, sensitivity = excluded.sensitivity, pii = excluded.pii, credentials = excluded.credentials
	RETURNING (xmax = 0)`

// writeDocuments removes and puts documents and returns by how many there are more.
func (x *Keyword) writeDocuments(ctx context.Context, tx pgx.Tx, tenant int32, gone []string, w *keywordPuts) (grown int64, err error) {
	if len(gone) > 0 {
		tag, err := tx.Exec(ctx, "DELETE FROM docs WHERE tenant = $1 AND id = ANY ($2)", tenant, gone)
		if err != nil {
			return 0, err
		}
		grown -= tag.RowsAffected()
	}
	if len(w.ids) == 0 {
		return grown, nil
	}
	args := append([]any{tenant, w.ids, w.digests, w.words}, w.facets.Args()...)
	made := "u.words::tsvector"
	if x.language != "" {
		made = fmt.Sprintf(prefixed, "to_tsvector("+quoteText(x.language)+"::regconfig, u.words)")
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(putDocs, made, FacetUnnest(5)), args...)
	if err != nil {
		return 0, err
	}
	fresh, err := pgx.CollectRows(rows, pgx.RowTo[bool])
	for _, isNew := range fresh {
		if isNew {
			grown++
		}
	}
	return grown, err
}

// Digest returns the SHA-256 over the digests of the tenant's documents, in order of their ids.
func (x *Keyword) Digest(ctx context.Context, s scope.Scope) (sum [32]byte, err error) {
	tenant, _, err := x.findTenant(ctx, s)
	if err != nil {
		return sum, wrapKeyword("digest keywords", err)
	}
	rows, err := x.pool.Query(ctx, "SELECT digest FROM docs WHERE tenant = $1 ORDER BY id", tenant)
	if err != nil {
		return sum, wrapKeyword("digest keywords", err)
	}
	h := sha256.New()
	var digest []byte
	_, err = pgx.ForEachRow(rows, []any{&digest}, func() error {
		_, err := h.Write(digest)
		return err
	})
	h.Sum(sum[:0])
	return sum, wrapKeyword("digest keywords", err)
}

// Reset empties the tenant and puts its checkpoint to 0.
func (x *Keyword) Reset(ctx context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("reset keywords: %w", err)
	}
	err := UpdateTenant(ctx, x.pool, s.Tenant(), func(tx pgx.Tx, row Tenant) error {
		if _, err := tx.Exec(ctx, "DELETE FROM docs WHERE tenant = $1", row.ID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE tenants SET checkpoint = 0, docs = 0 WHERE id = $1", row.ID)
		return err
	})
	return wrapKeyword("reset keywords", err)
}
