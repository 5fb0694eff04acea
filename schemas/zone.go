package schemas

import (
	"errors"
	"time"
	_ "time/tzdata" // the zones of machines that have none
)

var errZone = errors.New("must be a time zone, as Asia/Tokyo or +09:00")

// farthest is how far from UTC a zone is at most: Kiritimati.
const farthest = 14 * time.Hour

// Zone returns a time zone by its name in the tz database or its distance from UTC, nil for "".
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	if t, err := time.Parse("-07:00", name); err == nil {
		_, seconds := t.Zone()
		if east := time.Duration(seconds) * time.Second; east.Abs() > farthest {
			return nil, errZone
		}
		return time.FixedZone(name, seconds), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || zone == time.Local {
		return nil, errZone
	}
	return zone, nil
}

// ParseTime reads a time of RFC 3339.
func ParseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err == nil && !strictTime(text) {
		err = errTime
	}
	return at, err
}

var errTime = errors.New("must be a time like 2026-01-31T12:00:00Z (RFC 3339)")

// strictTime reports whether what package time takes for a time of RFC 3339 is one. It takes zones of a day, minutes of a
// zone up to 60, hours of one digit and commas, too. A time before year 2 is none: the beginning of year 1 stands for no time.
func strictTime[text string | []byte](t text) bool {
	const seconds, zone = len("2026-01-31T12:00:00"), len("+14:00")
	if len(t) <= seconds || string(t[:len("2026")]) < "0002" {
		return false
	}
	if t[len("2026-01-31T12")] != ':' || t[seconds] == ',' {
		return false
	}
	if t[len(t)-1] == 'Z' {
		return true
	}
	at := len(t) - zone
	return at >= seconds && string(t[at+1:at+3]) < "24" && string(t[at+4:]) < "60"
}

func (c *checker) checkZone(pointer, name string) {
	if _, err := Zone(name); err != nil {
		c.addIssue(pointer, err.Error())
	}
}
