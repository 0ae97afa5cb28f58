package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// callServe calls serve.
func callServe(args ...string) clitest.Outcome { return call(append([]string{"serve"}, args...)...) }

// startServer runs serve until stop is called, which returns its exit code and messages.
func startServer(t *testing.T, args ...string) (url string, stop func() (code int, stderr string)) {
	t.Helper()
	return startServerAt(t, "127.0.0.1:0", args...)
}

// startServerAt runs it at an address.
func startServerAt(t *testing.T, listen string, args ...string) (url string, stop func() (code int, stderr string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stdout, write := io.Pipe()
	var stderr strings.Builder
	done := make(chan int, 1)
	go func() {
		command, rest := suite(models.Standard(), "ours").Choose(append(append([]string{"serve"}, args...), "-listen", listen))
		code := commandline.Execute(ctx, command, rest, commandline.Output{Stdout: write, Stderr: &stderr})
		write.Close()
		done <- code
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("exit code %d: %s", <-done, stderr.String())
	}
	_, url, ok := strings.Cut(strings.TrimSpace(line), " at ")
	require.True(t, ok, line)
	return url, func() (int, string) { cancel(); code := <-done; return code, stderr.String() }
}

// completion returns the text of a completion that must succeed.
func completion(t *testing.T, url, body string) string {
	t.Helper()
	response, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(answer))
	var c struct{ Choices []struct{ Text string } }
	require.NoError(t, json.Unmarshal(answer, &c))
	return c.Choices[0].Text
}

// TestServe: the texts equal the ones of the model's Generator, whoever else asks meanwhile.
func TestServe(t *testing.T) {
	run := clitest.Train(t, "train.steps=60")
	m, err := pretrained.Open(run.Dir)
	require.NoError(t, err)
	g, err := m.Generator(generate.Options{Threads: 1})
	require.NoError(t, err)
	defer g.Close()
	want := func(r generate.Request) string {
		var text strings.Builder
		_, err := g.Generate(context.Background(), r, func(p generate.Piece) error { text.WriteString(p.Text); return nil })
		require.NoError(t, err)
		return text.String()
	}
	url, stop := startServer(t, "-checkpoint", run.Dir, "-threads", "1", "-name", "tiny")
	greedy := want(generate.Request{Prompt: "line 7 sa", Tokens: 12})
	drawn := want(generate.Request{Prompt: "line", Tokens: 12, Temperature: 0.8, TopP: 0.9, Seed: 3})
	var clients sync.WaitGroup
	for i := range 64 {
		clients.Go(func() {
			if i%2 == 0 {
				assert.Equal(t, greedy, completion(t, url, `{"model": "tiny", "prompt": "line 7 sa", "max_tokens": 12, "temperature": 0}`))
			} else {
				assert.Equal(t, drawn, completion(t, url, `{"prompt": "line", "max_tokens": 12, "temperature": 0.8, "top_p": 0.9, "seed": 3}`))
			}
		})
	}
	clients.Wait()
	code, stderr := stop()
	assert.Equal(t, commandline.ExitOK, code, stderr)
	assert.Empty(t, stderr)
}

// TestServeSpecial: with -special the names of special tokens in a prompt are these tokens.
func TestServeSpecial(t *testing.T) {
	run := clitest.Train(t)
	for want, args := range map[string][]string{`{"count":17,`: nil, `{"count":5,"max_model_len":64,"tokens":[256,97,256,98,99]}`: {"-special"}} {
		url, stop := startServer(t, append([]string{"-checkpoint", run.Dir, "-threads", "1"}, args...)...)
		response, err := http.Post(url+"/tokenize", "application/json", strings.NewReader(`{"prompt": "a<|endoftext|>bc"}`))
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		response.Body.Close()
		assert.Contains(t, string(body), want)
		stop()
	}
}

// TestServeSeveral: a request's model chooses, the first answers where none is named, an unknown
// one is 404 with OpenAI's error.
func TestServeSeveral(t *testing.T) {
	runs := []string{clitest.Train(t, "train.steps=30").Dir, clitest.Train(t, "train.steps=30", "seed=8").Dir}
	var want []string
	for _, run := range runs {
		m, err := pretrained.Open(run)
		require.NoError(t, err)
		text, err := m.Generate(context.Background(), "line 7 sa", generate.Request{Tokens: 12, Temperature: 3, Seed: 5})
		require.NoError(t, err)
		m.Close()
		want = append(want, text)
	}
	require.NotEqual(t, want[0], want[1])
	url, stop := startServer(t, "-checkpoint", runs[0], "-checkpoint", runs[1], "-threads", "1", "-name", "first", "-name", "second")
	ask := `{"prompt": "line 7 sa", "max_tokens": 12, "temperature": 3, "seed": 5`
	assert.Equal(t, want[0], completion(t, url, ask+`}`))
	assert.Equal(t, want[0], completion(t, url, ask+`, "model": "first"}`))
	assert.Equal(t, want[1], completion(t, url, ask+`, "model": "second"}`))
	var list struct{ Data []struct{ ID string } }
	get := func(path string, into any) int {
		response, err := http.Get(url + path)
		require.NoError(t, err)
		defer response.Body.Close()
		require.NoError(t, json.NewDecoder(response.Body).Decode(into))
		return response.StatusCode
	}
	assert.Equal(t, http.StatusOK, get("/v1/models", &list))
	require.Len(t, list.Data, 2)
	assert.Equal(t, "second", list.Data[1].ID)
	var e struct {
		Error struct{ Message, Type, Param, Code string }
	}
	assert.Equal(t, http.StatusNotFound, get("/v1/models/third", &e))
	response, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(ask+`, "model": "third"}`))
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	require.NoError(t, json.NewDecoder(response.Body).Decode(&e))
	assert.Equal(t, "invalid_request_error", e.Error.Type)
	assert.Equal(t, "model_not_found", e.Error.Code)
	assert.Equal(t, "model", e.Error.Param)
	assert.Contains(t, e.Error.Message, `want one of first, second, got "third"`)
	code, stderr := stop()
	assert.Equal(t, commandline.ExitOK, code, stderr)
}

func TestServeTakesATokenFromTheEnvironment(t *testing.T) {
	run := clitest.Train(t)
	t.Setenv("RESIDUA_TOKEN", "secret")
	url, stop := startServer(t, "-checkpoint", run.Model)
	response, err := http.Get(url + "/v1/models")
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusUnauthorized, response.StatusCode)
	request, err := http.NewRequest(http.MethodGet, url+"/v1/models", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer secret")
	response, err = http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	response.Body.Close()
	assert.Contains(t, string(body), `"id":"model"`, "the name of the file")
	stop()
}

// TestServeAsksForATokenOffTheMachine: addresses that other machines reach are refused, before a
// model is read, unless there is a token or -open says that everybody may ask.
func TestServeAsksForATokenOffTheMachine(t *testing.T) {
	call := func(args ...string) clitest.Outcome {
		return callServe(append(args, "-checkpoint", "no such model")...)
	}
	const opened = "no such model" // the next error, of a call whose address is allowed
	t.Setenv("RESIDUA_TOKEN", "")
	for _, listen := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:8080", "[::ffff:0.0.0.0]:0", "[2001:db8::1]:8080"} {
		want := "-listen " + listen + ": want a loopback address such as 127.0.0.1:8080"
		call("-listen", listen).Refused(t, want)
		call("-listen", listen, "-token", " ").Refused(t, want)
		call("-listen", listen, "-host", "model.example").Refused(t, want)
		call("-listen", listen, "-token", "secret").Refused(t, opened)
		call("-listen", listen, "-open").Refused(t, opened)
	}
	for _, listen := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0", "127.1.2.3:0"} {
		call("-listen", listen).Refused(t, opened)
	}
	call("-listen", ":0", "-open", "-token", "secret").Refused(t, "-open: want no token with it")
	t.Setenv("RESIDUA_TOKEN", "secret")
	call("-listen", ":0").Refused(t, opened)
	call("-open").Refused(t, "-open: want no token with it")
}

// TestServeOpen: with -open a server without a token listens on all addresses, and says so.
func TestServeOpen(t *testing.T) {
	run := clitest.Train(t)
	url, stop := startServerAt(t, ":0", "-checkpoint", run.Dir, "-open")
	response, err := http.Get("http://localhost" + url[strings.LastIndex(url, ":"):] + "/v1/models")
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusOK, response.StatusCode)
	_, stderr := stop()
	assert.Contains(t, stderr, "everybody who reaches this address can use the model")
}

func TestServeRefuses(t *testing.T) {
	run := clitest.Train(t)
	taken, _ := startServer(t, "-checkpoint", run.Dir)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"-checkpoint: want zoo:quickstart, ", nil},
		{"-requests: want >= 1, got 0", []string{"-requests", "0"}},
		{"-max-body: want >= 1, got -1", []string{"-max-body", "-1"}},
		{"-request-time: want above 0, such as 30s, got 0s", []string{"-request-time", "0"}},
		{"-stop-time: want above 0, such as 30s, got -1s", []string{"-stop-time", "-1s"}},
		{"-listen: address nowhere: missing port in address", []string{"-checkpoint", run.Dir, "-listen", "nowhere"}},
		{"address already in use", []string{"-checkpoint", run.Dir, "-listen", strings.TrimPrefix(taken, "http://")}},
		{"-name: want at most one for each -checkpoint, 1, got 2", []string{"-checkpoint", run.Dir, "-name", "a", "-name", "b"}},
		{`want a name of its own, got "a" again`, []string{"-checkpoint", run.Dir, "-checkpoint", run.Dir, "-name", "a", "-name", "a"}},
		{"-rows: want >= 1", []string{"-checkpoint", run.Dir, "-rows", "-1"}},
		{"-window: want >= 1", []string{"-checkpoint", run.Dir, "-window", "-1"}},
	} {
		callServe(c.args...).Refused(t, c.want)
	}
}
