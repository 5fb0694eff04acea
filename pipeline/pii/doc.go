// Package pii finds personal data and secrets in text, and replaces what it found.
//
// It owns detection (what is where, of which type, how sure) and the ways to replace:
// a mark, a stable pseudonym, an extract. It decides nothing: whether something is
// replaced, and how, is said by package policies and, at write, by the operator.
//
//	type    what it is                                    how it is checked
//	email   address with a domain name                    RFC 5321 lengths, a label of letters at the end
//	phone   number as people write it                     shape, words beside it, numbering plans
//	card    payment card, 12 to 19 digits                 Luhn, issuer prefix and length
//	iban    bank account                                  mod 97, length of the country
//	ssn     US social security number                     areas, groups and serials that are given out
//	ip      IPv4 or IPv6 address, not of the host itself  net/netip
//	url     http, https or ftp URL                        a host behind the scheme
//	domain  name in text, without a scheme                public suffix list
//	secret  key, token, password or PIN                   the vendor's prefix, alphabet and length; assignments; sentences that tell one
//	person  name of a person                              lists of names, what stands beside it: a guess
//
// Spans are half-open ranges of bytes, in order, and never overlap. A text of any
// bytes is taken; the time is linear in its length. No text is kept or logged.
package pii
