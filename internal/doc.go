// Package internal has no code itself: its folders hold what other packages of the module share,
// and it tests those that are small.
package internal
