package postgres

// keywordSchemaVersion is that of tables.
const keywordSchemaVersion = 1

// keywordTables makes the tables. digest is the SHA-256 of a
// document's id, text and facets.
const keywordTables = `
CREATE TABLE analysis (rules text NOT NULL);
INSERT INTO analysis VALUES ('');
CREATE TABLE tenants (
	id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name       text COLLATE "C" NOT NULL UNIQUE,
	checkpoint bigint NOT NULL DEFAULT 0,
	docs       bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 40);
CREATE TABLE docs (
	tenant int NOT NULL,
	id     text COLLATE "C" NOT NULL,
	digest bytea NOT NULL,
	tsv    tsvector NOT NULL,` + FacetColumns + `,
	PRIMARY KEY (tenant, id)
);
CREATE INDEX docs_tsv ON docs USING gin (tsv);
`
