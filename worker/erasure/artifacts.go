package erasure

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/isolation/artifact"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// artifactsStore is the artifacts' name in an erasure receipt.
const artifactsStore = "artifacts"

// hashes lists the artifacts of the entries at positions.
func (e *Eraser) hashes(ctx context.Context, s scope.Scope, positions []int64) ([]string, error) {
	var list []string
	for _, at := range positions {
		entry, err := e.cfg.Log.Entry(ctx, s, at)
		if err != nil {
			return nil, fmt.Errorf("read entry %d: %w", at, err)
		}
		var m schemas.MemoryItem
		if entry.Type != schemas.TypeMemoryRecorded || entry.Erased || schemas.UnmarshalMemoryItem(entry.Data, &m) != nil {
			continue
		}
		if a, ok := m.Artifact(); ok {
			list = append(list, a.SHA256)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// dropArtifacts erases the artifacts of erased items that no other item has, and returns
// how many there were. What others have is counted as kept.
func (e *Eraser) dropArtifacts(ctx context.Context, s scope.Scope, list []pending) (int, error) {
	n := 0
	for i := range list {
		hashes := list[i].entry.Extensions[artifactsExtension]
		if hashes == "" {
			continue
		}
		for sum := range strings.SplitSeq(hashes, ",") {
			held, err := e.holds(ctx, s, sum)
			if err != nil {
				return n, err
			}
			if held {
				list[i].kept++
				continue
			}
			removed, err := e.cfg.Artifacts.Delete(ctx, s.Tenant(), sum)
			if err != nil {
				return n, fmt.Errorf("erase artifacts: %w", err)
			}
			if removed {
				n++
			}
		}
	}
	return n, nil
}

// holds reports whether an item that is there has the artifact.
func (e *Eraser) holds(ctx context.Context, s scope.Scope, sum string) (bool, error) {
	entries, err := e.cfg.Log.BySubject(ctx, s, artifact.Subject(sum), schemas.TypeArtifactStored)
	if err != nil {
		return false, fmt.Errorf("find items of an artifact: %w", err)
	}
	var ids []string
	for _, entry := range entries {
		var a schemas.Artifact
		if err := json.Unmarshal(entry.Data, &a); err != nil {
			return false, fmt.Errorf("read artifact of position %d: %w", entry.Position, err)
		}
		ids = append(ids, a.ItemID)
	}
	slices.Sort(ids)
	records, err := e.cfg.Items.Get(ctx, s, slices.Compact(ids))
	if err != nil {
		return false, fmt.Errorf("read items of an artifact: %w", err)
	}
	return slices.ContainsFunc(records, func(r schemas.Record) bool {
		a, ok := r.Artifact()
		return ok && a.SHA256 == sum
	}), nil
}
