package novelty

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// summary is the mean vector of an item, in 8 bits a number, and its labels. The scale of one that cannot be compared is 0.
type summary struct {
	row    []int8
	scale  float32
	labels string
}

// padded is the length of a row of dims numbers.
func padded(dims int) int { return (dims + vecmath.Lane - 1) / vecmath.Lane * vecmath.Lane }

// summarize returns an item's summary: the mean of the vectors of its text.
func summarize(r *schemas.Record, chunks []vector.Chunk, dims int) *summary {
	f := &summary{row: make([]int8, padded(dims)), labels: strings.Join(r.Facets.Labels, "\x00")}
	var sum []float32
	for i := range chunks {
		c := &chunks[i]
		switch {
		case c.Axis != "" || len(c.Vector) != dims:
		case sum == nil:
			sum = slices.Clone(c.Vector)
		default:
			for k, x := range c.Vector {
				sum[k] += x
			}
		}
	}
	f.scale = vecmath.Quantise(f.row, sum)
	return f
}

// Places in what append wrote.
const (
	scaleAt = 8 // after the age
	rowAt   = 12
)

// append appends a summary as it is kept: the age, the scale, the row, the labels.
func (f *summary) append(b []byte, age uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, age)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f.scale))
	for _, x := range f.row {
		b = append(b, byte(x))
	}
	return append(b, f.labels...)
}

// vectorSet is the summaries of a list of items, side by side.
type vectorSet struct {
	stride int
	rows   []int8
	scales []float32
	labels []int // those of equal labels have the same number; 0: the item is not there
	number map[string]int
}

func newVectorSet(n, dims int) *vectorSet {
	stride := padded(dims)
	return &vectorSet{stride: stride, rows: make([]int8, n*stride), scales: make([]float32, n), labels: make([]int, n), number: map[string]int{}}
}

// row is where the numbers of place i are.
func (l *vectorSet) row(i int) []int8 { return l.rows[i*l.stride : (i+1)*l.stride] }

// set puts f in place i; nil is nobody.
func (l *vectorSet) set(i int, f *summary) {
	if f == nil {
		return
	}
	copy(l.row(i), f.row)
	l.scales[i] = f.scale
	if _, ok := l.number[f.labels]; !ok {
		l.number[f.labels] = len(l.number) + 1
	}
	l.labels[i] = l.number[f.labels]
}

// read puts in place i what append wrote, unless it is of another age or there is none.
func (l *vectorSet) read(i int, kept []byte, age uint64) bool {
	labels := rowAt + l.stride
	if len(kept) < labels || binary.LittleEndian.Uint64(kept) != age {
		return false
	}
	row := l.row(i)
	for k, x := range kept[rowAt:labels] {
		row[k] = int8(x)
	}
	l.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(kept[scaleAt:]))
	number, ok := l.number[string(kept[labels:])]
	if !ok {
		number = len(l.number) + 1
		l.number[string(kept[labels:])] = number
	}
	l.labels[i] = number
	return true
}

// compare sets in out the novelties of those in list that out names.
func (l *vectorSet) compare(list []items.Member, window int, out map[string]float64) {
	query, sums := make([]int16, l.stride), make([]int32, window)
	for i := range list {
		if _, asked := out[list[i].ID]; !asked || l.labels[i] == 0 || l.scales[i] == 0 {
			continue
		}
		for k, x := range l.row(i) {
			query[k] = int16(x)
		}
		from := max(0, i-window)
		vecmath.Rows(query, l.rows[from*l.stride:i*l.stride], sums[:i-from])
		best := 0.0
		for k := range i - from {
			if l.labels[from+k] == l.labels[i] {
				best = math.Max(best, float64(sums[k])*float64(l.scales[i])*float64(l.scales[from+k]))
			}
		}
		out[list[i].ID] = 1 - math.Min(best, 1)
	}
}
