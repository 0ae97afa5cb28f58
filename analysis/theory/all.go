package theory

import (
	"cmp"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// Result is one table or figure of the paper, reconstructed. If it has figures, Of has a method
// Figures.
type Result struct {
	Name  string // the stem of its files: table-1
	Notes string // assumptions and readings, paragraphs
	Of    Table
}

// Table is a result's data, which can be shown as a table.
type Table interface{ Table() figure.Table }

// trials is the number of trials in each Monte-Carlo run of All, which gives a variance a standard
// error of 0.5 to 4%.
const trials = 250

// All computes every result in the paper's order: figure 1, Tables 1, 2, 3-4, 7 and 9, the sizes of
// its models, and other printed numbers. seed draws the Monte-Carlo runs; the same seed gives the
// same results. Further models are counted in Table 7, after the paper's.
func All(seed uint64, further ...Model) ([]Result, error) { return all(seed, trials, further...) }

// Model is a config with the name that results use for it.
type Model struct {
	Name string
	Spec models.Spec
}

func all(seed uint64, trials int, further ...Model) ([]Result, error) {
	var results []Result
	var err error
	add := func(name, notes string) func(Table, error) {
		return func(of Table, failed error) {
			results, err = append(results, Result{name, notes, of}), cmp.Or(err, failed)
		}
	}
	inputs := PaperTraining()
	matrix, vector := mediumModels()
	add("figure-1", scalingNotes)(NewScaling(matrix, vector, FigureSizes()))
	add("table-1", propagationNotes())(NewPropagation(PropagationSetting(), trials, seed))
	add("table-2", xavierGainsNotes)(NewXavierGains(trials, seed))
	add("tables-3-4", trainingFLOPsNotes)(NewTrainingFLOPs(inputs))
	add("table-7", resourceTableNotes)(table7(further))
	add("table-9", shapesNotes)(NewShapes())
	add("model-sizes", modelSizesNotes)(newModelSizes())
	add("claims", claimsNotes)(NewClaims(inputs))
	return results, err
}

// table7 counts the paper's medium models and further ones.
func table7(further []Model) (ResourceTable, error) {
	t, err := NewResourceTable(mediumTransformer, mediumRMT)
	for _, m := range further {
		r, failed := CountResources(m.Name, m.Spec)
		t.Models, err = append(t.Models, r), cmp.Or(err, failed)
	}
	return t, err
}
