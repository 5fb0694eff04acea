// Package backup writes the log, artifacts, templates and lists of erasures into a folder, while
// Satchel goes on, and restores them from there. The format is satchel-backup/1; docs/reference/formats.md
// describes it byte by byte.
//
// # The folder
//
//	manifest                                  signed note: what the backup is made of
//	log/<tenant>/<from>-<to>-<sum>.seg        entries, see Segments; sum begins the file's SHA-256
//	artifacts/<tenant>/<sha256>               contents, byte for byte
//	at-<time>/heads/<tenant>.checkpoint       the signed head that the log's segments lead to
//	at-<time>/erased/<tenant>                 the list of erasures
//	at-<time>/templates/<tenant>.json         registered templates
//	satchel.lock                              the lock of the process that writes
//
// Keys are never in it. No file that a manifest names is changed: a later backup writes other files,
// then replaces the manifest, then removes what it does not name. So whatever interrupts a backup
// leaves the former one whole.
//
// # Manifest
//
// The text of the note, signed with the key that signs the log's heads, has these lines:
//
//	satchel-backup/1
//	made <time, UTC>
//	tenant <tenant> <entries> <root, hex>
//	file <SHA-256, hex> <size> <erased> <path>
//
// erased counts the entries of a segment whose content or attachment was erased; it is 0 for other files.
//
// # Segments
//
// A segment is a Zstandard stream of fields "name SP length SP value LF". An entry begins with the
// field leaf, its leaf preimage (package eventlog). Unless it was erased, salt, extensions and data
// follow, which open the commitment; then, where something is attached, attachment_salt, refs
// and attachment.
package backup
