package experiment

import (
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// pageHead is the beginning of docs/experiment-config.md.
const pageHead = `# Config keys of experiments

Every key of an experiment's config, made by ` + "`go run ./cmd/residua experiment -keys -markdown >docs/experiment-config.md`" + `; a test checks that
this page is up to date. [docs/experiments.md](experiments.md) shows what experiments are for, [studies/](../studies) has configs.

A config is read as strictly as a run's ([docs/config.md](config.md)): an unknown key, a bad value, or a setting that makes no run is an
error that names file and line. Settings are assignments as ` + "`train -set`" + ` takes them; a later one wins: ` + "`set`" + ` of the experiment, of the
series, of the point. The experiment itself sets ` + "`name`, `seed`, `out`, `train.eval_every` and `train.keep`" + ` of each run, and its tokens with
` + "`tokens`, `flops` or `tokens_per_parameter`" + `, and ` + "`train.lr`" + ` with ` + "`rates: bracket`" + `.
`

// listKeys carries out -keys.
func listKeys(zoo models.Zoo, markdown bool, out commandline.Output) error {
	keys, err := experiment.Keys(experiment.Kinds(zoo))
	if err != nil {
		return err
	}
	if markdown {
		return out.Print(commandline.KeysPage(pageHead, keys))
	}
	return out.Print(commandline.KeysTable(keys))
}
