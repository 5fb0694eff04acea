package erasure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// artifactsStore is the artifacts' name in an erasure receipt.
const artifactsStore = "artifacts"

// listHashes lists the artifacts of the entries at positions.
func (e *Eraser) listHashes(ctx context.Context, s scope.Scope, positions []int64) ([]string, error) {
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

// dropArtifacts erases the artifacts of erased items that no other item has in any version, and
// returns how many there were. What others have is counted as kept.
func (e *Eraser) dropArtifacts(ctx context.Context, s scope.Scope, list []pending) (int, error) {
	n := 0
	for i := range list {
		hashes := list[i].entry.Extensions[artifactsExtension]
		if hashes == "" {
			continue
		}
		for sum := range strings.SplitSeq(hashes, ",") {
			erased, err := ArtifactErased(ctx, e.cfg.Log, s, sum)
			if err != nil {
				return n, err
			}
			if !erased {
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
