package injection

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Revision names the model that is part of the program.
const Revision = "injection-3"

//go:embed injection-3.bin
var modelFile []byte

// Model is a trained classifier: weights of hashed features for each head, and a
// small network over what they say of a document.
type Model struct {
	groups  *groupTable
	weights []lanes
	scale   [heads]float32
	bias    [heads]float32
	first   [hidden][inputs]float32
	shift   [hidden]float32
	second  [hidden]float32
	offset  float32
}

// ErrModel is returned for a file that is no model of this version.
var ErrModel = errors.New("not a model of this version")

// lanes are the weights of a bucket, one of each head, in lanes of laneBits and moved by laneZero,
// so that one addition adds all of them.
type lanes uint64

// mostAdded is the number of lanes whose sum does not run over.
const (
	laneBits  = 12
	laneZero  = 128
	mostAdded = 16
)

func packWeights(w [heads]int8) (l lanes) {
	for h, v := range w {
		l |= lanes(int(v)+laneZero) << (h * laneBits)
	}
	return l
}

// readLane returns a lane.
func (l lanes) readLane(h int) int32 { return int32(l>>(h*laneBits)) & (1<<laneBits - 1) }

func (l lanes) unpackWeights() (w [heads]int8) {
	for h := range w {
		w[h] = int8(l.readLane(h) - laneZero)
	}
	return w
}

// A model file is the magic, the little-endian floats of the model in the order of its
// fields, the groups of words, and a run-length code of the weights: a byte 0 and a count stand for that
// many buckets without any weight, a byte 1 stands before the weights of a bucket.
const (
	magic  = "satchel injection 2\n"
	floats = 2*heads + hidden*inputs + 2*hidden + 1
)

// Decode reads a model file.
func Decode(data []byte) (*Model, error) {
	if len(data) < len(magic)+4*floats || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("decode model: %w", ErrModel)
	}
	m := &Model{weights: slices.Repeat([]lanes{packWeights([heads]int8{})}, buckets)}
	data = data[len(magic):]
	for _, p := range m.listNumbers() {
		*p = math.Float32frombits(binary.LittleEndian.Uint32(data))
		if f := float64(*p); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("decode model: %w: a number is not finite", ErrModel)
		}
		data = data[4:]
	}
	groups, data, err := decodeGroups(data)
	if err != nil {
		return nil, fmt.Errorf("decode model: %w", err)
	}
	m.groups = groups
	at := 0
	for len(data) > 0 {
		switch {
		case data[0] == 0 && len(data) > 1:
			at += int(data[1])
			data = data[2:]
		case data[0] == 1 && len(data) > heads && at < buckets:
			var w [heads]int8
			for h := range heads {
				w[h] = int8(data[1+h])
			}
			m.weights[at] = packWeights(w)
			at++
			data = data[1+heads:]
		default:
			return nil, fmt.Errorf("decode model: %w: bucket %d", ErrModel, at)
		}
	}
	if at != buckets {
		return nil, fmt.Errorf("decode model: %w: %d buckets", ErrModel, at)
	}
	return m, nil
}

// Encode writes a model file.
func (m *Model) Encode() []byte {
	out := []byte(magic)
	for _, p := range m.listNumbers() {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(*p))
	}
	out = m.groups.appendGroups(out)
	run := 0
	flush := func() {
		if run > 0 {
			out = append(out, 0, byte(run))
			run = 0
		}
	}
	for _, l := range m.weights {
		w := l.unpackWeights()
		if w == [heads]int8{} {
			run++
			if run == 255 {
				flush()
			}
			continue
		}
		flush()
		out = append(out, 1)
		for _, v := range w {
			out = append(out, byte(v))
		}
	}
	flush()
	return out
}

// listNumbers returns the floats in the order of the file.
func (m *Model) listNumbers() []*float32 {
	out := make([]*float32, 0, floats)
	for h := range heads {
		out = append(out, &m.scale[h], &m.bias[h])
	}
	for i := range m.first {
		for j := range m.first[i] {
			out = append(out, &m.first[i][j])
		}
		out = append(out, &m.shift[i], &m.second[i])
	}
	return append(out, &m.offset)
}

// decideInjection is the second stage: the logit of an injection.
func (m *Model) decideInjection(x *[inputs]float32) float32 {
	out := m.offset
	for i := range m.first {
		sum := m.shift[i]
		w := &m.first[i]
		for j, v := range x {
			sum += w[j] * v
		}
		if sum > 0 {
			out += sum * m.second[i]
		}
	}
	return out
}
