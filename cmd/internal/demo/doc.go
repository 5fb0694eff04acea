// Package demo is satchel demo: it starts a node in a fresh folder, streams the memories of package script, asks
// as two principals, checks every promise and says what it saw.
package demo
