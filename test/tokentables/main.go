// Command tokentables writes the tokens of an encoding, as a library has them: tokentables ENCODING FILE.
// Each token follows its length in a byte, in the order of their ranks, and all is compressed
// with gzip.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"log"
	"os"

	"github.com/tiktoken-go/tokenizer"
)

func main() {
	if err := write(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func write(encoding, path string) error {
	codec, err := tokenizer.Get(tokenizer.Encoding(encoding))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	for rank := uint(0); ; rank++ {
		token, err := codec.Decode([]uint{rank})
		if err != nil { // there are no more
			break
		}
		if len(token) > 255 {
			return fmt.Errorf("token %d has %d bytes", rank, len(token))
		}
		if _, err := w.Write(append([]byte{byte(len(token))}, token...)); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
