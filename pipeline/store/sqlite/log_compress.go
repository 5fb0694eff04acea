package sqlite

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// Data of at least compressFrom bytes is stored as a Zstandard frame where that is shorter. The
// salt's column then holds the CRC-32C of the frame behind the salt: a frame may be changed
// and still give the same data, and that has to be found as well.
const (
	compressFrom = 512 // smaller data is hardly shorter
	checkSize    = 4
	window       = 256 << 10 // of the encoder: longer data repeats itself within it
)

// compressor has the room that frames are written to; they are valid until reset.
type compressor struct {
	table *crc32.Table
	out   *zstd.Encoder
	in    *zstd.Decoder // safe for concurrent use, as the encoder is
	room  []byte
}

func newCompressor() (compressor, error) {
	// The window comes before the level, which else would cut data into blocks of 64 KiB: those
	// take a sixth more time.
	out, err := zstd.NewWriter(nil, zstd.WithWindowSize(window), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		return compressor{}, fmt.Errorf("open compressor: %w", err)
	}
	in, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
	if err != nil {
		return compressor{}, fmt.Errorf("open decompressor: %w", err)
	}
	return compressor{table: crc32.MakeTable(crc32.Castagnoli), out: out, in: in}, nil
}

func (c *compressor) resetRoom() { c.room = c.room[:0] }

// packContent returns the columns salt and data of a content.
func (c *compressor) packContent(salt *[hashSize]byte, data []byte) (saltColumn, dataColumn []byte) {
	if len(data) < compressFrom {
		return salt[:], notNil(data)
	}
	need := c.out.MaxEncodedSize(len(data))
	if cap(c.room)-len(c.room) < need {
		c.room = make([]byte, 0, max(2*need, 256<<10))
	}
	frame := c.out.EncodeAll(data, c.room[len(c.room):len(c.room)])
	if len(frame) >= len(data) {
		return salt[:], data
	}
	c.room = c.room[:len(c.room)+len(frame)]
	saltColumn = make([]byte, 0, hashSize+checkSize)
	saltColumn = append(saltColumn, salt[:]...)
	return binary.LittleEndian.AppendUint32(saltColumn, crc32.Checksum(frame, c.table)), frame
}

// unpackContent is the inverse of pack for a salt column with a checksum; false for columns that
// pack did not write.
func (c *compressor) unpackContent(saltColumn, dataColumn []byte) (salt, data []byte, ok bool) {
	salt = saltColumn[:hashSize]
	check := binary.LittleEndian.Uint32(saltColumn[hashSize:])
	if crc32.Checksum(dataColumn, c.table) != check {
		return salt, nil, false
	}
	data, err := c.in.DecodeAll(dataColumn, nil)
	return salt, data, err == nil
}
