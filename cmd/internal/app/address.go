package app

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"satchel/pipeline/infra/files"
)

// ErrNobody is returned when nothing answers at the NATS address.
var ErrNobody = errors.New("start Satchel with: satchel up")

// ErrAbsent is returned when the NATS that Satchel shall run on does not answer.
var ErrAbsent = errors.New("no server answers there: start it, or see NATS_URL")

// NatsPort is the port of the server in the process, when none is given.
const NatsPort = 4222

// AddressFile holds, in the data folder, the address of the server in the process that
// has the folder open, so that commands find it on whatever port it listens.
const AddressFile = "nats.url"

// HTTPAddr is where a process answers over HTTP, when nothing else is set.
const HTTPAddr = "127.0.0.1:8230"

// HTTPAddressFile holds, in the data folder, the HTTP address of the process that has the folder
// open. The file is empty when that process has none.
const HTTPAddressFile = "http.url"

// Address is where the server in a process listens: at the port that is given on the
// command line, be it the usual one, or otherwise than the usual one in the environment; or
// as the process wrote into the data folder; or at the usual port.
func (a *App) Address() string {
	if a.NATSPort <= 0 || a.NATSPort == NatsPort && !a.PortGiven {
		if address, err := a.readAddress(AddressFile); err == nil {
			return address
		}
		return fmt.Sprintf("nats://127.0.0.1:%d", NatsPort)
	}
	return fmt.Sprintf("nats://127.0.0.1:%d", a.NATSPort)
}

// longestAddress is more than an address takes, in bytes.
const longestAddress = 300

// readAddress reads what ShowAddress wrote, and nothing else: "" is no address.
func (a *App) readAddress(file string) (string, error) {
	path := a.Path(file)
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > longestAddress {
		return "", fmt.Errorf("read address: %s is none", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read address: %w", err)
	}
	address := strings.TrimSpace(string(raw))
	if at, err := url.Parse(address); address != "" && (err != nil || at.Host == "") {
		return "", fmt.Errorf("read address: %s holds none", path)
	}
	return address, nil
}

// OtherAddress is the address in the data folder where it is not the one at the port that is given: "" where both
// are the same, or where one is not there.
func (a *App) OtherAddress() string {
	shown, err := a.readAddress(AddressFile)
	if err != nil || a.NATSURL != "" || shown == a.Address() {
		return ""
	}
	return shown
}

// HasServer reports whether a process says that it has the data folder open, or the port of
// one is given.
func (a *App) HasServer() bool {
	_, err := os.Stat(a.Path(AddressFile))
	return err == nil || a.PortGiven || a.NATSPort != NatsPort
}

// HTTPAddress is where the running process answers over HTTP: at the address that is given on the
// command line, be it the usual one, or otherwise than the usual one in the environment; or as the
// process wrote into the data folder; or at the usual address. It is "" when there is none.
func (a *App) HTTPAddress() string {
	if a.HTTPAddr == HTTPAddr && !a.HTTPGiven {
		if address, err := a.readAddress(HTTPAddressFile); err == nil {
			return address
		}
	}
	if a.HTTPAddr == "" {
		return ""
	}
	return "http://" + a.HTTPAddr
}

// ShowAddress writes an address into a file of the data folder; the function it returns takes
// the file away again.
func (a *App) ShowAddress(file, url string) (hide func() error, err error) {
	path := a.Path(file)
	err = files.WriteUnsynced(path, func(w io.Writer) error { // not through a link that someone left there
		_, err := io.WriteString(w, url+"\n")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write address: %w", err)
	}
	return func() error { return os.Remove(path) }, nil
}
