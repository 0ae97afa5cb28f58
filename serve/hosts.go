package serve

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// ownHost refuses requests whose Host header is not this server's, such as those of a web page
// whose own name resolves to this machine (DNS rebinding). A server with a token does not need
// this.
func (s *Server) ownHost(h http.Handler) http.Handler {
	if s.options.Token != "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := hostOf(r.Host); !s.answersTo(host, r) {
			w.Header().Set("Connection", "close") // the body will not be read
			writeError(w, invalid("", "the host %q is not known to be this server's: -host %s allows it, and so does a token", host, host).
				with(http.StatusForbidden, "unknown_host"))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// answersTo tells whether a host is localhost, a loopback address, the address at which the request
// arrived, or one of Options.Hosts.
func (s *Server) answersTo(host string, r *http.Request) bool {
	if host == "localhost" || slices.ContainsFunc(s.options.Hosts, func(own string) bool { return hostOf(own) == host }) {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.IsLoopback() {
		return ip != nil
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.IP.Equal(ip)
}

// hostOf returns a host in lower case, without its port, its brackets and a dot at its end.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
