// Package neo4jtest runs Neo4j for tests: one server that they share, and servers of their own.
package neo4jtest
