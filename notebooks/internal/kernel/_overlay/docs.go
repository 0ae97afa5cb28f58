package main

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// docsJSON is what the source of packages says of their names, by names such as path, path.Type
// and path.Type.Method.
//
//go:embed docs.json
var docsJSON []byte

var docs = sync.OnceValue(func() map[string]string {
	docs := map[string]string{}
	if err := json.Unmarshal(docsJSON, &docs); err != nil {
		panic(err) // what the build has written
	}
	return docs
})
