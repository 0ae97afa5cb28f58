package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/settings"
)

// KeysTable lines the keys up, a line each, sections apart.
func KeysTable(keys []settings.Key) string {
	var t figure.Table
	t.Row("key", "type", "default", "meaning")
	for _, k := range keys {
		t.Row(k.Name, k.Type, k.Default, meaning(k))
	}
	return t.Text()
}

// meaning is a key's help with its bounds, and with the kinds of its section that have it.
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

// KeysPage is a page that begins with a head: a table for each section, that of the keys outside any first.
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

// keysOf writes the table of the keys that a section holds itself, if there are any.
func keysOf(page *strings.Builder, keys []settings.Key, section string) {
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
