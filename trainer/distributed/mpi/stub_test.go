//go:build !(mpi && linux)

package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenWithoutTheTag(t *testing.T) {
	_, err := Open()
	require.ErrorContains(t, err, "go build -tags mpi")
}
