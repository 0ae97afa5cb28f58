//go:build !parquet

package formats

import (
	"context"
	"io"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
)

// All returns the formats. Reading them is an error that says how to build a program that does.
func All() []data.Format {
	return []data.Format{{Extension: ".parquet", Read: func(context.Context, io.ReaderAt, int64, string, int64, func(int, string) error) error {
		return errors.New("want a program that reads Parquet: a release's, or one built with the tag parquet, as in go run -tags parquet ./cmd/residua prepare")
	}}}
}
