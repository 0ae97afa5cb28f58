package analysis

import (
	"fmt"
	"math"
	"slices"
)

// listed is the number of rows in a table of the largest values.
const listed = 20

// texts returns numbers as labels.
func texts[N int | int32](numbers []N) []string {
	labels := make([]string, len(numbers))
	for i, n := range numbers {
		labels[i] = fmt.Sprint(n)
	}
	return labels
}

// Way says what a site does.
func Way(reads bool) string {
	if reads {
		return "reads"
	}
	return "writes"
}

// blankMap returns a heatmap's values, [rows][columns], all NaN.
func blankMap(rows, columns int) [][]float64 {
	values := make([][]float64, rows)
	for i := range values {
		values[i] = slices.Repeat([]float64{math.NaN()}, columns)
	}
	return values
}
