package erasure

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// reasonText is attached to the entry of an erasure that has a reason. The salt keeps who sees the hash from
// checking guesses.
type reasonText struct {
	Reason string `json:"reason"`
	Salt   string `json:"salt"` // hex
}

// attachReason moves the reason of an erasure out of the data, which stays, into the attachment of its entry, which
// can be erased under the id of the erasure's event. The data keeps the attachment's hash. Satchel's own reasons, which
// have nobody's words, stay in the data.
func (e *Eraser) attachReason(d *eventlog.Draft, req *schemas.MemoryErased) error {
	req.ReasonSHA256 = ""
	own := d.Source == SourceRetention || d.Source == schemas.SourceCompaction
	if req.Reason == "" || own {
		return nil
	}
	salt, err := e.cfg.Log.Salt()
	if err != nil {
		return err
	}
	raw, err := json.Marshal(reasonText{req.Reason, hex.EncodeToString(salt[:])})
	if err != nil {
		return fmt.Errorf("encode reason: %w", err)
	}
	d.Attachment = eventlog.Derive([]string{d.ID}, raw)
	req.Reason, req.ReasonSHA256 = "", d.Attachment.Hex()
	return nil
}

// Reason returns why an erasure was asked for, "" where that was erased or never said, and by whom. entry is that of
// the erasure or of its receipt.
func Reason(ctx context.Context, log *eventlog.Log, s scope.Scope, entry *eventlog.Entry) (text, agent string, err error) {
	var er schemas.MemoryErased
	if entry.Type != schemas.TypeMemoryErased || json.Unmarshal(entry.Data, &er) != nil {
		return "", "", nil
	}
	if er.Receipt != nil {
		at := strings.LastIndex(entry.ID, ReceiptSuffix)
		if at < 0 {
			return "", "", nil
		}
		erasure, err := log.Find(ctx, s, entry.Source, entry.ID[:at])
		if err != nil {
			return "", "", ignoreAbsent(err)
		}
		er = schemas.MemoryErased{}
		if json.Unmarshal(erasure.Data, &er) != nil || er.Receipt != nil {
			return "", "", nil
		}
		entry = &erasure
	}
	if er.ReasonSHA256 == "" {
		return er.Reason, entry.Agent, nil // Satchel's own, or of an older version
	}
	raw, err := log.Attachment(ctx, s, entry.Position)
	if err != nil {
		return "", entry.Agent, ignoreAbsent(err)
	}
	var attached reasonText
	if err := json.Unmarshal(raw, &attached); err != nil {
		return "", "", fmt.Errorf("read reason of the erasure at position %d: %w", entry.Position, err)
	}
	return attached.Reason, entry.Agent, nil
}

func ignoreAbsent(err error) error {
	if errors.Is(err, eventlog.ErrErased) || errors.Is(err, eventlog.ErrNotFound) {
		return nil
	}
	return err
}

// hasReason reports whether id is that of an erasure of which the log has the reason.
func (e *Eraser) hasReason(ctx context.Context, s scope.Scope, id string) (bool, error) {
	positions, err := e.cfg.Log.Referring(ctx, s, []string{id})
	if err != nil {
		return false, err
	}
	reasons, err := e.selectErasures(ctx, s, positions)
	return len(reasons) > 0, err
}

// selectErasures returns the erasures among the entries at positions.
func (e *Eraser) selectErasures(ctx context.Context, s scope.Scope, positions []int64) (erasures []int64, err error) {
	for _, at := range positions {
		entry, err := e.cfg.Log.Entry(ctx, s, at)
		if err != nil {
			return nil, err
		}
		if entry.Type == schemas.TypeMemoryErased {
			erasures = append(erasures, at)
		}
	}
	return erasures, nil
}
