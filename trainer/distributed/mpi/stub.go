//go:build !(mpi && linux)

package mpi

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/trainer/distributed"
)

// Open returns an error: this program was built without MPI.
func Open() (distributed.Transport, error) {
	return nil, errors.New("several ranks need MPI, which this program was built without: build it for Linux by go build -tags mpi ./cmd/residua")
}
