// Command site turns docs/README.md, and every page of Markdown that can be reached from it, into
// HTML that opens without a server. It fails if a link leads nowhere: to a file that is not there,
// or to a heading that a page does not have.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("out", "build/site", "folder of the pages")
	flag.Parse()
	pages, err := build(os.DirFS("."), *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages: %s/docs/README.html\n", pages, *out)
}
