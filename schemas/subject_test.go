package schemas

// SubjectKind says how a subject is used.
type SubjectKind string

// The kinds of subjects.
const (
	SubjectStream  SubjectKind = "stream"  // kept by a JetStream stream
	SubjectRequest SubjectKind = "request" // request and reply, a NATS micro service
)

// Subject is one row of the table of subjects: the address with its parameters in
// braces, and the names of the documents that travel on it.
type Subject struct {
	Name    string      // of the channel in the AsyncAPI document
	Address string      // mem.v1.{tenant}.evt.{agent}
	Kind    SubjectKind // stream or request
	Stream  string      // for a stream: MEMORY, LEDGER or DLQ
	Types   []string    // for a stream: the CloudEvent types on it; empty for DLQ: any
	Request string      // for a request: schema name of its body, "" for an empty body
	Reply   string      // for a request: schema name of the reply
	Summary string      // one sentence
}

// Subjects returns the table of subjects, the one the AsyncAPI document is held to.
func Subjects() []Subject {
	all := []Subject{
		{Name: "memoryEvents", Address: "mem.v1.{tenant}.evt.{agent}", Kind: SubjectStream, Stream: "MEMORY",
			Types: MemoryEventTypes(), Summary: "Agents publish memory events; the log takes them in."},
		{Name: "put", Address: "mem.v1.{tenant}.put", Kind: SubjectRequest, Request: "put-request", Reply: "receipt",
			Summary: "One write, validated now; may wait until it is logged or indexed."},
		{Name: "plan", Address: "mem.v1.{tenant}.plan", Kind: SubjectRequest, Request: "plan-request", Reply: "plan-reply",
			Summary: "What an erasure of items would take."},
	}
	all = append(all, contextSubjects()...)
	for _, role := range []string{"planner", "retriever", "verifier", "synthesizer", "sentinel"} {
		all = append(all, Subject{Name: "role_" + role, Address: "ctx.v1.{tenant}.role." + role, Kind: SubjectRequest,
			Request: "role-request", Reply: "role-reply", Summary: "One step of the " + role + "."})
	}
	all = append(all, Subject{Name: "openArtifact", Address: "art.v1.{tenant}.open", Kind: SubjectRequest,
		Request: "open-request", Reply: "open-reply", Summary: "Open an artifact by its handle."},
		Subject{Name: "storeArtifact", Address: "art.v1.{tenant}.store", Kind: SubjectRequest,
			Request: "store-request", Reply: "store-reply", Summary: "Keep heavy content, and answer where and an extract."},
		Subject{Name: "revokeArtifact", Address: "art.v1.{tenant}.revoke", Kind: SubjectRequest,
			Request: "revoke-request", Reply: "revoke-reply", Summary: "Make handles void."})
	all = append(all, logSubjects()...)
	for _, kind := range LedgerKinds() {
		all = append(all, Subject{Name: "ledger_" + string(kind), Address: "prov.v1.{tenant}." + string(kind) + ".{agent}", Kind: SubjectStream,
			Stream: "LEDGER", Types: typesOf(kind), Summary: "Log entries of kind " + string(kind) + ", in position order."})
	}
	return append(all, Subject{Name: "deadLetters", Address: "dlq.v1.{tenant}.{reason}", Kind: SubjectStream, Stream: "DLQ",
		Summary: "Rejected events, whole, with the cause."})
}

func contextSubjects() []Subject {
	rows := []struct{ verb, request, reply, summary string }{
		{"request", "context-request", "context-result", "Ask for a context pack; without a reply subject the result is only published."},
		{"search", "search-request", "search-reply", "Ranked memories by text or vector."},
		{"build", "build-request", "build-reply", "A rendered context from a template."},
		{"preview", "build-request", "preview-reply", "What build would answer, with the reasons."},
		{"assemble", "assemble-request", "formatted-context", "Markdown over memories, code, experiences, values and commits."},
		{"premortem", "premortem-request", "formatted-context", "Past failures, surprises and root causes of a domain."},
		{"relevance", "relevance-request", "relevance-reply", "Which context nodes a turn needs."},
		{"explain", "explain-request", "explain-reply", "Why an item is, or is not, in a pack."},
		{"compact", "compact-request", "compact-reply", "Bring a pack under a budget."},
		{"recover", "recover-request", "recover-reply", "Items that a drop report named."},
		{"items", "items-request", "items-reply", "Items by their ids, or a page of those that pass a filter."},
		{"status", "status-request", "status-reply", "Size of the log, and up to which position each index has everything."},
		{"run", "run-request", "run-reply", "Walk the roles to a verified answer with citations."},
		{"exception", "exception-request", "exception-reply", "Register, revoke or list governed exceptions."},
		{"hold", "hold-request", "hold-reply", "Place, release or list legal holds."},
		{"template", "template-request", "template-reply", "List the templates or register one."},
	}
	all := make([]Subject, len(rows))
	for i, r := range rows {
		all[i] = Subject{Name: "context_" + r.verb, Address: "ctx.v1.{tenant}." + r.verb, Kind: SubjectRequest,
			Request: r.request, Reply: r.reply, Summary: r.summary}
	}
	return all
}

func logSubjects() []Subject {
	return []Subject{
		{Name: "log_head", Address: "log.v1.{tenant}.head", Kind: SubjectRequest, Reply: "head-reply", Summary: "The signed head."},
		{Name: "log_prove", Address: "log.v1.{tenant}.prove", Kind: SubjectRequest, Request: "prove-request", Reply: "prove-reply",
			Summary: "Inclusion and consistency proofs."},
		{Name: "log_receipt", Address: "log.v1.{tenant}.receipt", Kind: SubjectRequest, Request: "receipt-request", Reply: "receipt",
			Summary: "Wait until an event has reached a receipt level."},
		{Name: "log_pack", Address: "log.v1.{tenant}.pack", Kind: SubjectRequest, Request: "pack-request", Reply: "context-result",
			Summary: "Fetch a pack again."},
		{Name: "log_entries", Address: "log.v1.{tenant}.entries", Kind: SubjectRequest, Request: "entries-request", Reply: "entries-reply",
			Summary: "Entries of the log as the ledger shows them, newest first."},
	}
}

func typesOf(kind LedgerKind) []string {
	var types []string
	for _, t := range EventTypes() {
		if k, _ := LedgerKindOf(t); k == kind {
			types = append(types, t)
		}
	}
	return types
}
