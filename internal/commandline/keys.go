package commandline

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/settings"
)

// KeysTable formats the keys in columns, one line each, with a gap between sections.
func KeysTable(keys []settings.Key) string {
	var t figure.Table
	t.Row("key", "type", "default", "meaning")
	for _, k := range keys {
		t.Row(k.Name, k.Type, k.Default, meaning(k))
	}
	return t.Text()
}

// meaning returns a key's help with its bounds and, if only some kinds of its section have the key,
// with those kinds.
func meaning(k settings.Key) string {
	text := k.Help
	if k.Kinds != "" {
		text = "of " + k.Kinds + ": " + text
	}
	if k.Bounds != "" {
		text += " (" + k.Bounds + ")"
	}
	return text
}

// KeysPage returns a page that begins with head and has a table for each section; the keys outside
// any section come first.
func KeysPage(head string, keys []settings.Key) string {
	var page strings.Builder
	page.WriteString(head)
	keysOf(&page, keys, "")
	for _, k := range keys {
		if k.IsSection() {
			fmt.Fprintf(&page, "\n## %s\n\n%s.\n", k.Name, sentence(k.Help))
			keysOf(&page, keys, k.Name+".")
		}
	}
	return page.String()
}

// keysOf writes a table of the keys in a section, if it has any, but leaves out the keys of
// sections within it. A value with a kind that may be written as the kind alone does not count
// as a section.
func keysOf(page *strings.Builder, keys []settings.Key, section string) {
	head := "\n| key | type | default | meaning |\n|---|---|---|---|\n"
	inner := func(name string) bool {
		return slices.ContainsFunc(keys, func(k settings.Key) bool {
			return k.IsSection() && k.Name+"." != section && strings.HasPrefix(name, k.Name+".") && strings.HasPrefix(k.Name, section)
		})
	}
	for _, k := range keys {
		if !strings.HasPrefix(k.Name, section) || k.IsSection() || inner(k.Name) {
			continue
		}
		fmt.Fprintf(page, "%s| `%s` | %s | %s | %s |\n", head, k.Name, k.Type, k.Default, meaning(k))
		head = ""
	}
}

// sentence makes the first letter upper case.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
