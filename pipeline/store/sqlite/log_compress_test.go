package sqlite

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestCompress packs any data and gets it back, and finds every changed bit of a block.
func TestCompress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, err := newCompressor()
		if err != nil {
			t.Fatal(err)
		}
		salt := [hashSize]byte{1, 2, 3}
		var packed, plain [][]byte
		for range rapid.IntRange(1, 4).Draw(t, "contents") {
			unit := rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "unit")
			data := bytes.Repeat(unit, rapid.IntRange(1, 300).Draw(t, "times"))
			column, block := c.packContent(&salt, data)
			if len(column) != hashSize+checkSize {
				if !bytes.Equal(block, data) || !bytes.Equal(column, salt[:]) {
					t.Fatal("what is not compressed is changed")
				}
				continue
			}
			packed, plain = append(packed, column, block), append(plain, data)
		}
		for i, data := range plain {
			column, block := packed[2*i], packed[2*i+1]
			gotSalt, got, ok := c.unpackContent(column, block)
			if !ok || !bytes.Equal(gotSalt, salt[:]) || !bytes.Equal(got, data) {
				t.Fatalf("content %d of %d bytes does not come back", i, len(data))
			}
			flipped := bytes.Clone(block)
			flipped[rapid.IntRange(0, len(block)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			if _, _, ok := c.unpackContent(column, flipped); ok {
				t.Fatal("a changed bit was not found")
			}
		}
	})
}
