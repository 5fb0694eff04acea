// Keyword is the keyword index of a Postgres database: full-text search over a
// tsvector a document, with a GIN index, ranked by ts_rank. It owns the schema
// satchel_keyword (schema.go). Any number of processes may use it at the same time: Apply
// holds the tenant's row.
//
// Every lexeme begins with its tenant's number, so that the index is entered at the
// tenant's own postings, however common a word is elsewhere; the tenant is a condition of
// its own beside that. Filters are parameters.
//
// ts_rank knows how often and where a term is in a document, not how common it is in
// the tenant: scores are not BM25. Moments are exact. Text is never kept, only lexemes.
// Of a text whose lexemes take more than maxVector bytes the rest is not indexed.
//
// The tables are a projection: a commit does not wait for the disk.

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
)

// ErrOrder is returned by Apply when positions fall or pass upTo.
var ErrOrder = errors.New("changes are not in order of position")

// KeywordConfig says where the database is. URL is required.
type KeywordConfig struct {
	URL      string // a postgres:// URL
	Schema   string // holds the tables; "" is satchel_keyword
	MaxConns int    // most connections; 0 is 8
	// Language is a text search configuration of the server, such as german: its parser,
	// stemmer and stop words take the place of package keyword's analysis, which is that
	// of "". An index of another language is rebuilt.
	Language string
}

// Keyword is a keyword.Index. It is safe for concurrent use.
type Keyword struct {
	pool     *pgxpool.Pool
	language string
}

var _ keyword.Index = (*Keyword)(nil)

var languageName = regexp.MustCompile(`^([a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?)?$`)

// OpenKeyword connects and makes the tables when they are not there.
func OpenKeyword(ctx context.Context, cfg KeywordConfig) (*Keyword, error) {
	cfg.Schema = cmp.Or(cfg.Schema, "satchel_keyword")
	if !languageName.MatchString(cfg.Language) {
		return nil, fmt.Errorf("open keyword index: %w", &SetupError{Problem: fmt.Sprintf("language %q: the name of a text search configuration, such as german", cfg.Language)})
	}
	pool, err := OpenPool(ctx, PoolConfig{URL: cfg.URL, Schema: cfg.Schema, Version: keywordSchemaVersion, Tables: keywordTables, MaxConns: cfg.MaxConns,
		Settings: map[string]string{"synchronous_commit": "off"}})
	if err != nil {
		return nil, fmt.Errorf("open keyword index: %w", err)
	}
	x := &Keyword{pool: pool, language: cfg.Language}
	if err := x.emptyIfOtherRules(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open keyword index: %w", err)
	}
	return x, nil
}

// emptyIfOtherRules empties an index that was made by other rules of analysis.
func (x *Keyword) emptyIfOtherRules(ctx context.Context) error {
	if x.language != "" {
		var there bool
		if err := x.pool.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
			WHERE $1::text IN (c.cfgname::text, n.nspname || '.' || c.cfgname)`, x.language).Scan(&there); err != nil {
			return CleanError(err)
		}
		if !there {
			return &SetupError{Problem: fmt.Sprintf("the server has no text search configuration %q", x.language)}
		}
	}
	rules := fmt.Sprintf("%d/%s", keyword.Version, x.language)
	return pgx.BeginFunc(ctx, x.pool, func(tx pgx.Tx) error {
		var stored string
		err := tx.QueryRow(ctx, "SELECT rules FROM analysis FOR UPDATE").Scan(&stored)
		if err != nil || stored == rules {
			return err
		}
		if stored != "" {
			if _, err := tx.Exec(ctx, "TRUNCATE docs"); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "UPDATE tenants SET checkpoint = 0, docs = 0"); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE analysis SET rules = $1", rules)
		return err
	})
}

// Close waits for calls under way and closes the connections.
func (x *Keyword) Close() error {
	x.pool.Close()
	return nil
}

// Scrub vacuums what removed documents have left in the table and its index.
func (x *Keyword) Scrub(ctx context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("scrub keywords: %w", err)
	}
	_, err := x.pool.Exec(ctx, "VACUUM docs")
	return wrapKeyword("scrub keywords", err)
}

// Remaining counts which of the items the index holds; an erasure asks it.
func (x *Keyword) Remaining(ctx context.Context, s scope.Scope, ids []string) (n int, err error) {
	tenant, _, err := x.findTenant(ctx, s)
	if err == nil {
		err = x.pool.QueryRow(ctx, "SELECT count(*) FROM docs WHERE tenant = $1 AND id = ANY($2)", tenant, ids).Scan(&n)
	}
	return n, wrapKeyword("count what is left of erased items", err)
}

func wrapKeyword(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, CleanError(err))
}

// findTenant returns a tenant's number and checkpoint, zeros for one that has nothing.
func (x *Keyword) findTenant(ctx context.Context, s scope.Scope) (id int32, checkpoint int64, err error) {
	if err := s.Check(); err != nil {
		return 0, 0, err
	}
	err = x.pool.QueryRow(ctx, "SELECT id, checkpoint FROM tenants WHERE name = $1", s.Tenant()).Scan(&id, &checkpoint)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, nil
	}
	return id, checkpoint, CleanError(err)
}

// Checkpoint returns the position up to which changes are in the index, 0 for none.
func (x *Keyword) Checkpoint(ctx context.Context, s scope.Scope) (int64, error) {
	_, checkpoint, err := x.findTenant(ctx, s)
	return checkpoint, wrapKeyword("read keyword checkpoint", err)
}

const searchQuery = `WITH hits AS MATERIALIZED (
		SELECT d.id, ts_rank(d.tsv, $2::tsquery, 1)::float8 AS score, %[3]s AS counts FROM docs d WHERE d.tenant = $1 AND d.tsv @@ $2::tsquery AND %[1]s
	), top AS (SELECT id, score FROM hits ORDER BY score DESC, id LIMIT $3)
	SELECT (SELECT coalesce(sum(score), 0) FROM hits WHERE counts), (SELECT coalesce(sum(score * score), 0) FROM hits WHERE counts), (%[2]s),
		ARRAY(SELECT id FROM top ORDER BY score DESC, id), ARRAY(SELECT score FROM top ORDER BY score DESC, id)`

// Search returns the best hits. See keyword.Index.
func (x *Keyword) Search(ctx context.Context, s scope.Scope, q keyword.Query) (keyword.Result, error) {
	if q.Limit < 0 || q.Limit > keyword.MaxLimit {
		return keyword.Result{}, fmt.Errorf("search keywords: limit %d: must be between 0 and %d", q.Limit, keyword.MaxLimit)
	}
	tenant, _, err := x.findTenant(ctx, s)
	if err != nil || tenant == 0 || q.Filter.IsNone() {
		return keyword.Result{}, wrapKeyword("search keywords", err)
	}
	query, err := x.makeTextQuery(ctx, tenant, q.Text)
	if err != nil {
		return keyword.Result{}, wrapKeyword("search keywords", err)
	}
	args := []any{tenant, query, q.Limit}
	where := makeConditions(&q, &args)
	counts := FilterCondition(q.Population, "d", &args)
	count := "SELECT docs FROM tenants WHERE id = $1"
	if len(q.Filter.Conds())+len(q.Exclude)+len(q.Population.Conds()) > 0 || q.Population.IsNone() {
		count = "SELECT count(*) FROM docs d WHERE d.tenant = $1 AND " + where + " AND " + counts
	}
	var res keyword.Result
	var sum, squares float64
	var ids []string
	var scores []float64
	if err := x.pool.QueryRow(ctx, fmt.Sprintf(searchQuery, where, count, counts), args...).Scan(&sum, &squares, &res.N, &ids, &scores); err != nil {
		return keyword.Result{}, wrapKeyword("search keywords", err)
	}
	for i, id := range ids {
		res.Hits = append(res.Hits, keyword.Hit{ID: id, Score: scores[i]})
	}
	if res.N > 0 {
		n := float64(res.N)
		res.Mean = sum / n
		res.SD = math.Sqrt(max(0, squares/n-res.Mean*res.Mean))
	}
	return res, nil
}

// Score returns the query's score of each id. See keyword.Index.
func (x *Keyword) Score(ctx context.Context, s scope.Scope, q keyword.Query, ids []string) ([]float64, error) {
	tenant, _, err := x.findTenant(ctx, s)
	out := make([]float64, len(ids))
	if err != nil || tenant == 0 || len(ids) == 0 || q.Filter.IsNone() {
		return out, wrapKeyword("score keywords", err)
	}
	query, err := x.makeTextQuery(ctx, tenant, q.Text)
	if err != nil {
		return nil, wrapKeyword("score keywords", err)
	}
	args := []any{tenant, query, ids}
	where := makeConditions(&q, &args)
	rows, err := x.pool.Query(ctx, `SELECT d.id, ts_rank(d.tsv, $2::tsquery, 1)::float8 FROM docs d
		WHERE d.tenant = $1 AND d.id = ANY ($3) AND d.tsv @@ $2::tsquery AND `+where, args...)
	if err != nil {
		return nil, wrapKeyword("score keywords", err)
	}
	scores := make(map[string]float64, len(ids))
	var id string
	var score float64
	_, err = pgx.ForEachRow(rows, []any{&id, &score}, func() error {
		scores[id] = score
		return nil
	})
	for i, id := range ids {
		out[i] = scores[id]
	}
	return out, wrapKeyword("score keywords", err)
}

// makeConditions are the filter of a query and what it excludes.
func makeConditions(q *keyword.Query, args *[]any) string {
	where := FilterCondition(q.Filter, "d", args)
	if len(q.Exclude) > 0 {
		*args = append(*args, q.Exclude)
		where += fmt.Sprintf(" AND d.id <> ALL ($%d)", len(*args))
	}
	return where
}

// ScoreTexts returns the score of documents of these texts. See keyword.Index.
func (x *Keyword) ScoreTexts(ctx context.Context, s scope.Scope, q keyword.Query, texts []string) ([]float64, error) {
	tenant, _, err := x.findTenant(ctx, s)
	out := make([]float64, len(texts))
	if err != nil || tenant == 0 || len(texts) == 0 {
		return out, wrapKeyword("score texts", err)
	}
	query, err := x.makeTextQuery(ctx, tenant, q.Text)
	if err != nil {
		return nil, wrapKeyword("score texts", err)
	}
	vectors := make([]string, len(texts))
	source := "t::tsvector"
	for i, text := range texts {
		vectors[i] = makeTextVector(tenant, text)
		if x.language != "" {
			vectors[i] = cutForVector(ShortText(text))
		}
	}
	args := []any{query, vectors}
	if x.language != "" {
		source = "to_tsvector($3::regconfig, t)"
		args = append(args, x.language)
		// The query's lexemes carry the tenant's prefix; those of the texts do not.
		args[0] = strings.ReplaceAll(query, "'"+makePrefix(tenant), "'")
	}
	rows, err := x.pool.Query(ctx, "SELECT ts_rank("+source+", $1::tsquery, 1)::float8 FROM unnest($2::text[]) WITH ORDINALITY AS u(t, n) ORDER BY n", args...)
	if err != nil {
		return nil, wrapKeyword("score texts", err)
	}
	scores, err := pgx.CollectRows(rows, pgx.RowTo[float64])
	return scores, wrapKeyword("score texts", err)
}
