// Package formats lists the formats of documents that a program reads beyond those of package data:
// .parquet. The library for it, with those of its compressions, takes more of a first build than
// any other library but Gorgonia, so only the tag parquet links it.
package formats
