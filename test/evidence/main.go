// Command evidence checks an evidence file with torchwood, a verifier of others: each inclusion proof in it against the
// key in it. It knows nothing of Satchel but the names of the members. It is a module of its own, so that
// Satchel does not depend on torchwood.
//
// Usage: go run . F.zip
package main

import (
	"archive/zip"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	file, err := zip.OpenReader(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	members := map[string][]byte{}
	for _, f := range file.File {
		r, err := f.Open()
		if err != nil {
			log.Fatal(err)
		}
		if members[f.Name], err = io.ReadAll(r); err != nil {
			log.Fatal(err)
		}
	}
	policy, err := torchwood.ParsePolicy(members["keys/policy"])
	if err != nil {
		log.Fatal("keys/policy: ", err)
	}
	proofs := 0
	for name, proof := range members {
		entry, ok := strings.CutSuffix(name, ".tlog-proof")
		if !ok {
			continue
		}
		if err := torchwood.VerifyProof(policy, tlog.RecordHash(members[entry+".preimage"]), proof); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		proofs++
	}
	fmt.Printf("torchwood accepts %d proofs\n", proofs)
}
