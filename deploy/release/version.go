package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// versioned lists the places that name the version of a release, each with what precedes it on its line.
var versioned = []struct{ file, before string }{
	{"emitters/python/pyproject.toml", `version = "`},
	{"emitters/typescript/package.json", `  "version": "`},
	{"deploy/helm/satchel/Chart.yaml", `version: `},
	{"deploy/helm/satchel/Chart.yaml", `appVersion: "`},
	{"CHANGELOG.md", `## `},
}

// checkVersion fails unless every file below root names version. The changelog needs a heading of it.
func checkVersion(root, version string) error {
	var wrong []error
	for _, place := range versioned {
		text, err := os.ReadFile(filepath.Join(root, place.file))
		if err != nil {
			return err
		}
		line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(place.before+version) + `([" ,].*)?$`)
		if !line.Match(text) {
			wrong = append(wrong, fmt.Errorf("%s has no line %s%s", place.file, place.before, version))
		}
	}
	return errors.Join(wrong...)
}
