package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"satchel/cmd/internal/importer/source/tree"
)

// Walk lists the files below dir, with paths from it and slashes, in order; folders whose
// name begins with a dot and those that Known leaves out are passed over. It is for
// folders that are no git repository.
func Walk(ctx context.Context, dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case !d.IsDir():
			files = append(files, rel)
		case rel != "." && (strings.HasPrefix(d.Name(), ".") || IsVendored(rel)):
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	return files, nil
}

// Load reads the file called name of a folder, of at most a size, with what the system says of it. What is
// no regular file below it, such as a link or a submodule, has no text.
func Load(dir *tree.Folder, name string, most int64) ([]byte, fs.FileInfo, Reason) {
	text, info, err := dir.Read(name, most)
	switch {
	case errors.Is(err, tree.ErrTooLarge):
		return nil, nil, TooLarge
	case err != nil: // also what is tracked, and deleted in the work tree
		return nil, nil, Unreadable
	}
	return text, info, ""
}
