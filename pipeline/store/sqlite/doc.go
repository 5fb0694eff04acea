// Package sqlite keeps stores in files of SQLite: [Log], [Items] and [Graph], the drivers of the
// embedded mode, each in a file of its own, in WAL mode.
//
// The log's file is written with synchronous=FULL: what was committed survives a power cut. Items and
// graph are projections and are folded from the log again if they are lost. One process at a time opens
// a file; its caller makes sure. What is erased is overwritten, and Scrub empties the journals.
package sqlite
