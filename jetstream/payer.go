package jetstream

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"strconv"
)

// claimBytes is how much of a request is read for the principal that it claims.
const claimBytes = 4 << 10

// claimedShares is how many shares there are of a tenant for principals that nobody vouches
// for: with a name of its own for each request a caller still has no more.
const claimedShares = 16

// payerOf returns the principal that a request counts against: the one that the transport
// vouches for, else the one that the request claims. Where anybody may claim any, claims share
// a few names.
func (s *Service) payerOf(c *Call) string {
	if c.Principal != "" {
		return c.Principal
	}
	name := readClaim(json.NewDecoder(bytes.NewReader(c.Data[:min(len(c.Data), claimBytes)])), "")
	switch {
	case !ValidToken(name):
		return ""
	case s.cfg.Vouched:
		return name
	}
	return "~" + strconv.FormatUint(maphash.String(s.seed, name)%claimedShares, 10)
}

// readClaim reads agent, from.id or meta.from.id of a body. within names the object that is read.
func readClaim(in *json.Decoder, within string) string {
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return ""
		}
		name, _ := key.(string)
		var id string
		switch within + "/" + name {
		case "/meta", "/from", "meta/from":
			id = readClaim(in, name)
		case "/agent", "from/id":
			err = in.Decode(&id)
		default:
			var skipped json.RawMessage
			err = in.Decode(&skipped)
		}
		if err != nil || id != "" {
			return id
		}
	}
	if _, err := in.Token(); err != nil { // the end of the object
		return ""
	}
	return ""
}
