//go:build cuda

package clone

import _ "embed" // for the file whose name says what to do

//go:embed vendor/only_in_a_clone/see_docs_cuda.md
var _ string
