package train

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/configs"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// listKeys is -keys.
func listKeys(zoo models.Zoo, markdown bool, out cli.Output) error {
	keys, err := config.Keys(zoo)
	if err != nil {
		return err
	}
	if markdown {
		return out.Print(keysPage(keys))
	}
	return out.Print(keysTable(keys))
}

// keysTable lines the keys up, a line each, sections apart.
func keysTable(keys []config.Key) string {
	var t figure.Table
	t.Row("key", "type", "default", "meaning")
	for _, k := range keys {
		t.Row(k.Name, k.Type, k.Default, meaning(k))
	}
	return t.Text()
}

// meaning is a key's help with its bounds, and with the kinds of its section that have it.
func meaning(k config.Key) string {
	text := k.Help
	if k.Kinds != "" {
		text = "of " + k.Kinds + ": " + text
	}
	if k.Bounds != "" {
		text += " (" + k.Bounds + ")"
	}
	return text
}

// pageHead begins docs/config.md.
const pageHead = `# Config keys

Every key of a run config, made by ` + "`go run ./cmd/train -keys -markdown >docs/config.md`" + ` from the tags of the structs that hold them; a
test checks that this page is up to date. ` + "`train -keys`" + ` shows the same on a terminal.

A config is a YAML file with the sections below; a key that is left out has its default. It is read strictly: an unknown key or a bad
value is an error that names file, line and key. ` + "`-set train.steps=200`" + ` overrides a key, lists are written ` + "`-set 'data.path=[a, b]'`" + `.
` + "`-config`" + ` takes a file, a stream such as ` + "`/dev/stdin`" + `, or the name of a config of [configs/](../configs), which are part of the
program: ` + "`train -config quickstart`" + ` works in any folder (` + "`train -configs`" + ` lists them). Relative paths in a config start at the working
directory, wherever the config lies.

With ` + "`model.preset`" + ` the model's keys have the preset's values as their defaults. "Required" means without a preset.

The sections ` + "`model.stream`" + ` and ` + "`model.feedforward`" + ` have a kind, and the keys of that kind: ` + "`stream: {kind: hyper, d_model: 256, n: 4}`" + `. The kind
may be left out where a preset gives it: ` + "`stream: {n: 8}`" + `, or ` + "`-set model.stream.n=8`" + `. Another kind discards all that the preset gives that
section.

A run writes what it was made with into its folder's ` + "`config.yaml`" + `: the keys that were given, and those whose default is a constant.
What follows from other keys stands there as a comment, so that ` + "`train -config runs/q/config.yaml -set train.lr=1e-4 -out runs/r`" + ` trains
at another rate, with its own ` + "`min_lr`" + `.
`

// keysPage is docs/config.md: a table for each section, that of the keys outside any first.
func keysPage(keys []config.Key) string {
	var page strings.Builder
	page.WriteString(pageHead)
	keysOf(&page, keys, "")
	for _, k := range keys {
		if k.IsSection() {
			fmt.Fprintf(&page, "\n## %s\n\n%s.\n", k.Name, sentence(k.Help))
			keysOf(&page, keys, k.Name+".")
		}
	}
	return page.String()
}

// keysOf writes the table of the keys that a section holds itself, if there are any.
func keysOf(page *strings.Builder, keys []config.Key, section string) {
	head := "\n| key | type | default | meaning |\n|---|---|---|---|\n"
	for _, k := range keys {
		name, inside := strings.CutPrefix(k.Name, section)
		if !inside || strings.Contains(name, ".") || k.IsSection() {
			continue
		}
		fmt.Fprintf(page, "%s| `%s` | %s | %s | %s |\n", head, k.Name, k.Type, k.Default, meaning(k))
		head = ""
	}
}

// sentence makes the first letter a capital.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// listConfigs is -configs: each name with the comment that its file begins with.
func listConfigs(out cli.Output) error {
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

// comment joins the lines of the comment that a text begins with, up to the end of its
// first sentence.
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

// sentenceEnd is where another sentence follows.
var sentenceEnd = regexp.MustCompile(`\. [A-Z]`)
