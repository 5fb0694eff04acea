package static

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// tableOf builds a table file of random rows.
func tableOf(rng *rand.Rand, rows int) []byte {
	data := append([]byte(magic), 0, 0, 0, 0, 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(data[8:], uint32(rows))
	binary.LittleEndian.PutUint32(data[12:], Dimensions)
	for range rows * Dimensions {
		data = append(data, byte(rng.IntN(256)))
	}
	for range rows {
		data = binary.LittleEndian.AppendUint16(data, uint16(rng.IntN(0x3c01))) // 0 to 1
	}
	return data
}

func TestSumEqualsPlainArithmetic(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	tab, err := newTable(tableOf(rng, 50), 50)
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range []int{1, 2, 30, maxPieces} {
		var sum accumulator
		var want [Dimensions]float64
		for range count {
			piece := rng.IntN(50)
			tab.addScaledRow(&sum, uint16(piece))
			for d := range want {
				want[d] += float64(int8(tab.rows[piece*Dimensions+d])) * float64(tab.scale[piece])
			}
		}
		var norm float64
		for _, w := range want {
			norm += w * w
		}
		var got [Dimensions]float32
		sum.writeUnitVector(&got)
		for d := range want {
			if w := want[d] / math.Sqrt(norm); math.Abs(float64(got[d])-w) > 1e-7 {
				t.Fatalf("%d rows, dimension %d: %v, want %v", count, d, got[d], w)
			}
		}
	}
}

func TestSumDoesNotOverflow(t *testing.T) {
	t.Parallel()
	for _, value := range []int8{127, -128} {
		tab := &table{rows: make([]byte, Dimensions), scale: []uint16{maxScale}}
		for i := range tab.rows {
			tab.rows[i] = byte(value)
		}
		var sum accumulator
		for range maxPieces {
			tab.addScaledRow(&sum, 0)
		}
		var got [Dimensions]float32
		sum.writeUnitVector(&got)
		want := float32(math.Copysign(1/math.Sqrt(Dimensions), float64(value)))
		for d, v := range got {
			if v != want {
				t.Fatalf("rows of %d: dimension %d is %v, want %v", value, d, v, want)
			}
		}
	}
}

func TestFloat16(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint16]float64{
		0: 0, 1: 0x1p-24, 0x03ff: 1023 * 0x1p-24, 0x0400: 0x1p-14, 0x3555: 0.333251953125, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504,
	} {
		if got := decodeFloat16(bits); got != want {
			t.Errorf("float16(%#04x) = %v, want %v", bits, got, want)
		}
	}
	if got := decodeFloat16(0x7c00); !math.IsNaN(got) {
		t.Errorf("float16 of infinity = %v, want NaN", got)
	}
}

func TestNewTableRefusesDamage(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	good := tableOf(rng, 3)
	change := func(at int, b byte) []byte {
		bad := append([]byte(nil), good...)
		bad[at] = b
		return bad
	}
	for name, data := range map[string][]byte{
		"empty":      nil,
		"magic":      change(0, 'X'),
		"rows":       change(8, 4),
		"dimensions": change(12, 1),
		"short":      good[:len(good)-1],
		"long":       append(change(0, magic[0]), 0),
		"scale":      change(len(good)-1, 0x7c),
	} {
		if _, err := newTable(data, 3); !errors.Is(err, errFormat) {
			t.Errorf("%s: error %v, want errFormat", name, err)
		}
	}
}

func TestRevisionFollowsTheBytes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	data := tableOf(rng, 2)
	a, err := loadEmbedder(data, "x\ny\n")
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte(nil), data...)
	changed[headerSize] ^= 1
	b, err := loadEmbedder(changed, "x\ny\n")
	if err != nil {
		t.Fatal(err)
	}
	if a.Model().Revision == b.Model().Revision {
		t.Errorf("two tables have the revision %s", a.Model().Revision)
	}
}
