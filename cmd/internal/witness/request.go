package witness

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/tlog"
)

// maxBody is how long the body of an add-checkpoint may be: 63 hashes and a note.
const maxBody = 64 << 10

// maxProof is how many hashes a proof has at most.
const maxProof = 63

// request is the body of an add-checkpoint.
type request struct {
	old    int64
	proof  tlog.TreeProof
	note   []byte
	origin string // the note's first line
}

// head is what a log signed.
type head struct {
	origin string
	size   int64
	root   tlog.Hash
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
}

// parse reads a body: the old size, a proof, an empty line, and a note.
func parse(body []byte) (request, error) {
	var req request
	front, signed, found := bytes.Cut(body, []byte("\n\n"))
	if !found {
		return req, errors.New("there is no empty line before the checkpoint")
	}
	lines := strings.Split(string(front), "\n")
	text, named := strings.CutPrefix(lines[0], "old ")
	old, err := strconv.ParseInt(text, 10, 64)
	if !named || err != nil || old < 0 || strconv.FormatInt(old, 10) != text {
		return req, errors.New("the first line is not the old size")
	}
	if len(lines)-1 > maxProof {
		return req, fmt.Errorf("a proof has at most %d hashes", maxProof)
	}
	req.old = old
	req.note = signed
	for i, line := range lines[1:] {
		h, err := tlog.ParseHash(line)
		if err != nil {
			return req, fmt.Errorf("line %d is no hash", i+2)
		}
		req.proof = append(req.proof, h)
	}
	req.origin, _, _ = strings.Cut(string(signed), "\n")
	return req, nil
}

// parseHead reads the text of a checkpoint, which must be in canonical form.
func parseHead(text string) (head, error) {
	var c log.Checkpoint
	rest, err := c.Unmarshal([]byte(text))
	if err != nil || len(c.Hash) != tlog.HashSize || c.Size > math.MaxInt64 ||
		string(c.Marshal())+string(rest) != text {
		return head{}, errors.New("the note is no checkpoint")
	}
	h := head{origin: c.Origin, size: int64(c.Size)}
	copy(h.root[:], c.Hash)
	return h, nil
}

// emptyRoot is the root of a log without entries.
func emptyRoot() tlog.Hash { return sha256.Sum256(nil) }
