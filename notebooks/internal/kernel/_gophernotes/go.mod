module github.com/gopherdata/gophernotes

go 1.26.0

// gomacro does not know alias types.
godebug gotypesalias=0

// Versions that work with Go 1.26: golang.org/x/tools before v0.38.0 does not compile. If Residua
// needs a newer version, that one is used.
require (
	github.com/cosmos72/gomacro v0.0.0-20231101204900-3dc08f5f8fea
	github.com/go-zeromq/zmq4 v0.14.1
	github.com/gofrs/uuid v4.2.0+incompatible
	github.com/residua-go/residua v0.0.0
	golang.org/x/tools v0.38.0
)

replace (
	github.com/cosmos72/gomacro => ../gomacro
	github.com/residua-go/residua => ../../..
)
