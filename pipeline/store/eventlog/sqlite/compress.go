package sqlite

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"

	"satchel/pipeline/store/eventlog"
)

// Data of at least compressFrom bytes is stored as an S2 block where that is shorter. The
// salt's column then holds the CRC-32C of the block behind the salt: a block may be changed
// and still give the same data, and that has to be found as well.
const (
	compressFrom = 2 << 10
	checkSize    = 4
)

// compressor is safe for concurrent use.
type compressor struct {
	table *crc32.Table
	rooms sync.Pool // of *[]byte, that blocks are made in
}

var _ eventlog.Packer = (*DB)(nil)

func newCompressor() *compressor { return &compressor{table: crc32.MakeTable(crc32.Castagnoli)} }

// Pack implements eventlog.Packer.
func (db *DB) Pack(data []byte) []byte { return db.packer.compress(data) }

// compress returns the block of data, or data itself where that is not longer.
func (c *compressor) compress(data []byte) []byte {
	need := s2.MaxEncodedLen(len(data))
	if len(data) < compressFrom || need < 0 {
		return data
	}
	room, ok := c.rooms.Get().(*[]byte)
	if !ok {
		room = new([]byte)
	}
	defer c.rooms.Put(room)
	if cap(*room) < need {
		*room = make([]byte, need)
	}
	block := s2.Encode((*room)[:cap(*room)], data)
	if len(block) >= len(data) {
		return data
	}
	return slices.Clone(block)
}

// columns returns the columns salt and data of a content, of which stored is what compress
// made of data, or nil.
func (c *compressor) columns(salt *[hashSize]byte, data, stored []byte) (saltColumn, dataColumn []byte) {
	if stored == nil {
		stored = c.compress(data)
	}
	if len(stored) == len(data) {
		return salt[:], notNil(data)
	}
	saltColumn = make([]byte, 0, hashSize+checkSize)
	saltColumn = append(saltColumn, salt[:]...)
	return binary.LittleEndian.AppendUint32(saltColumn, crc32.Checksum(stored, c.table)), stored
}

// unpack is the inverse of columns for a salt column with a checksum; false for columns that
// it did not write.
func (c *compressor) unpack(saltColumn, dataColumn []byte) (salt, data []byte, ok bool) {
	salt, check := saltColumn[:hashSize], binary.LittleEndian.Uint32(saltColumn[hashSize:])
	if crc32.Checksum(dataColumn, c.table) != check {
		return salt, nil, false
	}
	data, err := s2.Decode(nil, dataColumn)
	return salt, data, err == nil
}
