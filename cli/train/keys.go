package train

import (
	"regexp"
	"strings"

	"github.com/residua-go/residua/configs"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// listKeys carries out -keys.
func listKeys(zoo models.Zoo, markdown bool, out commandline.Output) error {
	keys, err := runconfig.Keys(zoo)
	if err != nil {
		return err
	}
	if markdown {
		return out.Print(commandline.KeysPage(pageHead, keys))
	}
	return out.Print(commandline.KeysTable(keys))
}

// pageHead is the beginning of docs/config.md.
const pageHead = `# Config keys

Every key of a run config, made by ` + "`go run ./cmd/train -keys -markdown >docs/config.md`" + ` from the tags of the structs that hold them; a
test checks that this page is up to date. ` + "`train -keys`" + ` shows the same on a terminal.

A config is a YAML file with the sections below; a key that is left out has its default. It is read strictly: an unknown key or a bad
value is an error that names file, line and key. ` + "`-set train.steps=200`" + ` overrides a key, lists are written ` + "`-set 'data.path=[a, b]'`" + `.
` + "`-config`" + ` takes a file, a stream such as ` + "`/dev/stdin`" + `, or the name of a config of [configs/](../configs), which are part of the
program: ` + "`train -config quickstart`" + ` works in any folder (` + "`train -configs`" + ` lists them). Relative paths in a config start at the working
directory, wherever the config lies.

With ` + "`model.preset`" + ` the model's keys have the preset's values as their defaults. "Required" means without a preset.

The sections ` + "`model.stream`" + ` and ` + "`model.feedforward`" + ` have a kind, and the keys of that kind:
` + "`stream: {kind: hyper, d_model: 256, n: 4}`" + `. The kind may be left out where a preset gives it: ` + "`stream: {n: 8}`" + `, or
` + "`-set model.stream.n=8`" + `. Another kind discards all that the preset gives that section. ` + "`model.attention`" + ` has a kind as well,
softmax where none is given; keys such as ` + "`heads`" + ` belong to all kinds, and another kind keeps them.

A run writes what it was made with into its folder's ` + "`config.yaml`" + `: the keys that were given, and those whose default is a constant.
What follows from other keys stands there as a comment, so that ` + "`train -config runs/q/config.yaml -set train.lr=1e-4 -out runs/r`" + ` trains
at another rate, with its own ` + "`min_lr`" + `.
`

// listConfigs carries out -configs: it lists each name with the comment at the top of its file.
func listConfigs(out commandline.Output) error {
	var t figure.Table
	for _, name := range configs.Names() {
		_, text, err := configs.Read(name)
		if err != nil {
			return err
		}
		t.Row(name, comment(string(text)))
	}
	return out.Print(t.Text())
}

// comment joins the lines of the comment with which a text begins, up to the end of its first
// sentence.
func comment(text string) string {
	var words []string
	for _, line := range strings.Split(text, "\n") {
		rest, is := strings.CutPrefix(line, "#")
		if !is {
			break
		}
		words = append(words, strings.Fields(rest)...)
	}
	joined := strings.Join(words, " ")
	if end := sentenceEnd.FindStringIndex(joined); end != nil {
		joined = joined[:end[0]]
	}
	return strings.TrimSuffix(joined, ".")
}

// sentenceEnd matches the end of a sentence that another one follows.
var sentenceEnd = regexp.MustCompile(`\. [A-Z]`)
