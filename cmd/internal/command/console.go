package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/emitters/gateway/console"
	"satchel/pipeline/infra/httpclient"
	"satchel/schemas"
)

// Console is satchel console.
type Console struct {
	URL       string `name:"url" help:"Address of the gateway." default:"http://127.0.0.1:8228"`
	TokenFile string `help:"File with a token; - reads standard input; default the variable SATCHEL_TOKEN." placeholder:"FILE"`
}

// Run asks the gateway for a link and prints it.
func (c *Console) Run(ctx context.Context, a *app.App) error {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return config.Usagef("--url %q: give the address of a gateway, as http://127.0.0.1:8228", c.URL)
	}
	if base.Scheme == "http" && !httpclient.OnThisMachine(base.Hostname()) {
		return config.Usagef("--url %s: beyond this machine the token would be read by others: use https", c.URL)
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	link, err := askLink(ctx, base, token)
	if err != nil {
		return err
	}
	address := strings.TrimSuffix(base.String(), "/") + link.Path
	reply := map[string]any{"url": address, "tenant": link.Tenant, "principal": link.Principal, "seconds": link.Seconds}
	return PrintReply(a, reply, func(w io.Writer) {
		fmt.Fprintln(w, address)
		fmt.Fprintf(a.Err, "for principal %s in tenant %s; it works once, within %d seconds\n", link.Principal, link.Tenant, link.Seconds)
	})
}

// token reads the token.
func (c *Console) token() (string, error) {
	raw := []byte(os.Getenv("SATCHEL_TOKEN"))
	err := error(nil)
	switch c.TokenFile {
	case "":
	case "-":
		raw, err = io.ReadAll(io.LimitReader(os.Stdin, 16<<10))
	default:
		raw, err = os.ReadFile(c.TokenFile)
	}
	if err != nil {
		return "", config.Usagef("read the token: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	switch {
	case token == "" && c.TokenFile != "" && c.TokenFile != "-":
		return "", config.Usagef("%s is empty; satchel token add makes a token", c.TokenFile)
	case token == "", strings.ContainsAny(token, " \r\n\t"):
		return "", config.Usagef("name a file with --token-file, or set SATCHEL_TOKEN; satchel token add makes a token")
	}
	return token, nil
}

// askLink asks the gateway for a link.
func askLink(ctx context.Context, base *url.URL, token string) (link console.Link, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath(console.Path, "link").String(), nil)
	if err != nil {
		return link, config.Usagef("--url %s: %w", base, err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := stay.Do(req)
	if err != nil {
		err = errors.Unwrap(err) // without the address
		return link, fmt.Errorf("no gateway at %s (%w): run satchel gateway; %w", base.Redacted(), err, app.ErrNobody)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err != nil {
		return link, fmt.Errorf("read the gateway's answer: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		var refused schemas.Error
		if json.Unmarshal(body, &refused) == nil && refused.Code != "" {
			return link, &refused
		}
		return link, fmt.Errorf("%s answers with %s: is it a satchel gateway?", base.Redacted(), res.Status)
	}
	if err := json.Unmarshal(body, &link); err != nil || !strings.HasPrefix(link.Path, console.Path) {
		return link, fmt.Errorf("%s does not answer as a satchel gateway does", base.Redacted())
	}
	return link, nil
}
