package jetstream

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"satchel/jetstream/cloudevent"
	"satchel/schemas"
)

// ErrSubject is what every subject builder and parser wraps: a subject of another
// shape, or a token outside [A-Za-z0-9_-]{1,64}.
var ErrSubject = errors.New("not a subject of this kind")

// MaxToken is the length of the longest token (tenant, agent, role, reason) in bytes.
const MaxToken = 64

// ValidToken reports whether s matches [A-Za-z0-9_-]{1,64}.
func ValidToken(s string) bool {
	if len(s) == 0 || len(s) > MaxToken {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// ContextVerbs lists the verbs of ctx.v1.<tenant>.<verb>, roles apart.
func ContextVerbs() []string {
	return []string{"request", "search", "build", "preview", "assemble", "premortem", "relevance",
		"explain", "compact", "recover", "items", "status", "run", "exception", "hold", "template"}
}

// ContextRoles lists the roles of ctx.v1.<tenant>.role.<role>.
func ContextRoles() []string {
	return []string{"planner", "retriever", "verifier", "synthesizer", "sentinel"}
}

// LogVerbs lists the verbs of log.v1.<tenant>.<verb>.
func LogVerbs() []string { return []string{"head", "prove", "receipt", "pack", "entries"} }

// LedgerKinds lists the kinds of prov.v1.<tenant>.<kind>.<agent>.
func LedgerKinds() []schemas.LedgerKind {
	return []schemas.LedgerKind{schemas.LedgerMemory, schemas.LedgerPack, schemas.LedgerDrop,
		schemas.LedgerDecision, schemas.LedgerArtifact, schemas.LedgerHandover, schemas.LedgerException,
		schemas.LedgerHold, schemas.LedgerErasure, schemas.LedgerRefusal, schemas.LedgerCheckpoint}
}

// MemorySubject returns mem.v1.<tenant>.evt.<agent>.
func MemorySubject(tenant, agent string) (string, error) {
	return buildSubject("memory", "mem.v1.", tenant, ".evt.", agent)
}

// ParseMemory returns the tenant and the agent of mem.v1.<tenant>.evt.<agent>.
func ParseMemory(subject string) (tenant, agent string, err error) {
	return parseSubject("memory", subject, "mem.v1.", ".evt.")
}

// PutSubject returns mem.v1.<tenant>.put.
func PutSubject(tenant string) (string, error) {
	return buildSubject("put", "mem.v1.", tenant, ".put", "")
}

// PlanSubject returns mem.v1.<tenant>.plan.
func PlanSubject(tenant string) (string, error) {
	return buildSubject("plan", "mem.v1.", tenant, ".plan", "")
}

// ContextSubject returns ctx.v1.<tenant>.<verb>; verb is one of ContextVerbs.
func ContextSubject(tenant, verb string) (string, error) {
	if !slices.Contains(ContextVerbs(), verb) {
		return "", fmt.Errorf("build context subject: verb %q: %w", verb, ErrSubject)
	}
	return buildSubject("context", "ctx.v1.", tenant, ".", verb)
}

// RoleSubject returns ctx.v1.<tenant>.role.<role>; role is one of ContextRoles.
func RoleSubject(tenant, role string) (string, error) {
	if !slices.Contains(ContextRoles(), role) {
		return "", fmt.Errorf("build role subject: role %q: %w", role, ErrSubject)
	}
	return buildSubject("role", "ctx.v1.", tenant, ".role.", role)
}

// ArtifactSubject returns art.v1.<tenant>.open.
func ArtifactSubject(tenant string) (string, error) {
	return buildSubject("artifact", "art.v1.", tenant, ".open", "")
}

// StoreSubject returns art.v1.<tenant>.store.
func StoreSubject(tenant string) (string, error) {
	return buildSubject("artifact", "art.v1.", tenant, ".store", "")
}

// RevokeSubject returns art.v1.<tenant>.revoke.
func RevokeSubject(tenant string) (string, error) {
	return buildSubject("artifact", "art.v1.", tenant, ".revoke", "")
}

// LogSubject returns log.v1.<tenant>.<verb>; verb is one of LogVerbs.
func LogSubject(tenant, verb string) (string, error) {
	if !slices.Contains(LogVerbs(), verb) {
		return "", fmt.Errorf("build log subject: verb %q: %w", verb, ErrSubject)
	}
	return buildSubject("log", "log.v1.", tenant, ".", verb)
}

// LedgerSubject returns prov.v1.<tenant>.<kind>.<agent>.
func LedgerSubject(tenant string, kind schemas.LedgerKind, agent string) (string, error) {
	if !slices.Contains(LedgerKinds(), kind) {
		return "", fmt.Errorf("build ledger subject: kind %q: %w", kind, ErrSubject)
	}
	return buildSubject("ledger", "prov.v1.", tenant, "."+string(kind)+".", agent)
}

// ParseLedger returns the tokens of prov.v1.<tenant>.<kind>.<agent>.
func ParseLedger(subject string) (tenant string, kind schemas.LedgerKind, agent string, err error) {
	rest, ok := strings.CutPrefix(subject, "prov.v1.")
	tokens := strings.SplitN(rest, ".", 3)
	if !ok || len(tokens) != 3 || !ValidToken(tokens[0]) || !ValidToken(tokens[2]) ||
		!slices.Contains(LedgerKinds(), schemas.LedgerKind(tokens[1])) {
		return "", "", "", fmt.Errorf("parse ledger subject %q: %w", cloudevent.Clip(subject), ErrSubject)
	}
	return tokens[0], schemas.LedgerKind(tokens[1]), tokens[2], nil
}

// LedgerTenantSubject returns prov.v1.<tenant>.>, every ledger subject of a tenant.
func LedgerTenantSubject(tenant string) (string, error) {
	return buildSubject("ledger", "prov.v1.", tenant, ".>", "")
}

// DLQSubject returns dlq.v1.<tenant>.<reason>.
func DLQSubject(tenant, reason string) (string, error) {
	return buildSubject("dlq", "dlq.v1.", tenant, ".", reason)
}

// ParseDLQ returns the tenant and the reason of dlq.v1.<tenant>.<reason>.
func ParseDLQ(subject string) (tenant, reason string, err error) {
	return parseSubject("dlq", subject, "dlq.v1.", ".")
}

// TenantOf returns the tenant of any subject of Satchel, stored form included.
func TenantOf(subject string) (string, error) {
	subject = OriginalSubject(subject)
	for _, prefix := range []string{"mem.v1.", "ctx.v1.", "art.v1.", "log.v1.", "prov.v1.", "dlq.v1."} {
		rest, ok := strings.CutPrefix(subject, prefix)
		if !ok {
			continue
		}
		if tenant, _, more := strings.Cut(rest, "."); more && ValidToken(tenant) {
			return tenant, nil
		}
	}
	return "", fmt.Errorf("find tenant in subject %q: %w", cloudevent.Clip(subject), ErrSubject)
}

// OriginalSubject undoes the partition transform: it returns mem.v1.… for a
// subject stored as p.<partition>.mem.v1.…, and any other subject as it is.
func OriginalSubject(stored string) string {
	rest, ok := strings.CutPrefix(stored, "p.")
	if !ok {
		return stored
	}
	number, original, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n >= Partitions || !strings.HasPrefix(original, "mem.v1.") {
		return stored
	}
	return original
}

// partitionFilter returns p.<partition>.>, what one partition's consumer reads.
func partitionFilter(partition int) string { return "p." + strconv.Itoa(partition) + ".>" }

// buildSubject joins prefix, tenant, middle and last; last may be empty when middle ends the subject.
func buildSubject(kind, prefix, tenant, middle, last string) (string, error) {
	if !ValidToken(tenant) {
		return "", fmt.Errorf("build %s subject: tenant %q: %w", kind, cloudevent.Clip(tenant), ErrSubject)
	}
	if last != "" && !ValidToken(last) || last == "" && strings.HasSuffix(middle, ".") {
		return "", fmt.Errorf("build %s subject: token %q: %w", kind, cloudevent.Clip(last), ErrSubject)
	}
	return prefix + tenant + middle + last, nil
}

func parseSubject(kind, subject, prefix, middle string) (tenant, last string, err error) {
	rest, ok := strings.CutPrefix(subject, prefix)
	if ok {
		tenant, last, ok = strings.Cut(rest, middle)
	}
	if !ok || !ValidToken(tenant) || !ValidToken(last) {
		return "", "", fmt.Errorf("parse %s subject %q: %w", kind, cloudevent.Clip(subject), ErrSubject)
	}
	return tenant, last, nil
}

// PartitionOf returns the partition of MEMORY that keeps a tenant's events: what the
// server's partition() gives, FNV-1a modulo Partitions.
func PartitionOf(tenant string) int {
	h := fnv.New32a()
	h.Write([]byte(tenant))
	return int(h.Sum32() % Partitions)
}
