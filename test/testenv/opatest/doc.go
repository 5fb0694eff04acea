// Package opatest runs an OPA server for tests.
package opatest
