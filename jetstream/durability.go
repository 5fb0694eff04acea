package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Durability is what is known of the servers that keep the streams. What is not known
// counts as not held.
type Durability struct {
	Streams []StreamDurability
	Servers []ServerDurability // those that keep MEMORY, by name
}

// StreamDurability is one stream.
type StreamDurability struct {
	Name        string
	Missing     bool
	Copies      int
	Peers       []string // servers that keep a copy, sorted
	Behind      []string // of Peers: away, or not up to date
	Differences []string // from what Satchel needs, in words
}

// ServerDurability is how a server writes to its disk.
type ServerDurability struct {
	Name         string
	Version      string
	Known        bool // somebody could be asked; the rest is zero otherwise
	SyncAlways   bool // every message is synced before it is acknowledged
	SyncInterval time.Duration
}

// Sources are who can be asked how servers sync. Each may be missing.
type Sources struct {
	System  *nats.Conn // of a user of the system account
	Monitor []string   // addresses of monitoring endpoints, as http://127.0.0.1:8222
}

// Inspect finds out what holds. It changes nothing.
func Inspect(ctx context.Context, js jetstream.JetStream, cfg Config, from Sources) (Durability, error) {
	var d Durability
	cfg = cfg.withDefaults()
	for _, want := range streamConfigs(cfg) {
		s := StreamDurability{Name: want.Name}
		stream, err := js.Stream(ctx, want.Name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			s.Missing = true
		case err != nil:
			return d, fmt.Errorf("inspect stream %q: %w", want.Name, err)
		default:
			info := stream.CachedInfo()
			s.Copies, s.Differences = info.Config.Replicas, diffStream(want, info.Config, cfg.External)
			s.Peers, s.Behind = peersOf(info.Cluster, js.Conn())
		}
		d.Streams = append(d.Streams, s)
	}
	known, err := from.askSources(ctx)
	for _, name := range d.Streams[0].Peers {
		server := ServerDurability{Name: name}
		if found, ok := known[name]; ok {
			server = found
		}
		d.Servers = append(d.Servers, server)
	}
	return d, err
}

func peersOf(cluster *jetstream.ClusterInfo, nc *nats.Conn) (peers, behind []string) {
	if cluster == nil || cluster.Leader == "" && len(cluster.Replicas) == 0 {
		return []string{nc.ConnectedServerName()}, nil
	}
	if cluster.Leader != "" {
		peers = append(peers, cluster.Leader)
	}
	for _, r := range cluster.Replicas {
		peers = append(peers, r.Name)
		if r.Offline || !r.Current {
			behind = append(behind, r.Name)
		}
	}
	slices.Sort(peers)
	slices.Sort(behind)
	return peers, behind
}

// askSources asks every source and returns servers by name. An error is of a source that does
// not answer; the others count.
func (s Sources) askSources(ctx context.Context) (map[string]ServerDurability, error) {
	known := map[string]ServerDurability{}
	var errs []error
	add := func(raw []byte) {
		if server, ok := readVarz(raw); ok {
			known[server.Name] = server
		}
	}
	if s.System != nil {
		errs = append(errs, s.askSystem(ctx, add))
	}
	for _, address := range s.Monitor {
		errs = append(errs, askMonitor(ctx, address, add))
	}
	return known, errors.Join(errs...)
}

// askSystem pings every server and takes the answers of half a second.
func (s Sources) askSystem(ctx context.Context, add func([]byte)) error {
	inbox := s.System.NewInbox()
	sub, err := s.System.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("ask the system account: %w", err)
	}
	defer sub.Unsubscribe()
	if err := s.System.PublishRequest("$SYS.REQ.SERVER.PING.VARZ", inbox, nil); err != nil {
		return fmt.Errorf("ask the system account: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answers := 0
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case err != nil && answers > 0:
			return nil
		case err != nil:
			return errors.New("ask the system account: no server answered; NATS_SYS_CREDS must be of a user of the system account")
		case m.Header.Get("Status") == "503":
			return errors.New("ask the system account: NATS_SYS_CREDS is not of a user of the system account")
		}
		var reply struct {
			Data json.RawMessage `json:"data"`
		}
		if json.Unmarshal(m.Data, &reply) == nil {
			add(reply.Data)
		}
		answers++
		if answers == 1 {
			var rest context.CancelFunc
			ctx, rest = context.WithTimeout(ctx, 500*time.Millisecond)
			defer rest()
		}
	}
}

func askMonitor(ctx context.Context, address string, add func([]byte)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	failed := func(err error) error { return fmt.Errorf("ask NATS monitoring: %w", err) }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(address, "/")+"/varz", nil)
	if err != nil {
		return failed(errors.New("NATS_MONITOR_URL is not a URL"))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return failed(err)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return failed(err)
	}
	if res.StatusCode != http.StatusOK {
		return failed(fmt.Errorf("it answered %d", res.StatusCode))
	}
	add(raw)
	return nil
}

// readVarz takes what counts out of a server's description, false when it has none.
func readVarz(raw []byte) (ServerDurability, bool) {
	var v struct {
		Name      string `json:"server_name"`
		Version   string `json:"version"`
		JetStream struct {
			Config *struct {
				SyncInterval time.Duration `json:"sync_interval"`
				SyncAlways   bool          `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	if json.Unmarshal(raw, &v) != nil || v.Name == "" || v.JetStream.Config == nil {
		return ServerDurability{}, false
	}
	return ServerDurability{Name: v.Name, Version: v.Version, Known: true,
		SyncAlways: v.JetStream.Config.SyncAlways, SyncInterval: v.JetStream.Config.SyncInterval}, true
}

// Configured reports whether every stream is what Satchel needs, and what is not.
func (d *Durability) Configured() (bool, string) {
	var problems []string
	for _, s := range d.Streams {
		switch {
		case s.Missing:
			problems = append(problems, s.Name+" is not there yet")
		case len(s.Differences) > 0:
			problems = append(problems, s.Name+": "+strings.Join(s.Differences, "; "))
		}
	}
	if len(problems) > 0 {
		return false, strings.Join(problems, "; ")
	}
	return true, "MEMORY, LEDGER and DLQ are as Satchel needs them"
}

// Synced reports whether an acknowledged event survives a power cut of every server that
// keeps it, and why.
func (d *Durability) Synced() (bool, string) {
	var lazy, unknown []string
	for _, s := range d.Servers {
		switch {
		case !s.Known:
			unknown = append(unknown, s.Name)
		case !s.SyncAlways:
			lazy = append(lazy, fmt.Sprintf("%s every %s", s.Name, s.SyncInterval))
		}
	}
	switch {
	case len(d.Servers) == 0:
		return false, "there is no stream MEMORY"
	case len(lazy) > 0:
		return false, "synced only now and then (" + strings.Join(lazy, ", ") + "): a power cut loses what was acknowledged since; set sync_interval: always in the servers' jetstream block"
	case len(unknown) > 0:
		return false, "how " + strings.Join(unknown, ", ") + " syncs is not known, which counts as not held; set NATS_SYS_CREDS or NATS_MONITOR_URL"
	}
	return true, "every message is synced on " + joinServerNames(d.Servers) + " before it is acknowledged"
}

// Replicated reports whether an acknowledged event survives the loss of a server for good,
// and why.
func (d *Durability) Replicated() (bool, string) {
	for _, s := range d.Streams {
		if s.Name != MemoryStream || s.Missing {
			continue
		}
		switch {
		case s.Copies < 3:
			return false, fmt.Sprintf("MEMORY has %d of the 3 copies it takes; without them events that are not yet logged go with the server's disk", s.Copies)
		case len(s.Behind) > 0:
			return false, "copies of MEMORY are away or behind: " + strings.Join(s.Behind, ", ")
		}
		return true, fmt.Sprintf("MEMORY has %d copies, all up to date", s.Copies)
	}
	return false, "there is no stream MEMORY"
}

func joinServerNames(servers []ServerDurability) string {
	list := make([]string, len(servers))
	for i, s := range servers {
		list[i] = s.Name
	}
	return strings.Join(list, ", ")
}
