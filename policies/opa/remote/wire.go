package remote

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// question is one item as the policy is shown it, and the answer when it is known.
type question struct {
	item    []byte
	spared  bool // the item says which reasons are not to count
	key     key
	known   bool
	verdict policies.Verdict
}

// questionsOf returns what is asked for r, with keys when they are kept, and the asker's
// part of it.
func questionsOf(s scope.Scope, r *policies.Request, kept bool) (asker []byte, questions []question) {
	asker = appendAsker(make([]byte, 0, 256), s, r.Action)
	questions = make([]question, len(r.Resources))
	var buf []byte
	for i := range r.Resources {
		res := &r.Resources[i]
		questions[i].item = appendItem(make([]byte, 0, 512), res)
		questions[i].spared = len(res.Spared) > 0
		if !kept {
			continue
		}
		buf = append(append(buf[:0], asker...), 0, encodeReached(res.ExpiresAt, r.Now), encodeReached(res.ValidTo, r.Now))
		questions[i].key = sha256.Sum256(append(buf, questions[i].item...))
	}
	return asker, questions
}

// encodeReached is 1 when now has reached t, else 0.
func encodeReached(t, now time.Time) byte {
	if t.IsZero() || now.Before(t) {
		return 0
	}
	return 1
}

// appendAsker appends {"action","purpose","specialist" without the closing brace, so
// that the other members of the input can follow.
func appendAsker(dst []byte, s scope.Scope, action string) []byte {
	p := s.Principal()
	dst = policies.AppendString(append(dst, `{"action":`...), action)
	dst = policies.AppendString(append(dst, `,"purpose":`...), s.Purpose())
	dst = policies.AppendStrings(append(dst, `,"specialist":{"authorizedGroups":`...), p.Groups)
	dst = policies.AppendString(append(dst, `,"id":`...), p.ID)
	dst = policies.AppendStrings(append(dst, `,"roles":`...), p.Roles)
	dst = policies.AppendString(append(dst, `,"securityLevel":`...), levelName(schemas.Level(p.Level)))
	dst = policies.AppendString(append(dst, `,"tenant":`...), s.Tenant())
	dst = policies.AppendString(append(dst, `,"type":`...), p.Kind)
	return append(dst, '}')
}

// appendItem appends {"id", "content", "metadata"}.
func appendItem(dst []byte, r *policies.Resource) []byte {
	f := &r.Facets
	dst = policies.AppendString(append(dst, `{"content":{},"id":`...), r.ID)
	dst = policies.AppendString(append(dst, `,"metadata":{"category":`...), f.Category)
	dst = strconv.AppendBool(append(dst, `,"containsPII":`...), f.PII)
	dst = policies.AppendNumber(append(dst, `,"confidence":`...), r.ConfidenceOr1())
	dst = policies.AppendTime(append(dst, `,"created_at":`...), r.CreatedAt)
	dst = policies.AppendTime(append(dst, `,"expires_at":`...), r.ExpiresAt)
	dst = strconv.AppendBool(append(dst, `,"hasCredentials":`...), f.Credentials)
	dst = policies.AppendString(append(dst, `,"kind":`...), string(f.Kind))
	dst = policies.AppendStrings(append(dst, `,"labels":`...), f.Labels)
	dst = policies.AppendString(append(dst, `,"level":`...), levelName(f.Level))
	dst = policies.AppendStrings(append(dst, `,"piiFields":`...), r.PIIFlags)
	dst = policies.AppendStrings(append(dst, `,"policy_tags":`...), r.PolicyTags)
	dst = policies.AppendString(append(dst, `,"project":`...), r.Project)
	dst = policies.AppendStrings(append(dst, `,"purposes":`...), f.Purposes)
	dst = policies.AppendStrings(append(dst, `,"restrictedToGroups":`...), f.Groups)
	dst = policies.AppendNumber(append(dst, `,"sensitivity":`...), f.Sensitivity)
	dst = policies.AppendString(append(dst, `,"session":`...), f.Session)
	dst = policies.AppendString(append(dst, `,"signer":`...), f.Signer)
	dst = policies.AppendString(append(dst, `,"source_uri":`...), r.SourceURI)
	if len(r.Spared) > 0 {
		dst = policies.AppendStrings(append(dst, `,"spared":`...), r.Spared)
	}
	dst = policies.AppendString(append(dst, `,"speaker":`...), r.Speaker)
	dst = policies.AppendNumber(append(dst, `,"trust":`...), f.Trust)
	dst = policies.AppendString(append(dst, `,"type":`...), string(f.Type))
	dst = policies.AppendTime(append(dst, `,"valid_to":`...), r.ValidTo)
	return append(dst, `}}`...)
}

// levelName is the level's name; no number passes for a level that it is not.
func levelName(l schemas.Level) string {
	if l < schemas.Public || l > schemas.Restricted {
		return "unknown"
	}
	return l.String()
}

// buildRequestBody returns the request of asker for what members append.
func buildRequestBody(asker []byte, now time.Time, size int, members func([]byte) []byte) []byte {
	dst := make([]byte, 0, len(asker)+size+64)
	dst = append(append(dst, `{"input":`...), asker...)
	dst = policies.AppendTime(append(dst, `,"now":`...), now)
	return append(members(dst), `}}`...)
}

func singleBody(asker []byte, now time.Time, q *question) []byte {
	return buildRequestBody(asker, now, len(q.item), func(dst []byte) []byte {
		return append(append(appendSpared(dst, q), `,"item":`...), q.item...)
	})
}

func batchBody(asker []byte, now time.Time, questions []*question) []byte {
	size := 0
	for _, q := range questions {
		size += len(q.item) + 1
	}
	return buildRequestBody(asker, now, size, func(dst []byte) []byte {
		dst = append(appendSpared(dst, questions...), `,"items":[`...)
		for i, q := range questions {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, q.item...)
		}
		return append(dst, ']')
	})
}

// appendSpared says that some of the items have the member spared.
func appendSpared(dst []byte, questions ...*question) []byte {
	if slices.ContainsFunc(questions, func(q *question) bool { return q.spared }) {
		return append(dst, `,"spared":true`...)
	}
	return dst
}

// readMembers reads a JSON object by its exact names.
func readMembers(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, errors.New("not a JSON object")
	}
	return m, nil
}

// parseBatch reads n decisions. Equal ones share their lists.
func parseBatch(result json.RawMessage, n int) ([]policies.Verdict, error) {
	m, err := readMembers(result)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(m["decisions"], &list); err != nil || list == nil {
		return nil, errors.New("decisions are not an array")
	}
	if len(list) != n {
		return nil, fmt.Errorf("%d decisions on %d items", len(list), n)
	}
	verdicts := make([]policies.Verdict, n)
	read := map[string]policies.Verdict{}
	for i := range list {
		v, again := read[string(list[i])]
		if !again {
			if v, err = parseVerdict(list[i]); err != nil {
				return nil, fmt.Errorf("decision %d: %w", i, err)
			}
			read[string(list[i])] = v
		}
		verdicts[i] = v
	}
	return verdicts, nil
}

// parseVerdict reads one decision; half of one is an error.
func parseVerdict(raw json.RawMessage) (policies.Verdict, error) {
	var none policies.Verdict
	m, err := readMembers(raw)
	if err != nil {
		return none, err
	}
	allow, ok := parseBoolean(m["allow"])
	if !ok {
		return none, errors.New("allow is not a boolean")
	}
	reason, err := reasonOf(m["reason"], allow)
	if err != nil {
		return none, err
	}
	if !allow {
		return policies.Verdict{Reason: reason}, nil
	}
	redact, ok := parseBoolean(m["redact"])
	if !ok {
		return none, errors.New("redact is not a boolean")
	}
	var paths []string
	if named, ok := m["redactedFields"]; ok {
		if paths, err = pathsOf(named); err != nil {
			return none, err
		}
	}
	if redact && len(paths) == 0 {
		return none, errors.New("redact without redactedFields")
	}
	var o schemas.Obligations
	if raw, ok := m["obligations"]; ok {
		if o, err = policies.ReadObligations(raw); err != nil {
			return none, err
		}
	}
	return policies.Verdict{Allow: true, Reason: reason, Redact: paths, Obligations: o}, nil
}

func parseBoolean(raw json.RawMessage) (value, ok bool) {
	switch string(raw) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

func reasonOf(raw json.RawMessage, allow bool) (string, error) {
	reason := "denied"
	if allow {
		reason = policies.ReasonAllowed
	}
	if raw == nil {
		return reason, nil
	}
	if err := json.Unmarshal(raw, &reason); err != nil || !policies.ValidReason(reason) {
		return "", errors.New("reason is not snake_case")
	}
	if (reason == policies.ReasonAllowed) != allow {
		return "", errors.New("reason contradicts allow")
	}
	return reason, nil
}

// pathsOf reads JSON paths; null among them is none.
func pathsOf(raw json.RawMessage) ([]string, error) {
	var list []*string
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, errors.New("redactedFields are not an array of texts")
	}
	var paths []string
	for _, p := range list {
		if p == nil || !strings.HasPrefix(*p, "$") {
			return nil, errors.New("redactedFields hold what is no JSON path")
		}
		paths = append(paths, *p)
	}
	return paths, nil
}

// revisionOf names the bundles of an answer: the revision of the only one, else
// name=revision of each; without them the answer's own.
func revisionOf(provenance, result json.RawMessage) string {
	var p struct {
		Revision string `json:"revision"`
		Bundles  map[string]struct {
			Revision string `json:"revision"`
		} `json:"bundles"`
	}
	var named []string
	if json.Unmarshal(provenance, &p) == nil {
		for name, b := range p.Bundles {
			if b.Revision != "" {
				named = append(named, name+"="+b.Revision)
			}
		}
		slices.Sort(named)
		if len(p.Bundles) == 1 && len(named) == 1 {
			_, named[0], _ = strings.Cut(named[0], "=")
		}
		if len(named) == 0 && p.Revision != "" {
			named = append(named, p.Revision)
		}
	}
	if len(named) == 0 {
		var own struct {
			Revision string `json:"revision"`
		}
		if json.Unmarshal(result, &own) != nil || own.Revision == "" {
			return noRevision
		}
		named = append(named, own.Revision)
	}
	revision := strings.Join(named, ",")
	if len(revision) > 128 {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(revision)))
	}
	return revision
}
