package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// makeKey writes a new signing key into a file that must not be there yet, and prints the key that verifies.
func makeKey(name, path string) error {
	key, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	if _, err := fmt.Fprintln(file, key); err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	fmt.Println(public)
	return nil
}

// sign writes a file as a signed note.
func sign(w io.Writer, keyPath, path string) error {
	key, err := os.ReadFile(keyPath)
	if err != nil {
		return fmt.Errorf("read signing key: %w", err)
	}
	signer, err := note.NewSigner(strings.TrimSpace(string(key)))
	if err != nil {
		return fmt.Errorf("read signing key %s: %w", keyPath, err)
	}
	sums, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	signed, err := note.Sign(&note.Note{Text: string(sums)}, signer)
	if err != nil {
		return fmt.Errorf("sign %s: %w", path, err)
	}
	_, err = w.Write(signed)
	return err
}
