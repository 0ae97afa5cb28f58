// Package memory looks at a matrix stream as an associative memory: what a matrix keeps of keys and
// values, the model's own keys, and what its readers get of each write.
package memory
