package main

import (
	"strings"
	"testing"
)

func TestEvalThroughTheAssembler(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"few/memories.jsonl": `{"id":"kiln.go#L1","tenant":"t","session":"kiln.go","speaker":"kiln.go","text":"func fireKiln(days int) error { return heat(days) }"}` + "\n" +
			`{"id":"ferry.go#L1","tenant":"t","session":"ferry.go","speaker":"ferry.go","text":"func leave(harbour string) error { return sail(harbour) }"}` + "\n",
		"few/queries.jsonl": `{"id":"q","tenant":"t","text":"fire the kiln for days","category":"code","relevant":["kiln.go#L1"]}` + "\n",
	})
	for _, kind := range []string{"code", "commit"} {
		r := lab(t, "eval", "--data", dir, "--set", "few", "--assemble", kind, "--budget", "300", "--json")
		if r.code != 0 || !strings.Contains(strings.ReplaceAll(r.out, " ", ""), `"300":1`) {
			t.Errorf("%s: exit code %d\n%s%s", kind, r.code, r.out, r.err)
		}
	}
}
