// Command client talks to Satchel with nothing but nats.go and the standard library:
// it publishes a memory, asks for a context pack, follows the ledger and checks an
// inclusion proof. Usage: go run ./test/e2e/client [nats://127.0.0.1:4222]
// With a principal registry NATS_NKEY names the seed file of the principal "example".
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const tenant, agent, source = "main", "example", "https://example.com/client"

func main() {
	var options []nats.Option
	if seed := os.Getenv("NATS_NKEY"); seed != "" { // with a principal registry
		key, err := nats.NkeyOptionFromSeed(seed)
		check(err)
		options = append(options, key)
	}
	nc, err := nats.Connect(append(os.Args[1:], nats.DefaultURL)[0], options...)
	check(err)
	defer nc.Close()
	id := "example-" + rand.Text()

	// 1. Publish a memory: a CloudEvent in binary mode on the MEMORY stream.
	item := fmt.Sprintf(`{"id":%q,"type":"episodic","kind":"memory","scope":{"tenant":%q},"created_at":%q,
		"security_label":["level:internal"],"content":"The %s build turned green after the cache was cleared."}`,
		id, tenant, time.Now().UTC().Format(time.RFC3339), id)
	msg := nats.NewMsg("mem.v1." + tenant + ".evt." + agent)
	msg.Data = []byte(item)
	msg.Header = nats.Header{"ce-specversion": {"1.0"}, "ce-id": {id}, "ce-source": {source}, "ce-subject": {id},
		"ce-type": {"io.satchel.memory.recorded.v1"}, "ce-datacontenttype": {"application/json"}}
	js, err := nc.JetStream()
	check(err)
	_, err = js.PublishMsg(msg)
	check(err)
	var receipt struct{ Position int64 }
	call(nc, "log.v1."+tenant+".receipt", map[string]any{"source": source, "id": id, "level": "indexed"}, &receipt)
	fmt.Println("logged and indexed at position", receipt.Position)

	// 2. Ask for a context pack.
	var result struct {
		Payload struct {
			Text      string
			PackID    string `json:"pack_id"`
			Positions struct{ Pack int64 }
		}
	}
	call(nc, "ctx.v1."+tenant+".request", map[string]any{
		"meta":    map[string]any{"type": "ContextRequest", "from": map[string]any{"id": agent, "securityLevel": "internal"}},
		"payload": map[string]any{"query": map[string]any{"text": "which build turned green? " + id}, "token_budget": 1000}}, &result)
	if !strings.Contains(result.Payload.Text, id) {
		log.Fatal("the pack does not show the memory")
	}
	fmt.Println("pack", result.Payload.PackID, "shows it; log position", result.Payload.Positions.Pack)

	// 3. Follow the ledger until the pack comes by.
	sub, err := js.SubscribeSync("prov.v1."+tenant+".pack.*", nats.OrderedConsumer())
	check(err)
	for {
		m, err := sub.NextMsg(10 * time.Second)
		check(err)
		if m.Header.Get("ce-id") == result.Payload.PackID {
			break
		}
	}
	fmt.Println("the ledger has the pack")

	// 4. Prove that the memory stands in the log whose head is signed.
	var head struct {
		PublicKey string `json:"public_key"`
	}
	call(nc, "log.v1."+tenant+".head", map[string]any{}, &head)
	var proof struct {
		Checkpoint, Preimage string
		Inclusion            struct {
			Position, Size int64
			Hashes         []string
		}
	}
	call(nc, "log.v1."+tenant+".prove", map[string]any{"position": receipt.Position}, &proof)
	size, root := openCheckpoint(proof.Checkpoint, head.PublicKey)
	leaf := sha256.Sum256(append([]byte{0}, proof.Preimage...))
	if size != proof.Inclusion.Size || !bytes.Equal(root, climb(leaf, proof.Inclusion.Position-1, size, proof.Inclusion.Hashes)) ||
		!strings.Contains(proof.Preimage, fmt.Sprintf("\nid %d %s\n", len(id), id)) {
		log.Fatal("the proof does not hold")
	}
	fmt.Printf("proved: position %d of %d under the signed root %x\n", receipt.Position, size, root)
}

// climb computes the root from a leaf and its audit path (RFC 9162, section 2.1.3.2).
func climb(hash [32]byte, index, size int64, path []string) []byte {
	for last := size - 1; len(path) > 0; index, last = index>>1, last>>1 {
		if index%2 == 0 && index == last { // no sibling on this level
			continue
		}
		sibling, err := hex.DecodeString(path[0])
		check(err)
		path = path[1:]
		if index%2 == 1 {
			hash = sha256.Sum256(append(append([]byte{1}, sibling...), hash[:]...))
		} else {
			hash = sha256.Sum256(append(append([]byte{1}, hash[:]...), sibling...))
		}
	}
	return hash[:]
}

// openCheckpoint checks the signature (C2SP signed-note) and returns size and root.
func openCheckpoint(signed, key string) (size int64, root []byte) {
	parts := strings.SplitN(key, "+", 3) // name, key hash, base64 of 0x01 and the Ed25519 key
	public, err := base64.StdEncoding.DecodeString(parts[2])
	check(err)
	text, signed, _ := strings.Cut(signed, "\n\n— "+parts[0]+" ")
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(signed))
	check(err)
	if !ed25519.Verify(public[1:], []byte(text+"\n"), signature[4:]) {
		log.Fatal("the head's signature is wrong")
	}
	lines := strings.Split(text, "\n") // origin, size, root
	_, err = fmt.Sscan(lines[1], &size)
	check(err)
	root, err = base64.StdEncoding.DecodeString(lines[2])
	check(err)
	return size, root
}

// call sends a request as JSON and decodes the reply; an error header ends the program.
func call(nc *nats.Conn, subject string, request, reply any) {
	body, err := json.Marshal(request)
	check(err)
	m, err := nc.Request(subject, body, 10*time.Second)
	check(err)
	if e := m.Header.Get("Nats-Service-Error"); e != "" {
		log.Fatal(e, " ", string(m.Data))
	}
	check(json.Unmarshal(m.Data, reply))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
