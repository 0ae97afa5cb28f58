//go:build linux

package cli

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline/clitest"
)

// soakVariable is the environment variable with the length of TestSoak, as in 1h.
const soakVariable = "RESIDUA_SOAK"

const soakClients = 64

// usage is what a process takes at a moment.
type usage struct{ megabytes, files, goroutines int }

func (u usage) String() string {
	return fmt.Sprintf("%d MB, %d files, %d goroutines", u.megabytes, u.files, u.goroutines)
}

// usageOf reads what a process takes; goroutines are known of a server with an address.
func usageOf(t *testing.T, pid int, address string) (u usage) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	kilobytes, err := strconv.Atoi(string(regexp.MustCompile(`VmRSS:\s+(\d+)`).FindSubmatch(status)[1]))
	require.NoError(t, err)
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	require.NoError(t, err)
	u.megabytes, u.files = kilobytes>>10, len(files)
	if address != "" {
		text := get(t, address+"/metrics")
		u.goroutines, err = strconv.Atoi(regexp.MustCompile(`go_goroutines (\d+)`).FindStringSubmatch(text)[1])
		require.NoError(t, err)
	}
	return u
}

func get(t *testing.T, url string) string {
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(text)
}

// TestSoak runs a server under clients that read streams, leave, read slowly and send bodies that
// are none, next to a training run of 20,000 steps. Memory, files and goroutines stay as they are,
// and each answer is the one that its request had at first.
func TestSoak(t *testing.T) {
	text := os.Getenv(soakVariable)
	if text == "" {
		t.Skip("long: runs for as long as " + soakVariable + " says")
	}
	length, err := time.ParseDuration(text)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "soak")
	killed{args: []string{"model"}}.begin(t, dir)
	training := clitest.Program(t, "train", "-config", "kill.yaml", "-out", "long", "-set", "train.steps=20000", "-set", "train.checkpoint_every=500")
	training.Dir = dir
	require.NoError(t, training.Start())
	trained := make(chan error, 1)
	go func() { trained <- training.Wait() }()
	server := clitest.Program(t, "serve", "-checkpoint", "model", "-listen", "127.0.0.1:0", "-slide", "-max-body", "65536")
	server.Dir = dir
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, address, _ := strings.Cut(strings.TrimSpace(line), " at ")

	want := map[int]string{}
	for i := range 8 {
		want[i], err = soaked(address, i)
		require.NoError(t, err)
	}
	start := usageOf(t, server.Process.Pid, address)
	t.Logf("soak|start|server: %v", start)
	end := time.Now().Add(length)
	var answers [4]int
	var mutex sync.Mutex
	var clients sync.WaitGroup
	for client := range soakClients {
		clients.Go(func() {
			draw := rand.New(rand.NewPCG(1, uint64(client)))
			for time.Now().Before(end) {
				soak(t, address, client%len(answers), draw, want)
				mutex.Lock()
				answers[client%len(answers)]++
				mutex.Unlock()
			}
		})
	}
	var during []usage
	const looks = 20
	for i := range looks {
		time.Sleep(length / (looks + 1))
		u := usageOf(t, server.Process.Pid, address)
		during = append(during, u)
		more := ""
		if files, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", training.Process.Pid)); err == nil && len(files) > 0 {
			more = fmt.Sprintf("; train: %v", usageOf(t, training.Process.Pid, ""))
		}
		t.Logf("soak|%d/%d|server: %v%s", i+1, looks, u, more)
	}
	clients.Wait()
	t.Logf("soak|answers|%d whole, %d left, %d read slowly, %d bodies that are none", answers[0], answers[1], answers[2], answers[3])
	early, late := most(during[looks/4:looks/2]), most(during[3*looks/4:])
	assert.LessOrEqual(t, late.megabytes, early.megabytes*5/4+16, "memory grows")
	assert.LessOrEqual(t, late.files, early.files+soakClients/4, "files are left open")
	assert.LessOrEqual(t, late.goroutines, early.goroutines+soakClients/2, "goroutines are left")
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool {
		now := usageOf(t, server.Process.Pid, address)
		http.DefaultClient.CloseIdleConnections()
		return now.goroutines <= start.goroutines+4 && now.files <= start.files+4
	}, time.Minute, time.Second, "what clients have left goes")
	select {
	case err := <-trained:
		require.NoError(t, err, "train")
	case <-time.After(length + time.Hour):
		t.Fatal("train does not end")
	}
}

// soaked returns the whole answer to request i.
func soaked(address string, i int) (string, error) {
	r, err := http.Post(address+"/v1/completions", "application/json", soakBody(i, false))
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", r.StatusCode, body)
	}
	return regexp.MustCompile(`"text": ?"([^"\\]|\\.)*"`).FindString(string(body)), err
}

func soakBody(i int, stream bool) io.Reader {
	return strings.NewReader(fmt.Sprintf(`{"prompt": "%d squared is ", "max_tokens": %d, "temperature": 0.8, "seed": %d, "stream": %t}`, i, 8+8*i, i, stream))
}

// soak makes one request, of a kind. A server that has enough requests may refuse it for now.
func soak(t *testing.T, address string, kind int, draw *rand.Rand, want map[int]string) {
	i := draw.IntN(len(want))
	if kind == 0 {
		got, err := soaked(address, i)
		if err == nil || !strings.Contains(err.Error(), "status 429") {
			assert.NoError(t, err)
			assert.Equal(t, want[i], got)
		}
		return
	}
	body := soakBody(i, true)
	if kind == 3 {
		garbage := make([]byte, draw.IntN(100_000))
		for j := range garbage {
			garbage[j] = byte(draw.Uint32())
		}
		body = strings.NewReader(string(garbage))
	}
	r, err := http.Post(address+"/v1/completions", "application/json", body)
	if err != nil { // a body that is refused before it has been sent
		return
	}
	defer r.Body.Close()
	switch kind {
	case 1:
		_, _ = io.ReadFull(r.Body, make([]byte, 10))
	case 2:
		for piece := make([]byte, 256); err == nil; {
			_, err = r.Body.Read(piece)
			time.Sleep(20 * time.Millisecond)
		}
	case 3:
		assert.True(t, r.StatusCode >= 400 && r.StatusCode < 500, "status %d", r.StatusCode)
	}
}

// most returns the largest of each.
func most(all []usage) (u usage) {
	for _, v := range all {
		u = usage{max(u.megabytes, v.megabytes), max(u.files, v.files), max(u.goroutines, v.goroutines)}
	}
	return u
}
