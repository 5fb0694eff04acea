package sqlite

import (
	"database/sql"
	"errors"
	"fmt"

	"satchel/pipeline/store/eventlog"
)

// An index is a copy of columns that no hash covers, and SQLite notices a changed bit in one
// only where it breaks the page. What looks an entry up by key or subject then does not
// find it, and logs it again. So each row is looked up as these do; of a unique index one
// row is read, which tells a second one of the same key as well.

// The index by which tenants and names are found, of their UNIQUE constraint.
const (
	tenantsIndex = "sqlite_autoindex_tenants_1"
	namesIndex   = "sqlite_autoindex_names_1"
)

const (
	lostKey = `SELECT e.id FROM entries e NOT INDEXED WHERE e.id > ?1 AND e.id <= ?2 AND NOT EXISTS (
		SELECT 1 FROM entries k INDEXED BY entries_key WHERE k.source = e.source AND k.event = e.event AND +k.id = e.id)
		ORDER BY e.id LIMIT 1`
	lostSubject = `SELECT e.id FROM entries e NOT INDEXED WHERE e.id > ?1 AND e.id <= ?2 AND e.subject <> '' AND NOT EXISTS (
		SELECT 1 FROM entries k INDEXED BY entries_subject WHERE k.subject = e.subject AND k.subject <> '' AND k.id = e.id)
		ORDER BY e.id LIMIT 1`
	lostName = `WITH used (id) AS (
		SELECT agent FROM entries NOT INDEXED WHERE id > ?1 AND id <= ?2
		UNION SELECT type FROM entries NOT INDEXED WHERE id > ?1 AND id <= ?2
		UNION SELECT source FROM entries NOT INDEXED WHERE id > ?1 AND id <= ?2),
	lost (id) AS MATERIALIZED (SELECT n.id FROM used CROSS JOIN names n ON n.id = used.id WHERE NOT EXISTS (
		SELECT 1 FROM names k INDEXED BY ` + namesIndex + ` WHERE k.tenant = n.tenant AND k.name = n.name AND +k.id = n.id))
	SELECT e.id FROM lost CROSS JOIN entries e NOT INDEXED ON lost.id IN (e.agent, e.type, e.source)
		WHERE e.id > ?1 AND e.id <= ?2 ORDER BY +e.id LIMIT 1`

	// sameKey is read from the table: the index may not be relied on.
	sameKey = `SELECT o.id FROM entries e NOT INDEXED JOIN names s ON s.id = e.source
		CROSS JOIN entries o NOT INDEXED JOIN names t ON t.id = o.source
		WHERE e.id = ?1 AND o.id > ?2 AND o.id <= ?3 AND o.id <> e.id AND +o.event = e.event AND t.name = s.name
		ORDER BY o.id LIMIT 1`
)

// CheckIndexes returns a *eventlog.VerifyError for the first of at most limit positions
// above after to whose row the indexes do not lead, or whose key another row has, too.
func (r *reader) CheckIndexes(tenant string, after int64, limit int) error {
	id, err := r.readTenantID(tenant)
	if err != nil || id == 0 || after >= maxPosition {
		return err
	}
	var first int64
	problem := ""
	lost := func(query, of string) {
		var found int64
		args := []any{id<<tenantShift + after, id<<tenantShift + min(after+int64(limit), maxPosition)}
		switch e := r.scanSingleRow(query, args, &found); {
		case errors.Is(e, sql.ErrNoRows):
		case e != nil:
			err = errors.Join(err, storeError("check indexes", e))
		case first == 0 || found < first:
			first = found
			problem = "the index of " + of + " does not lead to the row"
		}
	}
	lost(lostName, "names")
	lost(lostKey, "source and id")
	lost(lostSubject, "subjects")
	if first == 0 || err != nil {
		return err
	}
	var other int64
	switch err := r.scanSingleRow(sameKey, []any{first, id << tenantShift, id<<tenantShift | maxPosition}, &other); {
	case err == nil:
		problem = fmt.Sprintf("position %d has the same source and id", other&maxPosition)
	case !errors.Is(err, sql.ErrNoRows):
		return storeError("check indexes", err)
	}
	return &eventlog.VerifyError{Tenant: tenant, Position: first & maxPosition, Problem: problem}
}
