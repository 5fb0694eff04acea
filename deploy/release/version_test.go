package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The files of the tree name one version, and a release is refused where any of them names another.
func TestFilesNameOneVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../emitters/typescript/package.json")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`"version": "(\d+\.\d+\.\d+)"`).FindSubmatch(text)
	if version == nil {
		t.Fatal("package.json has no version")
	}
	tree := t.TempDir()
	for _, place := range versioned {
		text, err := os.ReadFile(filepath.Join("../..", place.file))
		if place.file == "CHANGELOG.md" { // it has the heading once the version is released
			text = []byte("# Changelog\n\n## " + string(version[1]) + ", 3 March 2026\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := writeFile(filepath.Join(tree, place.file), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkVersion(tree, string(version[1])); err != nil {
		t.Error(err)
	}
	for _, other := range []string{string(version[1]) + "1", "1" + string(version[1])} {
		if err := checkVersion(tree, other); err == nil || strings.Count(err.Error(), "has no line") != len(versioned) {
			t.Errorf("version %s: %v", other, err)
		}
	}
}
