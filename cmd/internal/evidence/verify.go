package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// verifier checks the members of an evidence file.
type verifier struct {
	Members
	key             note.Verifier
	tenant, origin  string
	head            eventlog.Head
	content         bool
	packs           []packed
	entries         map[int64]*checked
	receiptsOfPacks map[int64]bool // packs whose erasure a receipt names
}

// checked is an entry that was checked.
type checked struct {
	eventlog.Row
	leaf tlog.Hash
	data []byte // nil: it is not in the file
	open opening
}

// Verify checks an evidence file. known is the verifier key that the caller knows, "" for the one in the
// file. The first member that does not hold is a *BadError.
func Verify(raw []byte, known string) (Summary, error) {
	members, err := unpack(raw)
	if err != nil {
		return Summary{}, err
	}
	v := &verifier{Members: members, entries: map[int64]*checked{}, receiptsOfPacks: map[int64]bool{}}
	key := strings.TrimSuffix(string(members["keys/log.vkey"]), "\n")
	if known != "" && material(key) != material(known) {
		return Summary{}, &BadError{"keys/log.vkey", "it is not the key that you know"}
	}
	if v.key, err = note.NewVerifier(key); err != nil {
		return Summary{}, &BadError{"keys/log.vkey", "it is no key"}
	}
	for _, check := range []func() error{v.manifest, v.checkpoint, v.allEntries, v.allPacks} {
		if err := check(); err != nil {
			return Summary{}, err
		}
	}
	return Summary{Packs: len(v.packs), Entries: len(v.entries), Files: len(members), Head: v.head, Key: key, Tenant: v.tenant, Origin: v.origin}, nil
}

// material is the public key in a verifier key, whatever name it has there.
func material(key string) string {
	parts := strings.SplitN(key, "+", 3) // name, hash, key, which may hold another +
	return parts[len(parts)-1]
}

// manifest checks the signature, and that the manifest lists every other member.
func (v *verifier) manifest() error {
	signed, err := note.Open(v.Members["manifest"], note.VerifierList(v.key))
	if err != nil {
		return &BadError{"manifest", "the key did not sign it"}
	}
	listed := map[string]string{} // hash and size by name
	lines := strings.Split(strings.TrimSuffix(signed.Text, "\n"), "\n")
	if lines[0] != format {
		return &BadError{"manifest", fmt.Sprintf("its format is %.40q, and this version reads %s", lines[0], format)}
	}
	for _, line := range lines[1:] {
		kind, rest, _ := strings.Cut(line, " ")
		words := strings.SplitN(rest, " ", map[string]int{"file": 3, "pack": 4}[kind])
		switch {
		case kind == "tenant":
			v.tenant = rest
			err = nil
		case kind == "origin":
			v.origin = rest
			err = nil
		case kind == "content":
			v.content, err = strconv.ParseBool(rest)
		case kind == "head":
			err = v.readHead(strings.Fields(rest))
		case kind == "pack" && len(words) == 4:
			err = v.readPack(words)
		case kind == "file" && len(words) == 3:
			listed[words[2]] = words[0] + " " + words[1]
		default:
			err = errors.New("it is not known")
		}
		if err != nil {
			return &BadError{"manifest", fmt.Sprintf("line %.60q: %v", line, err)}
		}
	}
	for name, data := range v.Members {
		sum := sha256.Sum256(data)
		if name != "manifest" && listed[name] != fmt.Sprintf("%x %d", sum, len(data)) {
			return &BadError{name, "it is not what the manifest lists"}
		}
		delete(listed, name)
	}
	for name := range listed {
		return &BadError{name, "it is missing"}
	}
	return nil
}

func (v *verifier) readHead(words []string) (err error) {
	if len(words) != 2 {
		return errors.New("it is no head")
	}
	v.head.Size, err = strconv.ParseInt(words[0], 10, 64)
	root, hexErr := hex.DecodeString(words[1])
	copy(v.head.Root[:], root)
	return errors.Join(err, hexErr)
}

func (v *verifier) readPack(words []string) error {
	p := packed{id: words[3]}
	var errs []error
	for i, to := range []*int64{&p.pack, &p.drop, &p.decision} {
		n, err := strconv.ParseInt(words[i], 10, 64)
		*to = n
		errs = append(errs, err)
	}
	v.packs = append(v.packs, p)
	return errors.Join(errs...)
}

// checkpoint checks that the head is signed.
func (v *verifier) checkpoint() error {
	signed, err := note.Open(v.Members["checkpoint"], note.VerifierList(v.key))
	var c log.Checkpoint
	if err == nil {
		_, err = c.Unmarshal([]byte(signed.Text))
	}
	switch {
	case err != nil:
		return &BadError{"checkpoint", "the key did not sign it"}
	case c.Origin != v.origin || int64(c.Size) != v.head.Size || !bytes.Equal(c.Hash, v.head.Root[:]):
		return &BadError{"checkpoint", "it is not the head of the manifest"}
	}
	return nil
}

// allEntries checks that every entry is in the log, and its data what was logged.
func (v *verifier) allEntries() error {
	for name := range v.Members {
		rest, ok := strings.CutPrefix(name, "entries/")
		if !ok {
			continue
		}
		number, kind, _ := strings.Cut(rest, ".")
		position, err := strconv.ParseInt(number, 10, 64)
		if err != nil || v.Members[entryName(position, "preimage")] == nil {
			return &BadError{name, "an entry without a proof"}
		}
		if kind == "preimage" {
			if err := v.entry(position); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verifier) entry(position int64) error {
	name := entryName(position, "preimage")
	row, err := eventlog.ParsePreimage(v.tenant, v.Members[name])
	if err != nil || row.Position != position {
		return &BadError{name, "it is no leaf preimage of this entry"}
	}
	e := &checked{Row: row, leaf: tlog.RecordHash(v.Members[name]), data: v.Members[entryName(position, "data")]}
	if err := v.inclusion(position, e.leaf); err != nil {
		return err
	}
	v.entries[position] = e
	if e.data == nil {
		return nil
	}
	name = entryName(position, "opening")
	if json.Unmarshal(v.Members[name], &e.open) != nil {
		return &BadError{name, "it is no opening"}
	}
	if salt := unhex(e.open.Salt); eventlog.Commit(salt, []byte(e.open.Extensions), e.data) != row.Commitment {
		return &BadError{entryName(position, "data"), "it is not what was logged"}
	}
	name = resultName(position)
	result, ok := v.Members[name]
	if salt := unhex(e.open.AttachmentSalt); ok && eventlog.Commit(salt, []byte(e.open.Refs), result) != row.Attachment {
		return &BadError{name, "it is not what was logged"}
	}
	var erased schemas.MemoryErased
	if row.Type == schemas.TypeMemoryErased && json.Unmarshal(e.data, &erased) == nil && erased.Receipt != nil {
		for _, pack := range erased.Receipt.Packs {
			v.receiptsOfPacks[pack] = true
		}
	}
	return nil
}

func resultName(position int64) string { return fmt.Sprintf("packs/%d/result.json", position) }

func unhex(text string) (out [32]byte) {
	raw, _ := hex.DecodeString(text) // what is no salt opens nothing
	copy(out[:], raw)
	return out
}

// inclusion checks a C2SP tlog-proof.
func (v *verifier) inclusion(position int64, leaf tlog.Hash) error {
	name := entryName(position, "tlog-proof")
	text, signed, _ := strings.Cut(string(v.Members[name]), "\n\n")
	if signed != string(v.Members["checkpoint"]) {
		return &BadError{name, "its checkpoint is another"}
	}
	lines, ok := strings.CutPrefix(text, fmt.Sprintf("%sindex %d", proofTitle, position-1))
	if !ok {
		return &BadError{name, "it is of another entry"}
	}
	var path tlog.RecordProof
	for line := range strings.Lines(strings.TrimPrefix(lines, "\n")) {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(line, "\n"))
		if err != nil || len(raw) != tlog.HashSize {
			return &BadError{name, "it cannot be read"}
		}
		path = append(path, tlog.Hash(raw))
	}
	if err := tlog.CheckRecord(path, v.head.Size, v.head.Root, position-1, leaf); err != nil {
		return &BadError{name, "it does not lead to the root"}
	}
	return nil
}

// allPacks checks what each pack says against its drop report, its decision, its items and its result.
func (v *verifier) allPacks() error {
	for _, p := range v.packs {
		if problem := v.pack(p); problem != "" {
			return &BadError{"pack " + p.id, problem}
		}
	}
	return nil
}

// read reads an entry of a pack's request; false unless it is there and of the type.
func (v *verifier) read(position int64, eventType, subject string, to any) bool {
	e := v.entries[position]
	return e != nil && e.Type == eventType && e.Subject == subject && e.data != nil && json.Unmarshal(e.data, to) == nil
}

func (v *verifier) pack(p packed) (problem string) {
	var pack schemas.ContextPack
	var drops schemas.DropReport
	var decision schemas.PolicyDecision
	subject := ""
	if e := v.entries[p.pack]; e != nil {
		subject = e.Subject
	}
	switch {
	case !v.read(p.pack, schemas.TypeContextPacked, subject, &pack) || pack.ID != p.id:
		return "its entry is not there"
	case !v.read(p.drop, schemas.TypeContextDropped, subject, &drops) || drops.PackID != p.id:
		return "its drop report is not there"
	case !v.read(p.decision, schemas.TypePolicyDecided, subject, &decision) || decision.RequestID != pack.RequestID:
		return "its decision is not there"
	}
	if problem := v.result(p, &pack); problem != "" {
		return problem
	}
	return v.items(&pack, &drops, &decision)
}

// result checks the stored result and its text, or that both were erased.
func (v *verifier) result(p packed, pack *schemas.ContextPack) string {
	result, ok := v.Members[resultName(p.pack)]
	if !ok {
		if v.content && !v.receiptsOfPacks[p.pack] {
			return "its result is missing, and no receipt says that it was erased"
		}
		return ""
	}
	var stored struct {
		Payload struct{ Pack struct{ Salt string } }
	}
	if json.Unmarshal(result, &stored) != nil {
		return "its result is no result"
	}
	salt, err := hex.DecodeString(stored.Payload.Pack.Salt)
	switch {
	case err != nil:
		return "its salt is no salt"
	case schemas.SaltedSHA256(nil, result) != pack.ResultSHA256:
		return "its result is another"
	case schemas.SaltedSHA256(salt, v.Members[fmt.Sprintf("packs/%d/text.txt", p.pack)]) != pack.RenderedSHA256:
		return "its text is another"
	}
	return ""
}

// items checks that each item that was shown is proved and allowed, and that nothing is left over.
func (v *verifier) items(pack *schemas.ContextPack, drops *schemas.DropReport, decision *schemas.PolicyDecision) string {
	allowed, denied := verdicts(decision, drops)
	named := map[string]bool{}
	for _, section := range pack.Sections {
		for i := range section.Items {
			id := section.Items[i].ID
			named[id] = true
			if !v.proved(pack, id) {
				return fmt.Sprintf("item %q is not proved", id)
			}
			if !allowed[id] {
				return fmt.Sprintf("no verdict allows item %q", id)
			}
		}
	}
	for _, d := range drops.Drops {
		named[d.ItemID] = true
		if denied[d.ItemID] && d.Reason != schemas.DropPolicy { // a principal who may know of it is told that policy denied it
			return fmt.Sprintf("the denied item %q is named", d.ItemID)
		}
	}
	for id := range allowed {
		if !named[id] {
			return fmt.Sprintf("item %q was allowed, and is neither shown nor dropped", id)
		}
	}
	sum := 0
	for _, n := range drops.Denied {
		sum += n
	}
	if sum != len(denied) {
		return fmt.Sprintf("%d items were denied, and the drop report counts %d", len(denied), sum)
	}
	return ""
}

// verdicts returns the items that a decision allows, and those that it denies or leaves nothing of.
func verdicts(decision *schemas.PolicyDecision, drops *schemas.DropReport) (allowed, denied map[string]bool) {
	allowed = map[string]bool{}
	denied = map[string]bool{}
	for _, verdict := range decision.Verdicts {
		if verdict.Allow {
			allowed[verdict.ItemID] = true
		}
	}
	for _, d := range drops.Drops {
		if d.Reason == schemas.DropPolicy && d.Detail == schemas.ReasonRedacted {
			delete(allowed, d.ItemID)
		}
	}
	for _, verdict := range decision.Verdicts {
		if !allowed[verdict.ItemID] {
			denied[verdict.ItemID] = true
		}
	}
	return allowed, denied
}

// proved reports whether the log has an item at the version that the pack names.
func (v *verifier) proved(pack *schemas.ContextPack, id string) bool {
	return slices.ContainsFunc(pack.ProvenanceRefs, func(r schemas.ProvenanceRef) bool {
		e := v.entries[r.Position]
		return r.ItemID == id && e != nil && hex.EncodeToString(e.leaf[:]) == r.Leaf
	})
}
