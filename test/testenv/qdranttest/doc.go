// Package qdranttest runs Qdrant for tests, or a stand-in for the methods that the driver calls.
package qdranttest
