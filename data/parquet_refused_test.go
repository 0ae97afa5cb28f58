//go:build !parquet

package data_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data/formats"
)

// TestParquetIsRefused: without its library the error says which program reads it.
func TestParquetIsRefused(t *testing.T) {
	all := formats.All()
	require.Len(t, all, 1)
	require.Equal(t, ".parquet", all[0].Extension)
	require.ErrorContains(t, all[0].Read(t.Context(), nil, 0, "text", 1, nil), "go run -tags parquet")
}
