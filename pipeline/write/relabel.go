package write

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"satchel/pipeline/pii"
	"satchel/schemas"
)

// Lowers reports whether now protects an item less than old does: more principals may see
// it, or more of it. It compares:
//
//	level, sensitivity  lower
//	credentials         no longer held
//	groups, purposes    none are left, or one was added
//	export              no label is left that keeps the item in
//	extract             no label is left, or one for more tokens
//	personal data       a flag is gone whose path the new content still has, and no other
//	                    flag covers; or the content was redacted whole and no longer is
//	safety tags         one of a tool is gone
//	any other label     it is gone
//
// The labels of the detection at write follow from the content and do not count.
func Lowers(old, now *schemas.MemoryItem) bool {
	was := old.Facets()
	is := now.Facets()
	return is.Level < was.Level || is.Sensitivity < was.Sensitivity || was.Credentials && !is.Credentials ||
		hasWidened(was.Groups, is.Groups) || hasWidened(was.Purposes, is.Purposes) ||
		extractOf(is.Labels) > extractOf(was.Labels) || keptIn(was.Labels) && !keptIn(is.Labels) ||
		dropsLabel(was.Labels, is.Labels) || hasLostRedaction(old, now) || dropsTag(old, now)
}

// hasWidened reports whether a list of those who may see an item, where none means everybody,
// lets in others than before.
func hasWidened(was, is []string) bool {
	return len(was) > 0 && (len(is) == 0 || slices.ContainsFunc(is, func(name string) bool { return !slices.Contains(was, name) }))
}

// keptIn reports whether a label keeps the item from leaving.
func keptIn(labels []string) bool {
	return slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(l, "export:") && l != "export:allowed" })
}

// extractOf returns how many tokens of the item are shown at most.
func extractOf(labels []string) int {
	least := math.MaxInt
	for _, l := range labels {
		if text, ok := strings.CutPrefix(l, "extract:"); ok {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				n = 1
			}
			least = min(least, n)
		}
	}
	return least
}

// dropsLabel reports whether a label is gone that is not compared by what it means.
func dropsLabel(was, is []string) bool {
	return slices.ContainsFunc(was, func(l string) bool {
		switch name, _, _ := strings.Cut(l, ":"); name {
		case "level", "group", "purpose", "credentials", "export", "extract", "pii", schemas.LabelDetected:
			return false
		}
		return !slices.Contains(is, l)
	})
}

// mostCompared is how many bytes of content the flags that were dropped are looked for in. Of more,
// what they hide counts as shown.
const mostCompared = 16 << 20

// hasLostRedaction reports whether personal data that was redacted in old would be shown in now.
func hasLostRedaction(old, now *schemas.MemoryItem) bool {
	if redactedWhole(now) {
		return false
	}
	if redactedWhole(old) {
		return true
	}
	dropped := slices.DeleteFunc(slices.Clone(old.PIIFlags), func(flag string) bool { return slices.Contains(now.PIIFlags, flag) })
	if len(dropped)*len(now.Content.Raw()) > mostCompared {
		return true
	}
	mask := func(pii.Type, string) string { return pii.Redacted }
	shown := pii.Redact(now.Content, now.PIIFlags, mask)
	return slices.ContainsFunc(dropped, func(flag string) bool {
		if now.Content.Raw() != nil && pii.MissedFlag(now.Content, []string{flag}) == 0 {
			return false
		}
		return !strings.HasPrefix(flag, "$.content") || pii.Redact(shown, []string{flag}, mask).Text() != shown.Text()
	})
}

// redactedWhole reports whether all of an item's content is personal data: it says so, and
// not where.
func redactedWhole(m *schemas.MemoryItem) bool {
	if slices.Contains(m.PIIFlags, "$.content") || slices.ContainsFunc(m.PIIFlags, func(flag string) bool { return !strings.HasPrefix(flag, "$.") }) {
		return true
	}
	return len(m.PIIFlags) == 0 && slices.ContainsFunc(m.SecurityLabel, func(l string) bool { return strings.HasPrefix(l, "pii:") && l != "pii:none" })
}

// dropsTag reports whether a tool has lost a safety tag.
func dropsTag(old, now *schemas.MemoryItem) bool {
	if old.Kind != schemas.KindTool || now.Kind != schemas.KindTool {
		return false
	}
	was, err := old.Tool()
	if err != nil {
		return false
	}
	is, err := now.Tool()
	return slices.ContainsFunc(was.SafetyTags, func(tag string) bool {
		return err != nil || !slices.ContainsFunc(is.SafetyTags, func(other string) bool { return strings.EqualFold(tag, other) })
	})
}
