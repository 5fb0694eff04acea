// Command release makes the parts of a release that plain commands cannot: a Go module under a path that can be
// downloaded, the check that all files name one version, and signed sums. The Makefile calls it, in the root of the
// source tree.
//
//	release publish DIR MODULE VERSION   write the module, as a file tree of the Go module proxy protocol
//	release version VERSION              fail unless every file and the changelog name this version
//	release key NAME FILE                make the key that signs releases; print its verifier key
//	release sign FILE SUMS               print SUMS as a note that this key signed
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch command, args := args[0], args[1:]; {
		case command == "publish" && len(args) == 3:
			return publish(ctx, args[0], args[1], args[2])
		case command == "version" && len(args) == 1:
			return checkVersion(".", args[0])
		case command == "key" && len(args) == 2:
			return makeKey(args[0], args[1])
		case command == "sign" && len(args) == 2:
			return sign(os.Stdout, args[0], args[1])
		}
	}
	return errors.New("usage: release publish DIR MODULE VERSION | version VERSION | key NAME FILE | sign FILE SUMS")
}
