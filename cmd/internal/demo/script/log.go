package script

import (
	"fmt"
	"strings"
	"time"
)

// GatewayLog is what the gateway logged on the morning of the outage: 6,000 lines, most
// of them alike.
func GatewayLog() string {
	var b strings.Builder
	at := time.Date(2026, 3, 3, 8, 30, 0, 0, time.UTC)
	for i := range 6000 {
		now := at.Add(time.Duration(i) * 600 * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
		proxy := "proxy-" + string(rune('a'+i%2))
		switch {
		case i == 3000:
			fmt.Fprintf(&b, "%s ERROR %s tls: certificate has expired: not after 2026-03-03T09:00:00Z\n", now, proxy)
		case i > 3000 && i < 5600 && i%3 == 0:
			fmt.Fprintf(&b, "%s ERROR %s handshake failed for client 10.0.%d.%d, answered 502\n", now, proxy, i%200, i%250)
		case i == 5600:
			fmt.Fprintf(&b, "%s WARN  %s reloaded certificate, not after 2026-06-01T09:00:00Z\n", now, proxy)
		default:
			fmt.Fprintf(&b, "%s INFO  %s authorised request %06d in %d ms\n", now, proxy, i, 20+i%37)
		}
	}
	return b.String()
}
