// Package command has the verbs of the command line, one file each: a struct of flags for kong, an example, and
// Run, which makes a request, sends it and prints the answer. Printers and flags that verbs share are here too.
package command
