// Command convert makes the sentence encoder's file of weights from the model as it was
// published:
//
//	go run ./test/encoderref/convert model.safetensors pipeline/model/encoder/model.bin
//
// It prints the SHA-256 of both files. The same input gives the same bytes.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"

	"satchel/test/encoderref"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: convert model.safetensors model.bin")
		os.Exit(2)
	}
	if err := convert(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

func convert(from, to string) error {
	model, err := encoderref.Read(from)
	if err != nil {
		return err
	}
	file, err := model.Convert()
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, file, 0o644); err != nil {
		return err
	}
	original, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	fmt.Printf("%x  %s\n%x  %s\n", sha256.Sum256(original), from, sha256.Sum256(file), to)
	return nil
}
