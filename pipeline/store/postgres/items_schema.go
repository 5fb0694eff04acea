package postgres

// itemsSchemaVersion is that of tables.
const itemsSchemaVersion = 2

// itemsTables makes the tables. A row whose tokens are -1 holds links that wait for their item;
// head and body are as package items encodes them, the other columns repeat of them what is
// searched.
const itemsTables = `
CREATE TABLE tenants (
	id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name       text COLLATE "C" NOT NULL UNIQUE,
	checkpoint bigint NOT NULL DEFAULT 0,
	items      bigint NOT NULL DEFAULT 0,
	users      bigint NOT NULL DEFAULT 0,
	turns      bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 40);
CREATE TABLE items (
	tenant  int NOT NULL,
	id      text COLLATE "C" NOT NULL,
	tokens  int NOT NULL,
	head    bytea NOT NULL,
	body    bytea NOT NULL,
	first   bigint NOT NULL,
	created bigint NOT NULL,
	seq     bigint NOT NULL,
	terms   int NOT NULL,
	speaker text COLLATE "C" NOT NULL,` + FacetColumns + `,
	PRIMARY KEY (tenant, id)
) WITH (fillfactor = 85);
CREATE INDEX items_uncounted ON items (tenant, id) WHERE tokens = 0;
CREATE INDEX items_recent ON items (tenant, created, first) WHERE tokens >= 0;
CREATE INDEX items_session ON items (tenant, session, seq, first) WHERE session <> '' AND tokens >= 0;
CREATE INDEX items_speaker ON items (tenant, speaker, first) WHERE speaker <> '' AND tokens >= 0;
CREATE TABLE speakers (
	tenant int NOT NULL,
	name   text COLLATE "C" NOT NULL,
	first  bigint NOT NULL,
	PRIMARY KEY (tenant, name)
);
CREATE INDEX items_order ON items (tenant, session, first) WHERE tokens >= 0;
`
