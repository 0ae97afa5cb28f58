package experiment

import (
	"flag"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/cli"
)

func (c *call) flags(flags *flag.FlagSet) {
	flags.BoolVar(&c.plan, "plan", false, "print the runs with their predicted cost and time, and train nothing")
	flags.BoolVar(&c.report, "report", false, "make the report from the log again, and train nothing")
	flags.StringVar(&c.out, "out", "", "keep log, report and runs in `DIR`; default CONFIG without its extension")
	flags.IntVar(&c.jobs, "jobs", 0, "train `N` runs side by side; 0: one for each core. The number changes no bit of a loss")
	flags.DurationVar(&c.stopAfter, "stop-after", 0, "start no run after `TIME`, as in 3h; the next call goes on; 0: never stop")
	flags.BoolVar(&c.json, "json", false, "print one line of JSON instead of tables")
	flags.BoolVar(&c.keys, "keys", false, "explain every key of an experiment's config")
	flags.BoolVar(&c.markdown, "markdown", false, "with -keys: as the page docs/experiment-config.md")
}

// pageHead begins docs/experiment-config.md.
const pageHead = `# Config keys of experiments

Every key of an experiment's config, made by ` + "`go run ./cmd/residua experiment -keys -markdown >docs/experiment-config.md`" + `; a test checks that
this page is up to date. [docs/experiments.md](experiments.md) shows what experiments are for, [experiments/](../experiments) has configs.

A config is read as strictly as a run's ([docs/config.md](config.md)): an unknown key, a bad value, or a setting that makes no run is an
error that names file and line. Settings are assignments as ` + "`train -set`" + ` takes them; a later one wins: ` + "`set`" + ` of the experiment, of the
series, of the point. The experiment itself sets ` + "`name`, `seed`, `out`, `train.eval_every` and `train.keep`" + ` of each run, and its tokens with
` + "`tokens_per_parameter`" + `.
`

// listKeys is -keys.
func (c *call) listKeys(out cli.Output) error {
	keys, err := experiment.Keys()
	if err != nil {
		return err
	}
	if c.markdown {
		return out.Print(cli.KeysPage(pageHead, keys))
	}
	return out.Print(cli.KeysTable(keys))
}
