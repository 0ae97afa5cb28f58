//go:build parquet

package formats

import (
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/data/parquet"
)

// All returns the formats.
func All() []data.Format { return []data.Format{parquet.Format()} }
