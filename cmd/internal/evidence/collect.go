package evidence

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	_ "embed" // the verifiers and README.txt

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// format is the first line of a manifest.
const format = "satchel-evidence/1"

//go:embed verify.html
var verifyHTML []byte

//go:embed verify.py
var verifyPy []byte

//go:embed README.txt
var readme []byte

// ErrNoPack is returned when there is no such pack.
var ErrNoPack = errors.New("there is no such pack")

// Source is what evidence is taken from.
type Source struct {
	Log   *eventlog.Log // has a signer
	Scope scope.Scope
}

// Options say what the evidence is of.
type Options struct {
	Pack       string // id of a pack; "" for all since a position
	Since      int64  // first position, where Pack is ""
	NoContent  bool   // without the stored results and texts
	Checkpoint []byte // signed head to prove with; nil: the present one
	Extra      Members
}

// Summary says what the evidence holds.
type Summary struct {
	Packs, Entries, Files int
	Head                  eventlog.Head
	Key                   string // that signed it
	Tenant, Origin        string
}

// collector gathers members.
type collector struct {
	Source
	o       Options
	head    eventlog.Head
	signed  []byte
	members Members
	packs   []packed
	done    map[int64]bool // entries whose data is in
	proved  map[int64]bool // entries whose proof is in
}

// packed is a pack with the positions of what belongs to it.
type packed struct {
	id                   string
	pack, drop, decision int64
}

// Collect returns the evidence as a file.
func Collect(ctx context.Context, src Source, o Options) ([]byte, Summary, error) {
	c := &collector{Source: src, o: o, members: Members{}, done: map[int64]bool{}, proved: map[int64]bool{}}
	if err := c.chooseHead(ctx); err != nil {
		return nil, Summary{}, err
	}
	var err error
	if o.Pack != "" {
		err = c.one(ctx)
	} else {
		err = c.since(ctx)
	}
	if err != nil {
		return nil, Summary{}, err
	}
	for name, data := range o.Extra {
		c.members[name] = data
	}
	key := c.Log.VerifierKey(c.Scope)
	c.members["keys/policy"] = []byte("log " + key + "\nquorum none\n")
	c.members["checkpoint"] = c.signed
	c.members["keys/log.vkey"] = []byte(key + "\n")
	c.members["verify.py"] = verifyPy
	c.members["verify.html"] = verifyHTML
	c.members["README.txt"] = readme
	manifest, err := c.Log.Sign(c.Scope, c.manifest())
	if err != nil {
		return nil, Summary{}, err
	}
	c.members["manifest"] = manifest
	file, err := c.members.file(MaxBytes)
	return file, Summary{Packs: len(c.packs), Entries: len(c.proved), Files: len(c.members), Head: c.head, Key: key, Tenant: c.Scope.Tenant(), Origin: c.origin()}, err
}

// chooseHead takes the head that every proof leads to.
func (c *collector) chooseHead(ctx context.Context) (err error) {
	c.signed = c.o.Checkpoint
	if c.signed != nil {
		c.head, err = c.Log.OpenCheckpoint(c.Scope, c.signed)
		return err
	}
	if c.head, err = c.Log.Head(ctx, c.Scope); err == nil {
		c.signed, err = c.Log.SignHead(c.head)
	}
	return err
}

// origin is the first line of the checkpoint.
func (c *collector) origin() string {
	origin, _, _ := strings.Cut(string(c.signed), "\n")
	return origin
}

func (c *collector) manifest() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ntenant %s\norigin %s\nhead %d %s\ncontent %t\n", format, c.Scope.Tenant(), c.origin(), c.head.Size, hex.EncodeToString(c.head.Root[:]), !c.o.NoContent)
	for _, p := range c.packs {
		fmt.Fprintf(&b, "pack %d %d %d %s\n", p.pack, p.drop, p.decision, p.id)
	}
	return b.String() + c.members.list()
}

// one takes a pack, and what else is logged of its request.
func (c *collector) one(ctx context.Context) error {
	entry, err := c.Log.Find(ctx, c.Scope, schemas.SourceEngine, c.o.Pack)
	if errors.Is(err, eventlog.ErrNotFound) || err == nil && entry.Type != schemas.TypeContextPacked {
		return fmt.Errorf("%w: %q", ErrNoPack, c.o.Pack)
	}
	if err != nil {
		return err
	}
	if entry.Position > c.head.Size {
		return fmt.Errorf("%w: %q is entry %d, and the checkpoint has %d", ErrNoPack, c.o.Pack, entry.Position, c.head.Size)
	}
	if err := c.pack(ctx, &entry); err != nil {
		return err
	}
	about, err := c.Log.BySubject(ctx, c.Scope, entry.Subject, schemas.TypeRoleHandedOver, schemas.TypeExceptionUsed)
	for i := range about {
		if err == nil && about[i].Position <= c.head.Size {
			err = c.whole(ctx, about[i].Position)
		}
	}
	return err
}

// told are the types of the entries that are taken beside packs, with their data. They have ids,
// figures and hashes, and no content.
func told() []string {
	return []string{schemas.TypeContextDropped, schemas.TypePolicyDecided, schemas.TypeRequestRefused, schemas.TypeRoleHandedOver,
		schemas.TypeExceptionRegistered, schemas.TypeExceptionUsed, schemas.TypeExceptionEnded,
		schemas.TypeHoldPlaced, schemas.TypeHoldReleased}
}

// since takes every pack from a position on, and all that is told beside.
func (c *collector) since(ctx context.Context) error {
	var packs, others []int64
	err := c.Log.ExportRange(ctx, c.Scope, max(c.o.Since-1, 0), c.head.Size, func(rows []eventlog.Row) error {
		for i := range rows {
			switch row := &rows[i]; {
			case row.Type == schemas.TypeContextPacked && row.Source == schemas.SourceEngine:
				packs = append(packs, row.Position)
			case slices.Contains(told(), row.Type):
				others = append(others, row.Position)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, position := range packs {
		entry, err := c.Log.Entry(ctx, c.Scope, position)
		if err == nil {
			err = c.pack(ctx, &entry)
		}
		if err != nil {
			return err
		}
	}
	for _, position := range others {
		if err := c.whole(ctx, position); err != nil {
			return err
		}
	}
	return nil
}

// pack takes a pack with its drop report, its decision and a proof of every item that it shows.
func (c *collector) pack(ctx context.Context, entry *eventlog.Entry) error {
	p := packed{id: entry.ID, pack: entry.Position}
	about, err := c.Log.BySubjectAfter(ctx, c.Scope, entry.Subject, entry.Position, schemas.TypeContextDropped, schemas.TypePolicyDecided)
	if err != nil {
		return err
	}
	for i := range about {
		switch at := about[i].Position; {
		case at > c.head.Size:
		case about[i].Type == schemas.TypeContextDropped && p.drop == 0:
			p.drop = at
		case about[i].Type == schemas.TypePolicyDecided && p.decision == 0:
			p.decision = at
		}
	}
	if p.drop == 0 || p.decision == 0 {
		return fmt.Errorf("the checkpoint has %d entries, and drop report or decision of pack %q is behind", c.head.Size, p.id)
	}
	for _, position := range []int64{p.pack, p.drop, p.decision} {
		if err := c.whole(ctx, position); err != nil {
			return err
		}
	}
	var logged schemas.ContextPack
	if err := json.Unmarshal(entry.Data, &logged); err != nil {
		return fmt.Errorf("read pack %q: %w", p.id, err)
	}
	for _, ref := range logged.ProvenanceRefs {
		if err := c.proof(ctx, ref.Position); err != nil {
			return err
		}
	}
	c.packs = append(c.packs, p)
	return c.erased(ctx, p)
}

// erased takes the receipt of the erasure that took a pack's stored result.
func (c *collector) erased(ctx context.Context, p packed) error {
	_, err := c.Log.Attachment(ctx, c.Scope, p.pack)
	if !errors.Is(err, eventlog.ErrErased) {
		return err
	}
	erasures, err := c.Log.BySubject(ctx, c.Scope, eventlog.ErasureSubject, schemas.TypeMemoryErased)
	if err != nil {
		return err
	}
	for i := range erasures {
		var erased schemas.MemoryErased
		if json.Unmarshal(erasures[i].Data, &erased) == nil && erased.Receipt != nil && slices.Contains(erased.Receipt.Packs, p.pack) && erasures[i].Position <= c.head.Size {
			return c.receipt(ctx, &erasures[i], erasures)
		}
	}
	return fmt.Errorf("pack %q was erased, and the receipt is not in the log up to position %d yet", p.id, c.head.Size)
}

// receipt takes the receipt of an erasure, and the erasure with its reason.
func (c *collector) receipt(ctx context.Context, receipt *eventlog.Entry, erasures []eventlog.Entry) error {
	for i := range erasures {
		e := &erasures[i]
		if e.Source == receipt.Source && e.Position < receipt.Position && strings.HasPrefix(receipt.ID, e.ID+".receipt") {
			if err := c.whole(ctx, e.Position); err != nil {
				return err
			}
		}
	}
	return c.whole(ctx, receipt.Position)
}

// opening is what opens the commitments of an entry.
type opening struct {
	Salt           string `json:"salt"`                      // hex
	Extensions     string `json:"extensions"`                // canonical
	AttachmentSalt string `json:"attachment_salt,omitempty"` // hex; with result.json in the file
	Refs           string `json:"refs,omitempty"`            // canonical
}

// whole takes an entry with proof, data and opening, and a pack's stored result.
func (c *collector) whole(ctx context.Context, position int64) error {
	if c.done[position] {
		return nil
	}
	if err := c.proof(ctx, position); err != nil {
		return err
	}
	c.done[position] = true
	return c.Log.ExportRange(ctx, c.Scope, position-1, position, func(rows []eventlog.Row) error {
		row := &rows[0]
		if row.Content == nil {
			return fmt.Errorf("entry %d has no content any more", position)
		}
		open := opening{Salt: hex.EncodeToString(row.Content.Salt[:]), Extensions: string(row.Content.Extensions)}
		if a := row.Attached; a != nil && !c.o.NoContent {
			var result struct{ Payload struct{ Text string } }
			if err := json.Unmarshal(a.Data, &result); err != nil {
				return fmt.Errorf("read the result of pack %d: %w", position, err)
			}
			open.AttachmentSalt, open.Refs = hex.EncodeToString(a.Salt[:]), string(eventlog.CanonicalRefs(a.Refs))
			name := fmt.Sprintf("packs/%d/", position)
			c.members[name+"result.json"] = a.Data
			if row.Type == schemas.TypeContextPacked { // the other attachment is the reason of an erasure
				c.members[name+"text.txt"] = []byte(result.Payload.Text)
			}
		}
		raw, err := json.Marshal(open)
		if err != nil {
			return fmt.Errorf("encode opening: %w", err)
		}
		c.members[entryName(position, "data")] = row.Content.Data
		c.members[entryName(position, "opening")] = raw
		return nil
	})
}

func entryName(position int64, kind string) string {
	return fmt.Sprintf("entries/%d.%s", position, kind)
}

// proof takes an entry's leaf preimage and its inclusion proof.
func (c *collector) proof(ctx context.Context, position int64) error {
	if c.proved[position] {
		return nil
	}
	preimage, err := c.Log.Preimage(ctx, c.Scope, position)
	if err != nil {
		return err
	}
	inclusion, err := c.Log.ProveInclusion(ctx, c.Scope, position, c.head.Size)
	if err != nil {
		return err
	}
	if inclusion.Root != hex.EncodeToString(c.head.Root[:]) {
		return fmt.Errorf("the checkpoint is not of this log: at %d entries that has another root", c.head.Size)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%sindex %d\n", proofTitle, position-1)
	for _, h := range inclusion.Hashes {
		raw, err := hex.DecodeString(h)
		if err != nil {
			return fmt.Errorf("read proof: %w", err)
		}
		fmt.Fprintln(&b, base64.StdEncoding.EncodeToString(raw))
	}
	c.members[entryName(position, "preimage")] = preimage
	c.members[entryName(position, "tlog-proof")] = []byte(b.String() + "\n" + string(c.signed))
	c.proved[position] = true
	return nil
}

// proofTitle begins a C2SP tlog-proof.
const proofTitle = "c2sp.org/tlog-proof@v1\n"
