package eventlogtest

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"testing"

	"satchel/test/must"
)

// FlipIndexed flips a bit of the last byte of text where an index of the closed SQLite file
// at path first got it, and returns what it is there now, so that another call flips it back.
func FlipIndexed(t *testing.T, path, index, text string) string {
	t.Helper()
	file := must.Get(os.ReadFile(path))(t)
	pages := must.Get(pagesOf(path, index))(t)
	for _, number := range pages {
		const size = 4096
		page := file[(number-1)*size : number*size]
		at := bytes.LastIndex(page, []byte(text)) // a page fills from its end
		if at < 0 {
			continue
		}
		last := &page[at+len(text)-1]
		*last ^= 0x20
		must.Do(t, os.WriteFile(path, file, 0o600))
		return text[:len(text)-1] + string(rune(*last))
	}
	t.Fatalf("index %s does not hold %q", index, text)
	return ""
}

// pagesOf returns the pages of an index, from 1.
func pagesOf(path, index string) (pages []int, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.Query("SELECT pageno FROM dbstat WHERE name = ?", index)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var page int
		if err := rows.Scan(&page); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		pages = append(pages, page)
	}
	return pages, rows.Err()
}
