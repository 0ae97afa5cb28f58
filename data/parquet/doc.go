// Package parquet reads documents from Parquet files. It is apart from package data so that only
// programs which prepare text link the library for it, and only with the tag parquet: with those of
// its compressions it takes more of a first build than any other library but Gorgonia.
package parquet
