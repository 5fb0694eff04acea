// Package app is the composition root: it makes a whole node from the settings and runs it. Outside tests it is
// the only package that imports drivers. App.Start starts a node with everything open and serving, so a test of
// another package can run a complete Satchel in its own process; the caller must stop it. No state belongs to the
// process: any number of nodes may run beside each other, each with a data folder of its own.
//
// The package also has the checks of satchel doctor that ask a driver, and the requests to the process that has
// the data folder open (its status and its admin socket).
package app
