package analysis

import (
	"fmt"
	"math"
	"slices"
)

// listed is how many rows a table of the largest shows.
const listed = 20

// texts are numbers as labels.
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

// blankMap is a heatmap's values before there are any: NaN, [rows][columns].
func blankMap(rows, columns int) [][]float64 {
	values := make([][]float64, rows)
	for i := range values {
		values[i] = slices.Repeat([]float64{math.NaN()}, columns)
	}
	return values
}
