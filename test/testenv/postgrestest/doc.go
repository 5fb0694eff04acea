// Package postgrestest runs Postgres, and pgbouncer in front of it, for tests.
package postgrestest
