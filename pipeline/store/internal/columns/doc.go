// Package columns has what drivers build of: a dictionary of facets ([Dict]), a table of ids ([IDs]), the
// encoding of rows, and a check that a server's store was not set back ([RollbackCheck]).
//
// It promises little memory an item and no work for the garbage collector. Ports and drivers may import
// it.
package columns
