package sqlite

// The database's identity: "SLOG" and the version of the tables below.
const (
	applicationID    = 0x534c4f47
	logSchemaVersion = 4
)

// An entry's id is tenant<<40 | position, a chunk's is tenant<<32 | number. Contents
// are numbered in the order they are written, whatever the tenant, so that the table
// only ever grows at its end: a cell is never moved, and overwriting it in place
// leaves no copy in the free space of another page. Long data is compressed, see
// compress.go.
const logSchema = `
CREATE TABLE tenants (
	id   INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	size INTEGER NOT NULL,
	root BLOB NOT NULL
) STRICT;
CREATE TABLE names (
	id     INTEGER PRIMARY KEY,
	tenant INTEGER NOT NULL,
	name   TEXT NOT NULL,
	UNIQUE (tenant, name)
) STRICT;
CREATE TABLE entries (
	id         INTEGER PRIMARY KEY,
	agent      INTEGER NOT NULL,
	type       INTEGER NOT NULL,
	source     INTEGER NOT NULL,
	event      TEXT NOT NULL,
	subject    TEXT NOT NULL,
	time       INTEGER,
	recorded   INTEGER NOT NULL,
	commitment BLOB NOT NULL,
	content    INTEGER NOT NULL,
	attachment BLOB,
	attached   INTEGER
) STRICT;
CREATE UNIQUE INDEX entries_key ON entries (source, event);
CREATE INDEX entries_subject ON entries (subject) WHERE subject <> '';
CREATE TABLE content (
	id   INTEGER PRIMARY KEY,
	salt BLOB NOT NULL,
	head BLOB NOT NULL,
	data BLOB NOT NULL
) STRICT;
CREATE TABLE shown (
	entry INTEGER PRIMARY KEY,
	marks BLOB NOT NULL
) STRICT;
CREATE TABLE hashes (
	id    INTEGER PRIMARY KEY,
	chunk BLOB NOT NULL
) STRICT;
CREATE TABLE checkpoints (
	name  TEXT PRIMARY KEY,
	fence INTEGER NOT NULL,
	epoch TEXT NOT NULL,
	seq   INTEGER NOT NULL,
	hash  BLOB NOT NULL,
	sum   BLOB NOT NULL
) STRICT, WITHOUT ROWID;
`

const (
	tenantShift  = 40
	maxPosition  = 1<<tenantShift - 1
	chunkShift   = 32
	chunkHashes  = 120 // 3,840 bytes: with its header, a page of 4,096
	hashSize     = 32
	rowsPerWrite = 8 // the driver's binding cost is quadratic in the parameters
)
