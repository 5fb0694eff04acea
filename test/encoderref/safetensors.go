package encoderref

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

// readSafetensors reads the float32 tensors of a file of that format; others are left out.
func readSafetensors(path string) (map[string][]float32, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) < 8 {
		return nil, fmt.Errorf("read %q: no header", path)
	}
	length := binary.LittleEndian.Uint64(data)
	if length > uint64(len(data)-8) {
		return nil, fmt.Errorf("read %q: a header of %d bytes", path, length)
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(data[8:8+length], &header); err != nil {
		return nil, fmt.Errorf("read header of %q: %w", path, err)
	}
	delete(header, "__metadata__")
	body, tensors := data[8+length:], map[string][]float32{}
	for name, raw := range header {
		var entry struct {
			Type    string `json:"dtype"`
			Offsets [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &entry); err != nil {
			return nil, fmt.Errorf("read tensor %q: %w", name, err)
		}
		if entry.Type != "F32" {
			continue
		}
		from, to := entry.Offsets[0], entry.Offsets[1]
		if from < 0 || from > to || to > len(body) || (to-from)%4 != 0 {
			return nil, fmt.Errorf("read tensor %q: bytes %d to %d", name, from, to)
		}
		numbers := make([]float32, (to-from)/4)
		for i := range numbers {
			numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[from+4*i:]))
		}
		tensors[name] = numbers
	}
	return tensors, nil
}
