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
	slots []uint32 // a rank plus 1 and, in the upper bits, some of the token's hash; 0 where there is none; a power of two
}

// rankBits are those of a slot that hold a rank. What is no token is known by the others mostly, without a look at the text.
const rankBits = 18

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
	if n >= 1<<rankBits {
		return nil, fmt.Errorf("read tokens: %d are more than a slot tells apart", n)
	}
	t := &table{seed: maphash.MakeSeed(), text: make([]byte, 0, len(raw)-n), ends: make([]uint32, 0, n), slots: make([]uint32, 2<<bits.Len(uint(n)))}
	for at := 0; at < len(raw); at += 1 + int(raw[at]) {
		token := raw[at+1 : at+1+int(raw[at])]
		t.text = append(t.text, token...)
		t.ends = append(t.ends, uint32(len(t.text)))
		slot, mark := t.findSlot(string(token))
		t.slots[slot] = mark | uint32(len(t.ends))
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
		list[rank] = string(t.findToken(uint32(rank)))
	}
	return list, nil
}

// findSlot returns where a token is, or would be, and what of its hash stands there.
func (t *table) findSlot(token string) (at uint64, mark uint32) {
	const ranks = 1<<rankBits - 1
	last := uint64(len(t.slots) - 1)
	hash := maphash.String(t.seed, token)
	mark = uint32(hash>>32) &^ ranks
	for at = hash & last; ; at = (at + 1) & last {
		if kept := t.slots[at]; kept == 0 || kept&^ranks == mark && string(t.findToken(kept&ranks-1)) == token {
			return at, mark
		}
	}
}

// findRank returns the rank of a token, noRank for bytes that are none.
func (t *table) findRank(token string) uint32 {
	at, _ := t.findSlot(token)
	return t.slots[at]&(1<<rankBits-1) - 1
}

// findToken returns the token of a rank.
func (t *table) findToken(rank uint32) []byte {
	if rank == 0 {
		return t.text[:t.ends[0]]
	}
	return t.text[t.ends[rank-1]:t.ends[rank]]
}
