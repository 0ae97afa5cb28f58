package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/sync/semaphore"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/settings"
)

// Options say how a Server behaves. The zero value is ready to use.
type Options struct {
	// Hosts are names under which clients may call the server, besides localhost, loopback
	// addresses and the address at which it listens. A server with a Token answers under any name.
	Hosts []string `yaml:"host" help:"without a token: also answer requests for Host <NAME>, such as a proxy's; may be repeated; localhost needs none"`
	// Token, if not "", must be in the header of every request, except for /, /healthz and /readyz:
	// "Authorization: Bearer TOKEN".
	Token string `yaml:"token" help:"answer only requests with the header Authorization: Bearer <TOKEN>; without, the environment's RESIDUA_TOKEN"`
	// Requests limits the completions in progress, including those that wait for the model; further
	// ones are answered with 429. 0: 128.
	Requests int   `yaml:"requests" default:"128" min:"1" help:"work on <N> completions at a time, waiting ones included; further requests get status 429"`
	Body     int64 `yaml:"max_body" default:"8388608" min:"1" help:"refuse bodies of more than <N> bytes; all bodies at a time may have 8 times as many"`
	// Answers limits the memory of all answers in progress, as estimated from their tokens and
	// alternatives; one answer may take a quarter of it. 0: 512 MiB.
	Answers int64 `yaml:"max_answers" default:"536870912" min:"1" help:"let all answers at a time take <N> bytes of memory, as estimated; one may take a quarter"`

	RequestTime time.Duration `yaml:"request_time" default:"10m0s" help:"end a completion after <TIME>, as in 90s or 10m, including the time that it waits"`
	StopTime    time.Duration `yaml:"stop_time" default:"30s" help:"give what runs <TIME>, as in 30s, to finish when the server is stopped"`
	ReadTime    time.Duration // how long reading a request may take; 0: 1 minute
	StallTime   time.Duration // how long a request's header, or each next 64 KiB of its body, may take; 0: 10 seconds
	WriteTime   time.Duration // how long a client may leave a write unread; 0: 30 seconds

	// Page answers /, without a token, instead of the built-in page.
	Page http.Handler
	// Handlers are further handlers by patterns of http.ServeMux. They are protected like the API.
	Handlers map[string]http.Handler
	Log      func(message string) // receives messages about the server's own failures; nil: nothing is logged
}

// withDefaults returns the options with all defaults filled in: those of the tags, and those of
// fields without a flag.
func (o Options) withDefaults() (Options, error) {
	o.ReadTime, o.StallTime, o.WriteTime = cmp.Or(o.ReadTime, time.Minute), cmp.Or(o.StallTime, 10*time.Second), cmp.Or(o.WriteTime, 30*time.Second)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o, settings.SetDefaults(&o)
}

// Server is an http.Handler that answers with models.
type Server struct {
	options Options
	models  []Model
	running atomic.Int64        // completions in progress
	bodies  *semaphore.Weighted // limits the bytes of bodies
	answers *semaphore.Weighted // limits the memory of answers
	metrics metrics
	handler http.Handler
}

// New makes a Server for one or more models with different names. The first model answers requests
// that do not name one.
func New(models []Model, o Options) (*Server, error) {
	if len(models) == 0 {
		return nil, errors.New("serve: want at least one model, got none")
	}
	for i, m := range models {
		switch same := func(other Model) bool { return other.Name == m.Name }; {
		case m.Name == "":
			return nil, errors.Errorf("serve: model %d: want a name, got none", i)
		case slices.ContainsFunc(models[:i], same):
			return nil, errors.Errorf("serve: model %d: want a name of its own, got %q again", i, m.Name)
		case m.Generator == nil || m.Vocab < 1 || m.Window < 1:
			return nil, errors.Errorf("serve: model %q: want a Generator, and Vocab and Window >= 1", m.Name)
		}
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, models: slices.Clone(models), bodies: semaphore.NewWeighted(bodiesAtOnce * o.Body), answers: semaphore.NewWeighted(o.Answers)}
	for i := range s.models {
		s.models[i].longest = s.models[i].longestToken()
	}
	s.handler = s.routes()
	return s, nil
}

// ServeHTTP answers a request. The answer's header X-Request-Id repeats the request's or, if that
// cannot be logged, has a random one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(requestID)
	if !requestIDs.MatchString(id) {
		id = rand.Text()
	}
	w.Header().Set(requestID, id)
	s.handler.ServeHTTP(w, r)
}

// requestID is the header that names a request in the client's log and in ours.
const requestID = "X-Request-Id"

var requestIDs = regexp.MustCompile(`^[!-~]{1,128}$`)

// logFailure logs a failure of the server's own.
func (s *Server) logFailure(w http.ResponseWriter, path, problem string) {
	s.options.Log(path + ": request " + w.Header().Get(requestID) + ": " + problem)
}

// routes returns the handler of all paths. It refuses requests by which a page of another site
// could make a browser generate text.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	api := func(path, method string, h apiHandler) {
		mux.Handle(path, s.measured(path, s.protected(s.admitted(s.method(method, h)))))
	}
	api("/v1/completions", http.MethodPost, s.completions)
	api("/v1/chat/completions", http.MethodPost, s.chats)
	api("/v1/models", http.MethodGet, s.listModels)
	api("/v1/models/{name...}", http.MethodGet, s.showModel)
	api("/tokenize", http.MethodPost, s.tokenize)
	api("/detokenize", http.MethodPost, s.detokenize)
	api("/tokenizer_info", http.MethodGet, s.tokenizerInfo)
	api("/metrics", http.MethodGet, s.writeMetrics)
	mux.Handle("/healthz", s.measured("/healthz", s.method(http.MethodGet, healthz)))
	mux.Handle("/readyz", s.measured("/readyz", s.method(http.MethodGet, s.readyz)))
	for pattern, h := range s.options.Handlers {
		mux.Handle(pattern, s.measured(pattern, s.protected(s.admitted(h))))
	}
	page := s.options.Page
	if page == nil {
		page = s.method(http.MethodGet, s.page)
	}
	mux.Handle("/{$}", s.measured("/", page))
	mux.Handle("/", s.measured("other", http.HandlerFunc(notFound)))
	sites := http.NewCrossOriginProtection()
	sites.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, invalid("", "a page of another site cannot use this server").with(http.StatusForbidden, "cross_origin"))
	}))
	return s.ownHost(sites.Handler(mux))
}

// apiHandler answers a request, or returns an error before it has written anything.
type apiHandler func(w http.ResponseWriter, r *http.Request) error

// method makes an http.Handler that accepts one method; a handler of GET also answers HEAD.
func (s *Server) method(method string, h apiHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (r.Method != http.MethodHead || method != http.MethodGet) {
			w.Header().Set("Allow", method)
			writeError(w, invalid("", "want %s %s, got %s", method, r.URL.Path, r.Method).with(http.StatusMethodNotAllowed, "method_not_allowed"))
			return
		}
		err := h(w, r)
		if err == nil || errors.Is(err, context.Canceled) && r.Context().Err() != nil {
			return // all went well, or the client has gone
		}
		e := asAPI(err)
		if e.status == http.StatusInternalServerError {
			s.logFailure(w, r.URL.Path, err.Error())
		}
		writeError(w, e)
	})
}

// protected requires the token. It compares digests, so that the time taken reveals nothing about
// the token.
func (s *Server) protected(h http.Handler) http.Handler {
	if s.options.Token == "" {
		return h
	}
	want := sha256.Sum256([]byte(s.options.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(token)))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
			writeError(w, invalid("", "want the header Authorization: Bearer TOKEN with this server's token").with(http.StatusUnauthorized, "invalid_api_key"))
			return
		}
		h.ServeHTTP(w, r)
	})
}

func notFound(w http.ResponseWriter, r *http.Request) {
	writeError(w, invalid("", "nothing is at %s: want /v1/completions, /v1/chat/completions, /v1/models, /tokenize, /detokenize, /tokenizer_info, "+
		"/metrics, /healthz or /readyz", r.URL.Path).with(http.StatusNotFound, "not_found"))
}

// readyz answers 200 if a completion would be worked on now. A Server has its models from the
// start.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) error {
	if s.running.Load() >= int64(s.options.Requests) {
		return asAPI(generate.ErrBusy).with(http.StatusServiceUnavailable, "not_ready")
	}
	_, err := w.Write([]byte("ready\n"))
	return err
}

func healthz(w http.ResponseWriter, _ *http.Request) error {
	_, err := w.Write([]byte("ok\n"))
	return err
}
