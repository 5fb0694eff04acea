package postgres

// Hashes of a tenant's tree are kept in chunks of chunkHashes, which never change once
// they are full; those of the last, not yet full chunk are in the head's row, which
// every commit writes anyway.
const (
	chunkHashes = 60 // 1,920 bytes: a row that Postgres keeps in its page
	hashSize    = 32
)

// logSchemaVersion is that of tables.
const logSchemaVersion = 1

// logTables makes the tables. Rows of content are deleted
// when they are erased; an entry without one was erased. There are no foreign keys: they
// would cost every row a look-up, and Check finds what they would refuse.
const logTables = `
CREATE TABLE tenants (
	id   int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text COLLATE "C" NOT NULL UNIQUE,
	size bigint NOT NULL DEFAULT 0,
	root bytea NOT NULL DEFAULT '',
	tail bytea NOT NULL DEFAULT ''
) WITH (fillfactor = 40);
ALTER TABLE tenants ALTER tail SET STORAGE MAIN;
CREATE TABLE entries (
	tenant     int NOT NULL,
	position   bigint NOT NULL,
	agent      text COLLATE "C" NOT NULL,
	type       text COLLATE "C" NOT NULL,
	source     text COLLATE "C" NOT NULL,
	event      text COLLATE "C" NOT NULL,
	subject    text COLLATE "C" NOT NULL,
	time       bigint,
	recorded   bigint NOT NULL,
	commitment bytea NOT NULL,
	attachment bytea,
	PRIMARY KEY (tenant, position),
	UNIQUE (tenant, event, source)
);
CREATE INDEX entries_subject ON entries (tenant, subject) WHERE subject <> '';
CREATE TABLE content (
	tenant   int NOT NULL,
	position bigint NOT NULL,
	salt     bytea NOT NULL,
	head     bytea NOT NULL,
	data     bytea NOT NULL,
	PRIMARY KEY (tenant, position)
);
CREATE TABLE attachments (
	tenant   int NOT NULL,
	position bigint NOT NULL,
	salt     bytea NOT NULL,
	head     bytea NOT NULL,
	data     bytea NOT NULL,
	PRIMARY KEY (tenant, position)
);
CREATE TABLE refs (
	tenant   int NOT NULL,
	item     text COLLATE "C" NOT NULL,
	position bigint NOT NULL,
	PRIMARY KEY (tenant, item, position)
);
CREATE TABLE hashes (
	tenant int NOT NULL,
	number bigint NOT NULL,
	chunk  bytea NOT NULL,
	PRIMARY KEY (tenant, number)
);
ALTER TABLE hashes ALTER chunk SET STORAGE MAIN;
CREATE TABLE checkpoints (
	name  text COLLATE "C" PRIMARY KEY,
	fence bigint NOT NULL,
	epoch text NOT NULL,
	seq   bigint NOT NULL,
	hash  bytea NOT NULL,
	sum   bytea NOT NULL
) WITH (fillfactor = 50);
`
