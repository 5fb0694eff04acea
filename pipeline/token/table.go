package token

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the tables
	"fmt"
	"hash/maphash"
	"io"
	"math/bits"
)

//go:generate go run ../../test/tokentables cl100k_base cl100k_base.gz
//go:generate go run ../../test/tokentables o200k_base o200k_base.gz

var (
	//go:embed cl100k_base.gz
	cl100kTable string
	//go:embed o200k_base.gz
	o200kTable string
)

// noRank is the rank of bytes that are no token.
const noRank = 1<<32 - 1

// table finds the rank of a token. It takes less memory than a map: the tokens stand one after
// another, and a slot of the hash table is a rank.
type table struct {
	seed  maphash.Seed
	text  []byte   // the tokens in the order of their ranks
	ends  []uint32 // where each ends in text
	slots []uint32 // a rank plus 1, 0 where there is none; a power of two of them
}

// loadTable reads what test/tokentables wrote.
func loadTable(compressed string) (*table, error) {
	unzip, err := gzip.NewReader(bytes.NewReader([]byte(compressed)))
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	raw, err := io.ReadAll(unzip)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	n := 0
	for at := 0; at < len(raw); at += 1 + int(raw[at]) {
		n++
	}
	t := &table{seed: maphash.MakeSeed(), text: make([]byte, 0, len(raw)-n), ends: make([]uint32, 0, n), slots: make([]uint32, 2<<bits.Len(uint(n)))}
	for at := 0; at < len(raw); at += 1 + int(raw[at]) {
		token := raw[at+1 : at+1+int(raw[at])]
		t.text = append(t.text, token...)
		t.ends = append(t.ends, uint32(len(t.text)))
		slot := t.slot(string(token))
		t.slots[slot] = uint32(len(t.ends))
	}
	return t, nil
}

// Vocabulary returns the tokens of cl100k_base. Their order is roughly that of their frequency.
func Vocabulary() ([]string, error) {
	t, err := loadTable(cl100kTable)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(t.ends))
	for rank := range list {
		list[rank] = string(t.token(uint32(rank)))
	}
	return list, nil
}

// slot returns where a token is, or would be.
func (t *table) slot(token string) uint64 {
	last := uint64(len(t.slots) - 1)
	for i := maphash.String(t.seed, token) & last; ; i = (i + 1) & last {
		if rank := t.slots[i]; rank == 0 || string(t.token(rank-1)) == token {
			return i
		}
	}
}

// rank returns the rank of a token, noRank for bytes that are none.
func (t *table) rank(token string) uint32 { return t.slots[t.slot(token)] - 1 }

// token returns the token of a rank.
func (t *table) token(rank uint32) []byte {
	if rank == 0 {
		return t.text[:t.ends[0]]
	}
	return t.text[t.ends[rank-1]:t.ends[rank]]
}
