package experiment

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/figure"
)

// accuracyTable shows the accuracy of the cells that train on a task.
func accuracyTable(cells []Result) figure.Table {
	t := figure.NewTable("Accuracy on held-out examples: means over seeds, ± standard errors", "lrrl", "", "chance", "accuracy", "by seed")
	for _, c := range cells {
		task, ok := c.first.Run.Data.Source.(data.Task)
		if !ok {
			continue
		}
		values, texts := c.accuracies(), []string(nil)
		for _, v := range values {
			texts = append(texts, fmt.Sprintf("%.3f", v))
		}
		t.Row(c.Name(), number(task.Examples().Chance, "%.3f"), estimate(values, "%.3f"), strings.Join(texts, ", "))
	}
	return t
}

// accuracies lists the accuracy of each run, 0 for a run that diverged.
func (c Result) accuracies() []float64 {
	var all []float64
	for _, r := range c.runs {
		accuracy := 0.0
		if r.Loss.Finite() {
			accuracy = float64(r.Accuracy)
		}
		all = append(all, accuracy)
	}
	return all
}
