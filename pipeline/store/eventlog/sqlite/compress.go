package sqlite

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/s2"
)

// Data of at least compressFrom bytes is stored as an S2 block where that is shorter. The
// salt's column then holds the CRC-32C of the block behind the salt: a block may be changed
// and still give the same data, and that has to be found as well.
const (
	compressFrom = 2 << 10
	checkSize    = 4
)

// compressor has the room that blocks are written to; they are valid until reset.
type compressor struct {
	table *crc32.Table
	room  []byte
}

func newCompressor() compressor { return compressor{table: crc32.MakeTable(crc32.Castagnoli)} }

func (c *compressor) reset() { c.room = c.room[:0] }

// pack returns the columns salt and data of a content.
func (c *compressor) pack(salt *[hashSize]byte, data []byte) (saltColumn, dataColumn []byte) {
	if len(data) < compressFrom {
		return salt[:], notNil(data)
	}
	need := s2.MaxEncodedLen(len(data))
	if need < 0 {
		return salt[:], data
	}
	if cap(c.room)-len(c.room) < need {
		c.room = make([]byte, 0, max(2*need, 256<<10))
	}
	free := c.room[len(c.room):cap(c.room)]
	block := s2.Encode(free, data)
	if len(block) >= len(data) {
		return salt[:], data
	}
	c.room = c.room[:len(c.room)+len(block)]
	saltColumn = make([]byte, 0, hashSize+checkSize)
	saltColumn = append(saltColumn, salt[:]...)
	return binary.LittleEndian.AppendUint32(saltColumn, crc32.Checksum(block, c.table)), block
}

// unpack is the inverse of pack for a salt column with a checksum; false for columns that
// pack did not write.
func (c *compressor) unpack(saltColumn, dataColumn []byte) (salt, data []byte, ok bool) {
	salt, check := saltColumn[:hashSize], binary.LittleEndian.Uint32(saltColumn[hashSize:])
	if crc32.Checksum(dataColumn, c.table) != check {
		return salt, nil, false
	}
	data, err := s2.Decode(nil, dataColumn)
	return salt, data, err == nil
}
