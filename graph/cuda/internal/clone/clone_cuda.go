//go:build cuda

package clone

import _ "embed" // for the file that says in its name what is wanted

//go:embed vendor/only_in_a_clone/see_docs_cuda.md
var _ string
