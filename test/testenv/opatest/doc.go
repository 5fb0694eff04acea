// Package opatest runs OPA servers for tests, each over a bundle of its own.
package opatest
