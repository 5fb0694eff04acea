// Package qdrant keeps vectors in a Qdrant server, 1.16 or newer, over gRPC.
//
// What it owns there: one collection for each embedding model, named after it. A point is
// an item on one axis: its vector is the multivector of the item's chunks, so the server's
// score is the item's; its id is made of tenant, item and axis; its payload is
//
//	tenant             indexed as the tenant, in every condition
//	key, item, axis    the item: a UUID of tenant and id, for conditions; its id
//	spans              start and end of every chunk
//	position, at       of the item; of the change that wrote the point
//	draw               a number made of the id, by which samples are drawn
//	kind, level …      the facets
//	exact              the bits of those that are fractions
//
// An item without chunks is a point without axis and vector. One more point of each tenant
// holds its checkpoint.
//
// Qdrant has no transactions. A batch is written so that any part of it may be repeated:
// points are guarded by the position that wrote them (a newer one is left alone), what is
// left of replaced and removed items goes after them, and the checkpoint, which moves only
// from where the batch began, goes last. Two writers of one tenant are noticed at the
// checkpoint: both are told, and the batches are applied again from the older one.
//
// Mean, SD and N are exact up to Sample items that pass the filter; of more they are those
// of a sample that is the same every time.
package qdrant

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	client "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"satchel/pipeline/infra/httpclient"
	"satchel/pipeline/store/internal/columns"
	"satchel/pipeline/store/vector"
)

// ErrUnusable is returned by Open when settings or server rule out any work: the text
// says in one sentence what to change.
var ErrUnusable = errors.New("the Qdrant server cannot be used")

// ErrMoved is returned by Apply when the checkpoint is not where this process left it: the
// collection was restored from an older copy, or another process writes the tenant.
// Reading the checkpoint again says from where to go on.
var ErrMoved = errors.New("vector index was moved by somebody else")

// Quantisation of the vectors that are searched first; the best are scored exactly.
const (
	Int8 = "int8"
	None = "none"
)

// Config says which server and which collection. URL, Model and Dimensions are required.
type Config struct {
	URL    string // http://host:6334 or https://host:6334, the port of gRPC
	APIKey string
	CAFile string // PEM file of the certificates to trust with https; default: the system's

	Model      string // names what makes the vectors, with its revision
	Dimensions int    // length of a vector
	Collection string // start of the collection's name; default "satchel"

	Quantisation string        // Int8 or None, for a collection that is created; default Int8
	Replicas     int           // copies of a collection that is created; default 1
	Batch        int           // points a request writes; default 256
	Sample       int           // items that moments are computed of; default 512
	Tries        int           // of a request that the server did not answer; default 4
	Timeout      time.Duration // of a try; default 30 s
	ConnectWait  time.Duration // how long Open waits for the server to answer; default 15 s
}

func (c *Config) fillDefaults() {
	text := func(v *string, d string) {
		if *v == "" {
			*v = d
		}
	}
	number := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	text(&c.Collection, "satchel")
	text(&c.Quantisation, Int8)
	number(&c.Replicas, 1)
	number(&c.Batch, 256)
	number(&c.Sample, 512)
	number(&c.Tries, 4)
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.ConnectWait <= 0 {
		c.ConnectWait = 15 * time.Second
	}
}

// Index is a vector.Driver; put vector.New in front of it. It is safe for concurrent use.
type Index struct {
	cfg    Config
	host   string
	name   string // of the collection
	client *client.Client

	locks    sync.Map // by tenant: *sync.Mutex, held by the Apply that runs
	rollback columns.RollbackCheck
}

var _ vector.Driver = (*Index)(nil)

// Open connects, checks the server's version and that the key may write, and creates the
// collection and its indexes.
func Open(ctx context.Context, c Config) (*Index, error) {
	c.fillDefaults()
	if c.Dimensions <= 0 || c.Model == "" {
		return nil, fmt.Errorf("open vector index: %w: model and dimensions are needed", ErrUnusable)
	}
	if c.Quantisation != Int8 && c.Quantisation != None {
		return nil, fmt.Errorf("open vector index: %w: quantisation %q is neither %q nor %q", ErrUnusable, c.Quantisation, Int8, None)
	}
	at, port, err := c.parseAddress()
	if err != nil {
		return nil, err
	}
	dial := &client.Config{Host: at.Hostname(), Port: port, UseTLS: at.Scheme == "https", SkipCompatibilityCheck: true, PoolSize: 2}
	if c.APIKey != "" {
		dial.GrpcOptions = append(dial.GrpcOptions, grpc.WithChainUnaryInterceptor(withKey(c.APIKey)))
	}
	if dial.TLSConfig, err = c.readCertificates(); err != nil {
		return nil, err
	}
	x := &Index{cfg: c, host: at.Host, name: collectionName(c.Collection, c.Model)}
	if x.client, err = client.NewClient(dial); err != nil {
		return nil, fmt.Errorf("open vector index: %w: %w", ErrUnusable, err)
	}
	if err := x.prepareServer(ctx); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (c *Config) parseAddress() (*url.URL, int, error) {
	at, err := url.Parse(c.URL)
	if err != nil || at.Hostname() == "" || !slices.Contains([]string{"http", "https"}, at.Scheme) {
		return nil, 0, fmt.Errorf("open vector index: %w: the URL must be like http://host:6334 or https://host:6334", ErrUnusable)
	}
	if at.User != nil {
		return nil, 0, fmt.Errorf("open vector index: %w: the URL holds a user; the API key is a setting of its own", ErrUnusable)
	}
	if at.Port() == "" {
		return at, 6334, nil
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		return nil, 0, fmt.Errorf("open vector index: %w: port %q is no number", ErrUnusable, at.Port())
	}
	return at, port, nil
}

// readCertificates returns how a server proves itself, nil for the system's certificates.
func (c *Config) readCertificates() (*tls.Config, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pool, err := httpclient.Roots(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("open vector index: %w: %w", ErrUnusable, err)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// withKey sends the API key with every call.
func withKey(key string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(metadata.AppendToOutgoingContext(ctx, "api-key", key), method, req, reply, cc, opts...)
	}
}

// Dimensions is the length of every vector.
func (x *Index) Dimensions() int { return x.cfg.Dimensions }

// Collection is the collection's name.
func (x *Index) Collection() string { return x.name }

// Drop removes the collection with every tenant's vectors. The index is of no use then.
func (x *Index) Drop(ctx context.Context) error {
	err := x.callForWrite(ctx, func(ctx context.Context) error { return x.client.DeleteCollection(ctx, x.name) })
	if err != nil {
		return fmt.Errorf("drop vector collection: %w", err)
	}
	return nil
}

// Close closes the connections.
func (x *Index) Close() error { return x.client.Close() }
