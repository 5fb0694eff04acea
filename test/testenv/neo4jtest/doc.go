// Package neo4jtest runs Neo4j for tests.
package neo4jtest
