package theory

import (
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// Result is one table or figure of the paper, reconstructed.
type Result interface {
	Name() string // the stem of its files: table-1
	Table() figure.Table
	Notes() []string // assumptions and readings, a sentence or two each
	Figures() []figure.Figure
}

// trials of each Monte-Carlo run of All: standard errors of a variance of 0.5 to 4%.
const trials = 250

// All computes every result in the paper's order: figure 1, Tables 1, 2, 3-4, 7 and 9, the sizes of
// its models, and other printed numbers. seed is that of the Monte-Carlo runs; the same seed gives
// the same results. Further models are counted in Table 7, after the paper's.
func All(seed uint64, further ...Model) ([]Result, error) { return all(seed, trials, further...) }

// Model is a config with the name that results call it by.
type Model struct {
	Name string
	Spec models.Spec
}

func all(seed uint64, trials int, further ...Model) ([]Result, error) {
	inputs := PaperTraining()
	var results []Result
	for _, compute := range []func() (Result, error){
		func() (Result, error) { return figure1() },
		func() (Result, error) { return NewPropagation(PropagationSetting(), trials, seed) },
		func() (Result, error) { return NewXavierGains(trials, seed) },
		func() (Result, error) { return NewTrainingFLOPs(inputs) },
		func() (Result, error) { return table7(further) },
		func() (Result, error) { return NewShapes() },
		func() (Result, error) { return NewModelSizes() },
		func() (Result, error) { return NewClaims(inputs) },
	} {
		result, err := compute()
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// table7 counts the paper's medium models and further ones.
func table7(further []Model) (ResourceTable, error) {
	t, err := NewResourceTable(mediumTransformer, mediumRMT)
	if err != nil {
		return ResourceTable{}, err
	}
	for _, m := range further {
		r, err := CountResources(m.Name, m.Spec)
		if err != nil {
			return ResourceTable{}, err
		}
		t.Models = append(t.Models, r)
	}
	return t, nil
}

// figure1 varies the models of GPT-2 medium's sizes.
func figure1() (Scaling, error) {
	matrix, vector, err := mediumModels()
	if err != nil {
		return Scaling{}, err
	}
	return NewScaling(matrix, vector, FigureSizes())
}
