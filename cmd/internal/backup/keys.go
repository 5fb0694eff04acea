package backup

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"

	"satchel/pipeline/infra/files"
)

// ErrPassphrase is returned for a file of keys that another passphrase encrypted.
var ErrPassphrase = errors.New("the passphrase is another")

// WriteKeys writes the files below the folder keys into the file path: a tar, encrypted with age under a
// passphrase.
func WriteKeys(path, keys, passphrase string) error {
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return fmt.Errorf("encrypt keys: %w", err)
	}
	return files.Write(path, func(out io.Writer) error {
		sealed, err := age.Encrypt(out, to)
		if err != nil {
			return fmt.Errorf("encrypt keys: %w", err)
		}
		w := tar.NewWriter(sealed)
		err = filepath.WalkDir(keys, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			name, err := filepath.Rel(keys, p)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(data)), Format: tar.FormatPAX}); err != nil {
				return err
			}
			_, err = w.Write(data)
			return err
		})
		if err := errors.Join(err, w.Close(), sealed.Close()); err != nil {
			return fmt.Errorf("encrypt keys: %w", err)
		}
		return nil
	})
}

// ReadKeys writes the files that WriteKeys put into the file path to the folder keys, which must not
// be there. It returns ErrPassphrase for another passphrase.
func ReadKeys(path, keys, passphrase string) (err error) {
	if _, err := os.Stat(keys); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("decrypt keys: %s is there already", keys)
	}
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return fmt.Errorf("decrypt keys: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("decrypt keys: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	opened, err := age.Decrypt(file, identity)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return fmt.Errorf("decrypt keys: %w", ErrPassphrase)
	}
	if err != nil {
		return fmt.Errorf("decrypt keys: %w", err)
	}
	files := map[string][]byte{} // nothing is written before the whole is read, and so authenticated
	r := tar.NewReader(opened)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("decrypt keys: %w", err)
		}
		if !filepath.IsLocal(filepath.FromSlash(h.Name)) {
			return fmt.Errorf("decrypt keys: %q is no name of a key", h.Name)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			return fmt.Errorf("decrypt keys: %w", err)
		}
	}
	if _, err := io.Copy(io.Discard, opened); err != nil {
		return fmt.Errorf("decrypt keys: %w", err)
	}
	for name, data := range files {
		if err := writeFile(filepath.Join(keys, filepath.FromSlash(name)), data); err != nil {
			return fmt.Errorf("decrypt keys: %w", err)
		}
	}
	return nil
}
