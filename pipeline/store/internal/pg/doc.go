// Package pg opens Postgres for the drivers that keep their tables in it: a pool of
// connections to a schema of the driver's own, brought to the driver's version, and what
// kind of failure an error is. Drivers may import it.
//
// It promises that tables are made and changed once, however many processes open the
// schema at the same time; that a database which cannot serve is refused at Open by one
// clear sentence, a [*SetupError]; and that no error holds a password or a row's content.
package pg
