package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"satchel/cmd/internal/lab/measure"
	"satchel/schemas"
)

// asKind makes an item of a set one of a kind that the assembler takes, and gives it a
// name of its own by which an assembly shows it.
func (s *system) asKind(item *schemas.MemoryItem, m *measure.Memory) error {
	var attributes any
	name := item.ID
	item.Kind = s.kind
	item.Session = ""
	item.Speaker = ""
	if s.kind == schemas.KindCommit {
		sum := sha256.Sum256([]byte(m.ID))
		name = hex.EncodeToString(sum[:20])
		attributes = schemas.CommitAttributes{SHA: name}
	} else {
		attributes = schemas.CodeAttributes{FilePath: m.Session, QualifiedName: name}
	}
	raw, err := json.Marshal(attributes)
	if err != nil {
		return fmt.Errorf("encode attributes: %w", err)
	}
	item.Attributes = raw
	s.names[name] = m.ID
	return nil
}

// assemble is Pack through the assembler.
func (s *system) assemble(ctx context.Context, q *measure.Query, budget int) (measure.Packed, error) {
	sc, _, err := s.request(q, budget)
	if err != nil {
		return measure.Packed{}, err
	}
	start := time.Now()
	out, err := s.engine.Assemble(ctx, sc, schemas.AssembleRequest{Query: q.Text, MaxTokens: budget, Limit: 100})
	if err != nil {
		return measure.Packed{}, err
	}
	p := measure.Packed{Tokens: out.TokenCount, Text: out.Markdown, Took: time.Since(start)}
	for i := range out.Items {
		for _, field := range []string{"qualified_name", "sha"} {
			if name, ok := out.Items[i].Metadata[field].(string); ok && name != "" {
				p.IDs = append(p.IDs, s.names[name])
			}
		}
	}
	return p, nil
}
