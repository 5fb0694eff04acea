package httpclient

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// Endpoint reads the URL of a server that is asked with a key, "" for none. The URL is
// http or https, names a host, and has no user and no fragment. A key needs https, or a
// server on this machine. Errors repeat neither, as both may hold a secret.
func Endpoint(address, key string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("want http://HOST:PORT/PATH or https://HOST/PATH")
	case u.User != nil:
		return nil, errors.New("it names a user; give the server a key instead")
	case u.Fragment != "":
		return nil, errors.New("it has a fragment")
	case strings.ContainsAny(key, "\r\n"):
		return nil, errors.New("the key has more than one line")
	case key != "" && u.Scheme == "http" && !OnThisMachine(u.Hostname()):
		return nil, errors.New("a key needs https, or a server on this machine")
	}
	return u, nil
}

// OnThisMachine reports whether a host is this machine by its name or number: localhost or a loopback address.
func OnThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
