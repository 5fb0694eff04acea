package encoder

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// projectionMagic opens a file of a projection. It is followed by the numbers of dimensions it
// is from and to (uint32), a row of from weights for each dimension it is to, and an offset
// for each (float32), all little endian.
const projectionMagic = "PROJECT1"

// errProjection is the cause of every refused projection.
var errProjection = errors.New("not a projection of this version")

// Projection maps vectors to another space: a matrix and an offset. It does not change.
type Projection struct {
	from, to int
	rows     []float32
	offset   []float32
	digest   string
}

// ToTable returns the map to the space of the static table: there the table's vectors and the
// encoder's can be compared. It fails with ErrNotIncluded if the binary has no model.
func ToTable() (*Projection, error) {
	data := tableProjection()
	if data == "" {
		return nil, ErrNotIncluded
	}
	return ParseProjection([]byte(data))
}

// ParseProjection reads a file. It fails if the file has another format or length, or a number
// that is not finite.
func ParseProjection(data []byte) (*Projection, error) {
	header := len(projectionMagic) + 2*number
	if len(data) < header || string(data[:len(projectionMagic)]) != projectionMagic {
		return nil, fmt.Errorf("header: %w", errProjection)
	}
	sizes := data[len(projectionMagic):]
	from, to := binary.LittleEndian.Uint32(sizes), binary.LittleEndian.Uint32(sizes[number:])
	if from == 0 || to == 0 || from > maxDimension || to > maxDimension {
		return nil, fmt.Errorf("from %d to %d dimensions: %w", from, to, errProjection)
	}
	if want := int64(header) + number*int64(to)*(int64(from)+1); int64(len(data)) != want {
		return nil, fmt.Errorf("%d bytes instead of %d: %w", len(data), want, errProjection)
	}
	digest := sha256.Sum256(data)
	p := &Projection{from: int(from), to: int(to), digest: string(digest[:])}
	numbers := make([]float32, p.to*(p.from+1))
	for i := range numbers {
		numbers[i] = float(data[header:], i)
		if n := float64(numbers[i]); math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("number %d is not finite: %w", i, errProjection)
		}
	}
	p.rows, p.offset = numbers[:p.to*p.from], numbers[p.to*p.from:]
	return p, nil
}

// apply sets dst to the projection of v.
func (p *Projection) apply(dst, v []float32) {
	for i := range dst {
		sum := float64(p.offset[i])
		for j, weight := range p.rows[i*p.from : (i+1)*p.from] {
			sum += float64(float64(weight) * float64(v[j]))
		}
		dst[i] = float32(sum)
	}
}
