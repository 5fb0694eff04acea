// Package postgres keeps stores in a Postgres database: [Log], [Items] and [Keyword], the drivers for
// many workers, each in a schema of its own (satchel_log, satchel_items, satchel_keyword).
//
// It promises that tables are made and changed once, however many processes open the schema at the same
// time; that a database which cannot serve is refused when it is opened by one clear sentence, a
// [*SetupError]; that any number of processes may write at the same time; and that no error holds a
// password or a row's content.
package postgres
