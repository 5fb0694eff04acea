package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// process is a `satchel up` of some binary, measured from outside.
type process struct {
	cmd  *exec.Cmd
	nats string // its address
	http string // where its metrics are
}

// startLimit is how long a node may take until it is up.
const startLimit = 10 * time.Minute

// startProcess starts a binary on a data folder and waits until it is up.
func startProcess(ctx context.Context, binary, dir string) (*process, error) {
	p := &process{cmd: exec.Command(binary, "up", "--dir", dir, "--nats-port", "0", "--http-addr", "127.0.0.1:0")}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", binary, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { p.cmd.Process.Kill() })()
	up := regexp.MustCompile(`^satchel is up: .*NATS (nats://\S+), health (http://[^/]+)/`)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if found := up.FindStringSubmatch(line); found != nil {
			p.nats = found[1]
			p.http = found[2]
			go io.Copy(io.Discard, lines)
			return p, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%q did not say that it is up", binary), p.cmd.Wait())
		}
	}
}

// stop interrupts the process and waits for it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("stop %q: %w", p.cmd.Path, err)
	}
	return p.cmd.Wait()
}

// cpu returns the processor time that the process has used, to a hundredth of a second; 0 where
// there is no /proc.
func (p *process) cpu() time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var user, system int64
	if _, err := fmt.Sscan(strings.Join(fields[11:13], " "), &user, &system); err != nil {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// rss returns its resident memory in MiB.
func (p *process) rss() float64 { return rss(p.cmd.Process.Pid) }

// allocated returns how many bytes and objects the process has ever allocated, as its metrics
// say.
func (p *process) allocated(ctx context.Context) (bytes, objects float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.http+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, fmt.Errorf("read metrics: %w", err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		// What is read before a name that differs stays as it is.
		fmt.Sscanf(lines.Text(), "go_memstats_alloc_bytes_total %g", &bytes)
		fmt.Sscanf(lines.Text(), "go_memstats_mallocs_total %g", &objects)
	}
	return bytes, objects, lines.Err()
}

// quiet waits until the process uses less than a fiftieth of a processor for two seconds.
func (p *process) quiet(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for last := p.cpu(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		used := p.cpu()
		if used-last < 40*time.Millisecond {
			return nil
		}
		last = used
	}
}

// folderBytes is the disk that the files of a folder take.
func folderBytes(dir string) (float64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return float64(sum), err
}
