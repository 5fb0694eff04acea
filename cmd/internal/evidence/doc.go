// Package evidence writes what the log can prove of context packs into one file, and checks such a
// file without Satchel's data. The format is satchel-evidence/1; docs/reference/formats.md describes it.
//
// # The file
//
// A zip of stored members in the order of their names, all of the same time, so that equal packs and
// an equal checkpoint give equal bytes:
//
//	manifest                  signed note: tenant, head, packs, and every other member with its SHA-256
//	checkpoint                the signed head that every proof leads to
//	keys/log.vkey             the key that signed both
//	keys/policy               the same as a C2SP tlog-policy
//	entries/<N>.preimage      leaf preimage of position N (package eventlog)
//	entries/<N>.tlog-proof    its inclusion proof, as C2SP tlog-proof
//	entries/<N>.data          its data
//	entries/<N>.opening       the salts that open its commitments; a memory has neither
//	packs/<N>/result.json     the stored result of the pack at N
//	packs/<N>/text.txt        the text that the model was given
//	settings.json             effective settings, secrets masked
//	reports/<name>            files that were added
//	verify.py, verify.html    the verifiers for Python and for a browser
//	README.txt                what is proved
package evidence
