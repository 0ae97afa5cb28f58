package webdriver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPort(t *testing.T) {
	port, err := portOf(strings.NewReader("Starting ChromeDriver 1.2.3 on port 0\nOnly local connections are allowed.\nChromeDriver was started successfully on port 40123.\n"))
	require.NoError(t, err)
	assert.Equal(t, "40123", port)
	_, err = portOf(strings.NewReader("Starting ChromeDriver 1.2.3 on port 0\n"))
	assert.EqualError(t, err, "webdriver: chromedriver ended before it listened")
}

// TestRefusal: an error answer of the protocol is an error.
func TestRefusal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"value": {"error": "invalid session id", "message": "no session", "stacktrace": ""}}`))
	}))
	defer server.Close()
	b := &Browser{session: server.URL + "/session/1"}
	assert.EqualError(t, b.Navigate("about:blank"), "webdriver: invalid session id: no session")
}

// TestBrowser runs a script in a browser and ends it without its session's end.
func TestBrowser(t *testing.T) {
	if testing.Short() || !Installed() {
		t.Skip("short, or chromium and chromedriver are not in PATH")
	}
	b, err := Open(t.TempDir(), 400, 300)
	require.NoError(t, err)
	t.Cleanup(b.stop)
	var sum int
	require.NoError(t, b.Script("console.log('seen'); return arguments[0] + arguments[1]", &sum, 2, 3))
	assert.Equal(t, 5, sum)
	messages, err := b.Console()
	require.NoError(t, err)
	require.Len(t, messages, 1)
	assert.Contains(t, messages[0].Message, "seen")
	assert.ErrorContains(t, b.Script("return nothing.at.all", nil), "webdriver: javascript error: ")
}
