package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/serve"
)

// TestHosts: a page whose own name leads to this machine (DNS rebinding) is refused, also with its
// own Origin.
func TestHosts(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{Hosts: []string{"Models.example", "proxy:8080"}})
	withToken := newServer(t, &fake{}, serve.Options{Token: "secret"})
	ask := func(url, host string) answer {
		request, err := http.NewRequest(http.MethodPost, url+"/v1/completions", strings.NewReader(`{"prompt": "a"}`))
		require.NoError(t, err)
		request.Host = host
		request.Header.Set("Origin", "http://"+host)
		request.Header.Set("Authorization", "Bearer secret")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		return read(t, response)
	}
	for _, host := range []string{"localhost", "localhost:80", "LOCALHOST:8080", "127.0.0.1:9", "127.3.2.1", "[::1]:8080", "models.example", "models.example.", "MODELS.example:443", "proxy"} {
		assert.Equal(t, http.StatusOK, ask(server.URL, host).Code, host)
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "192.168.1.1", "10.0.0.1:8080", "0.0.0.0", "127.0.0.1.evil.example", "[::2]"} {
		ask(server.URL, host).refused(t, http.StatusForbidden, "", "-host")
		assert.Equal(t, http.StatusOK, ask(withToken.URL, host).Code, host)
	}
	request, err := http.NewRequest(http.MethodGet, server.URL+"/", nil)
	require.NoError(t, err)
	request.Host = "evil.example"
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	assert.Equal(t, http.StatusForbidden, read(t, response).Code, "nor the page")
}
